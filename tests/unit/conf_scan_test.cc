// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/nearest.hpp"
#include "conf/scan.hpp"

#include "conf/keys.hpp"
#include "conf/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

namespace openipoib::conf
{
namespace
{

Scan scanned(std::string_view text)
{
    return scan(text, {.hostName = "node1"});
}

// The only assignment's value; the text of the diagnostics if there is none.
std::string valueOf(std::string_view text)
{
    const Scan result = scanned(text);
    if (result.assignments.size() == 1 && result.diagnostics.empty())
        return result.assignments[0].value;
    std::string all = "<" + std::to_string(result.assignments.size()) + ">";
    for (const auto &diagnostic : result.diagnostics)
        all += " " + render(diagnostic, "f");
    return all;
}

TEST(ConfScan, Values)
{
    EXPECT_EQ(valueOf("A=b"), "b");
    EXPECT_EQ(valueOf("A="), "");
    EXPECT_EQ(valueOf("A=''"), "");
    EXPECT_EQ(valueOf("A=b#c"), "b#c");
    EXPECT_EQ(valueOf("A=b #c"), "b");
    EXPECT_EQ(valueOf("A=b;#c"), "b");
    EXPECT_EQ(valueOf("A='b c'\"d e\"f"), "b cd ef");
    EXPECT_EQ(valueOf("A='$B `x` \\'"), "$B `x` \\");
    EXPECT_EQ(valueOf("A=\"\\$x \\\" \\\\ \\n\""), "$x \" \\ \\n");
    EXPECT_EQ(valueOf("A=b\\ c\\#"), "b c#");
    EXPECT_EQ(valueOf("A=b\\\nc"), "bc");
    EXPECT_EQ(valueOf("A=\"b\\\n c\""), "b c");
    EXPECT_EQ(valueOf("# A=c \\\nA=b"), "b");
    EXPECT_EQ(valueOf("\\\nA=b"), "b");
    EXPECT_EQ(valueOf("\t export\t A=b"), "b");
    EXPECT_EQ(valueOf("A=ib$(hostname -s)-`hostname`-$HOSTNAME-${HOSTNAME}"),
              "ibnode1-node1-node1-node1");
    EXPECT_EQ(valueOf("A=*?[~"), "*?[~");
}

TEST(ConfScan, PlacesAreThoseOfTheFile)
{
    const Scan result = scanned("# one\n  A=1 ; B=\\\n'2' C=3\n");
    ASSERT_EQ(result.assignments.size(), 3u);
    EXPECT_EQ(result.assignments[0].keyPlace, (Place{2, 3}));
    EXPECT_EQ(result.assignments[0].valuePlace, (Place{2, 5}));
    EXPECT_EQ(result.assignments[1].keyPlace, (Place{2, 9}));
    EXPECT_EQ(result.assignments[2].keyPlace, (Place{3, 5}));
    EXPECT_EQ(result.assignments[1].value, "2");
}

TEST(ConfScan, ErrorsNamePlaceAndCureAndReadingGoesOn)
{
    struct Case {
        const char *line;
        const char *said;
    };
    static constexpr std::array cases{
        Case{"A='b", "f:1:3: error: A: the quote is not closed on this line; add a ' at its end"},
        Case{"A=b'", "f:1:4: error: A: the quote is not closed on this line; add a ' at its end"},
        Case{"A+=b", "f:1:2: error: A: '+=' is not understood; write the whole value: A=value"},
        Case{"A[0]=b", "f:1:2: error: A: arrays are not understood; write a list: A=one,two"},
        Case{"A=$", "f:1:3: error: A: this use of '$' is not understood; write $KEY or ${KEY}, or "
                    "quote a plain '$' as '\\$'"},
        Case{"A=${B:-c}", "f:1:3: error: A: this use of '$' is not understood; write $KEY or "
                          "${KEY}, or quote a plain '$' as '\\$'"},
        Case{"A=$(reboot", "f:1:3: error: A: the command substitution is not closed on this line; "
                           "add a )"},
        Case{"A=b >c", "f:1:5: error: A: a second word behind the value; a value with blanks "
                       "needs quotes: A=\"one two\""},
        Case{"A=b\x01", "f:1:4: error: A: control character '\\x01'; remove it"},
        Case{"A=b\\\x01", "f:1:5: error: A: control character '\\x01'; remove it"},
        Case{"A='b\x7F'", "f:1:5: error: A: control character '\\x7f'; remove it"},
        Case{"A=\"b\x7F\"", "f:1:5: error: A: control character '\\x7f'; remove it"},
        Case{"1A=b", "f:1:1: error: '1A=b' is not an assignment; expected KEY=value; nothing is "
                     "executed"},
        Case{"=b",
             "f:1:1: error: '=b' is not an assignment; expected KEY=value; nothing is executed"},
        Case{"A", "f:1:1: error: 'A' is not an assignment; expected KEY=value; nothing is "
                  "executed"},
    };
    for (const auto &one : cases) {
        const Scan result = scanned(std::string(one.line) + "\nNEXT=1\n");
        ASSERT_EQ(result.diagnostics.size(), 1u) << one.line;
        EXPECT_EQ(render(result.diagnostics[0], "f"), one.said);
        ASSERT_EQ(result.assignments.size(), 1u) << one.line;
        EXPECT_EQ(result.assignments[0].key, "NEXT");
    }
}

TEST(ConfScan, CarriageReturnsAreReportedOnce)
{
    const Scan result = scanned("A=1\r\nB='2'\r\n\r\nC=3\\\r\n4\r\n");
    ASSERT_EQ(result.assignments.size(), 3u);
    EXPECT_EQ(result.assignments[0].value, "1");
    EXPECT_EQ(result.assignments[2].value, "34");
    ASSERT_EQ(result.diagnostics.size(), 1u);
    EXPECT_EQ(result.diagnostics[0].severity, Severity::warning);
    EXPECT_EQ(result.diagnostics[0].place, (Place{1, 4}));
}

TEST(ConfScan, HostileFiles)
{
    const std::string nul("A=b\0c\nB=1\n", 10);
    EXPECT_EQ(scanned(nul).diagnostics.size(), 1u);
    EXPECT_EQ(scanned(nul).assignments.size(), 1u);
    EXPECT_EQ(scanned(std::string(maxFileBytes + 1, '\n')).diagnostics.size(), 1u);
    EXPECT_EQ(scanned("A=" + std::string(5000, 'x')).diagnostics.size(), 1u);
    EXPECT_EQ(scanned(std::string(100, 'K') + "=1").diagnostics.size(), 1u);
    EXPECT_EQ(scanned("\xEF\xBB\xBF"
                      "A=1")
                  .assignments.size(),
              1u);
    // A value that doubles with every line ends at its limit.
    std::string bomb = "A=0123456789abcdef\n";
    for (int i = 0; i < 40; ++i)
        bomb += "A=$A$A\n";
    const Scan doubled = scanned(bomb);
    EXPECT_TRUE(hasErrors(doubled.diagnostics));
    for (const auto &assignment : doubled.assignments)
        EXPECT_LE(assignment.value.size(), 4096u);
    // As many errors as lines: some are shown, and that there are more.
    std::string noise;
    for (int i = 0; i < 100000; ++i)
        noise += "!\n";
    EXPECT_EQ(scanned(noise).diagnostics.size(), maxDiagnostics + 1);
}

TEST(ConfScan, MessagesAreOnOnePrintableLine)
{
    const Scan result = scanned("\x1b[2J\x07\xff evil\n");
    ASSERT_EQ(result.diagnostics.size(), 1u);
    const std::string text = render(result.diagnostics[0], "f");
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7F; })) << text;
}

TEST(ConfNearest, Distance)
{
    EXPECT_EQ(distance("", ""), 0u);
    EXPECT_EQ(distance("abc", ""), 3u);
    EXPECT_EQ(distance("", "abc"), 3u);
    EXPECT_EQ(distance("abc", "ABC"), 0u);
    EXPECT_EQ(distance("abc", "acb"), 1u);
    EXPECT_EQ(distance("kitten", "sitting"), 3u);
    EXPECT_EQ(distance("IPOIB_LOD", "IPOIB_LOAD"), 1u);
}

TEST(ConfNearest, OnlyWhatIsNear)
{
    EXPECT_EQ(nearest("SET_IPOB_CM", keyNames()), "SET_IPOIB_CM");
    EXPECT_EQ(nearest("ipoib_mtu", keyNames()), "IPOIB_MTU");
    EXPECT_FALSE(nearest("PATH", keyNames()));
    EXPECT_FALSE(nearest("SOMETHING_ELSE", keyNames()));
}

TEST(ConfNearest, OnlyAKeyThatIsMisspeltBeyondDoubt)
{
    for (const auto &[word, meant] :
         std::map<std::string_view, std::string_view>{{"IPOIB_LOD", "IPOIB_LOAD"},
                                                      {"IPOB_LOAD", "IPOIB_LOAD"},
                                                      {"iopib_load", "IPOIB_LOAD"},
                                                      {"UVERB_LOAD", "UVERBS_LOAD"},
                                                      {"MTCHA_LOAD", "MTHCA_LOAD"},
                                                      {"SET_IPOB_CM", "SET_IPOIB_CM"},
                                                      {"PRIMARY_IPOIB_DV", "PRIMARY_IPOIB_DEV"},
                                                      {"IPOIBHA_ENABEL", "IPOIBHA_ENABLE"}})
        EXPECT_EQ(misspelt(word, keyNames()), meant) << word;
    for (const char *word :
         {"RXE_LOAD", "MLX5_EN_LOAD", "MLX6_LOAD", "NVME_LOAD", "ISERT_LOAD", "MLX_LOAD",
          "IRDMA_LOAD", "OPA_LOAD", "SIW_LOAD", "LOAD", "_LOAD", "PATH", "SOMETHING_ELSE", ""})
        EXPECT_FALSE(misspelt(word, keyNames())) << word;
}

// Whoever lists what else is to be loaded has a stack all the same.
TEST(ConfNearest, ModulesThatAreNotKnownVoidNothing)
{
    for (const char *key : {"RXE_LOAD", "MLX5_EN_LOAD", "NVME_LOAD", "ISERT_LOAD", "MLX_LOAD",
                            "IRDMA_LOAD", "OPA_LOAD"}) {
        const auto reading = readSettings(std::string(key) + "=yes\n", {});
        EXPECT_FALSE(hasErrors(reading.diagnostics)) << key;
        ASSERT_EQ(reading.diagnostics.size(), 1u) << key;
        EXPECT_EQ(reading.diagnostics[0].severity, Severity::warning) << key;
    }
}

TEST(ConfKeys, NamesAreUniqueAndWellFormed)
{
    std::vector<std::string_view> names(keyNames().begin(), keyNames().end());
    for (const auto name : names) {
        EXPECT_TRUE(findKey(name));
        EXPECT_TRUE(std::ranges::all_of(name, [](char c) {
            return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        })) << name;
    }
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    EXPECT_FALSE(findKey("NO_SUCH_KEY"));
}

TEST(ConfKeys, DevicesInKeys)
{
    const auto mtu = splitDeviceKey("IPOIB_MTU_ib0.8001", DeviceKeyFamily::interface);
    EXPECT_EQ(mtu.device, "ib0.8001");
    EXPECT_EQ(mtu.kind, Kind::mtu);
    const auto slaves = splitDeviceKey("bond_a_SLAVES", DeviceKeyFamily::bond);
    EXPECT_EQ(slaves.device, "bond_a");
    EXPECT_EQ(slaves.kind, Kind::devices);
    EXPECT_EQ(splitDeviceKey("IPOIB_MTU_", DeviceKeyFamily::interface).device, "");
    EXPECT_EQ(splitDeviceKey("_IP", DeviceKeyFamily::bond).device, "");
}

} // namespace
} // namespace openipoib::conf
