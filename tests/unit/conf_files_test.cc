// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Every file of tests/conf says in lines "# expect: " what there is to be said
// about it, no more and no less.
#include "conf/keys.hpp"
#include "conf/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace openipoib::conf
{
namespace
{

namespace fs = std::filesystem;

std::string content(const fs::path &path)
{
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> files(const std::string &folder)
{
    std::vector<fs::path> all;
    for (const auto &entry : fs::directory_iterator(fs::path(CONF_FILES) / folder))
        all.push_back(entry.path());
    std::ranges::sort(all);
    return all;
}

std::string expected(const std::string &text)
{
    static constexpr std::string_view mark = "# expect: ";
    std::string lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t stop = std::min(text.find('\n', at), text.size());
        const auto line = std::string_view(text).substr(at, stop - at);
        if (line.starts_with(mark))
            lines += std::string(line.substr(mark.size())) + "\n";
        at = stop + 1;
    }
    return lines;
}

std::string said(const Diagnostics &diagnostics)
{
    std::string lines;
    for (const auto &diagnostic : diagnostics)
        lines += render(diagnostic, "").substr(1) + "\n"; // no file, no colon
    return lines;
}

class ConfFile : public testing::TestWithParam<fs::path>
{
};

TEST_P(ConfFile, SaysWhatIsExpected)
{
    const std::string text = content(GetParam());
    ASSERT_FALSE(text.empty()) << GetParam();
    EXPECT_EQ(said(readSettings(text, {.hostName = "node1"}).diagnostics), expected(text))
        << GetParam();
}

std::string testName(const testing::TestParamInfo<fs::path> &info)
{
    std::string name = info.param.stem().string();
    std::ranges::replace_if(
        name, [](unsigned char c) { return !std::isalnum(c); }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Old, ConfFile, testing::ValuesIn(files("old")), testName);
INSTANTIATE_TEST_SUITE_P(Broken, ConfFile, testing::ValuesIn(files("broken")), testName);

TEST(ConfFiles, TheBrokenOnesAreBroken)
{
    std::size_t count = 0;
    for (const auto &path : files("broken")) {
        const auto reading = readSettings(content(path), {});
        EXPECT_TRUE(std::ranges::any_of(reading.diagnostics, [](const Diagnostic &d) {
            return d.severity != Severity::note && !d.cure.empty() && d.place.line > 0;
        })) << path;
        ++count;
    }
    EXPECT_GE(count, 12u);
}

Settings old(const std::string &name)
{
    const auto reading =
        readSettings(content(fs::path(CONF_FILES) / "old" / name), {.hostName = "node1"});
    EXPECT_FALSE(hasErrors(reading.diagnostics));
    return reading.settings;
}

TEST(ConfFiles, NotesOfOfed12)
{
    const Settings settings = old("ofed-1.2-notes.conf");
    EXPECT_EQ(settings.modeFor("ib0"), Mode::connected);
    EXPECT_EQ(settings.mtuFor("ib7"), 65520u);
    ASSERT_TRUE(settings.ha);
    ASSERT_EQ(settings.ha->pairs.size(), 1u);
    EXPECT_EQ(settings.ha->pairs[0].primary, "ib0");
    EXPECT_EQ(settings.ha->pairs[0].secondary(), "ib1");
    EXPECT_TRUE(settings.ha->multicast);
    EXPECT_FALSE(settings.ha->failback);
    EXPECT_TRUE(settings.onBoot);
    EXPECT_TRUE(settings.ipoib);
}

TEST(ConfFiles, BondsOfOfed12)
{
    const Settings settings = old("ofed-1.2-bonds.conf");
    ASSERT_EQ(settings.bonds.size(), 2u);
    EXPECT_EQ(settings.bonds[0].name, "bond0");
    EXPECT_EQ(settings.bonds[0].addresses, std::vector<std::string>{"10.10.10.1"});
    EXPECT_EQ(settings.bonds[1].slaves, (std::vector<std::string>{"ib2", "ib3", "ib4"}));
}

TEST(ConfFiles, KeysOfMlnxOfed)
{
    const Settings settings = old("mlnx-4.conf");
    EXPECT_EQ(settings.nodeDescription, "node1");
    EXPECT_FALSE(settings.allowStop);
    EXPECT_TRUE(settings.runSysctl);
    EXPECT_EQ(settings.modeFor("ib0"), Mode::automatic);
    EXPECT_FALSE(settings.mtuFor("ib0"));
    EXPECT_FALSE(settings.loads("MTHCA_LOAD", true));
    EXPECT_TRUE(settings.loads("MLX5_LOAD", false));
}

TEST(ConfFiles, WhatAShellAccepts)
{
    const Settings settings = old("shell.conf");
    EXPECT_EQ(settings.nodeDescription, "node1 hpc of 100$");
    EXPECT_EQ(settings.mtuFor("ib0"), 65520u);
    EXPECT_EQ(settings.mtuFor("ib0.8001"), 2044u);
    EXPECT_EQ(settings.modeFor("ib0"), Mode::automatic);
    EXPECT_EQ(settings.modeFor("ib1"), Mode::datagram);
    EXPECT_EQ(settings.childrenOf.at("ib0"), (std::vector<std::uint16_t>{0x8001, 0x8002}));
    ASSERT_EQ(settings.bonds.size(), 2u);
    EXPECT_EQ(settings.bonds[0].addresses,
              (std::vector<std::string>{"10.10.10.1/24", "fd00::1/64"}));
    EXPECT_EQ(settings.bonds[1].slaves, (std::vector<std::string>{"ib2.8001", "ib3.8001"}));
    EXPECT_FALSE(settings.allowStop);
    EXPECT_FALSE(settings.load.contains("ISER_LOAD"));
}

TEST(ConfFiles, TheSampleIsClean)
{
    const std::string text = content(fs::path(CONF_SAMPLE));
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(said(readSettings(text, {.hostName = "node1"}).diagnostics), "");
}

TEST(ConfFiles, TheSampleShowsEveryKey)
{
    const std::string text = content(fs::path(CONF_SAMPLE));
    for (const Key &key : keys()) {
        const std::string line = std::string(key.name) + "=";
        const bool shown = text.find("\n" + line) != std::string::npos ||
                           text.find("\n#" + line) != std::string::npos;
        EXPECT_EQ(shown, key.obsolete.empty()) << key.name;
    }
}

TEST(ConfFiles, TheManualNamesEveryKey)
{
    const std::string text = content(fs::path(CONF_MANUAL));
    for (const Key &key : keys())
        EXPECT_NE(text.find(key.name), std::string::npos) << key.name;
}

} // namespace
} // namespace openipoib::conf
