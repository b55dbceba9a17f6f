// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What is asked of a fabric, and what it answers; hostile requests change nothing.
#include "control/control.hpp"
#include "fabric_world.hpp"

#include "ctl/amount.hpp"
#include "ctl/render.hpp"

#include <nlohmann/json.hpp>

namespace openipoib::fabric
{
namespace
{

using nlohmann::json;

class ControlTest : public FabricWorld
{
  protected:
    json answer(std::string_view request) { return json::parse(control.answer(request, now)); }
    json result(const json &request)
    {
        const json got = answer(request.dump());
        EXPECT_TRUE(got.contains("result")) << got;
        return got.value("result", json());
    }

    Control control{fabric};
};

TEST_F(ControlTest, StatusTellsNodesPortsAndLinks)
{
    steps(20);
    const json status = result({{"command", "status"}});
    const json &leaf = status["nodes"][0];
    EXPECT_EQ(leaf["name"], "S-1");
    EXPECT_EQ(leaf["kind"], "switch");
    EXPECT_EQ(leaf["ports"][0],
              (json{{"port", 1}, {"state", "init"}, {"peer", "h1:1"}, {"cable", "up"}}));
    EXPECT_EQ(leaf["ports"][3]["peer"], "S-2:4");
    EXPECT_EQ(leaf["ports"][1]["state"], "down");
    EXPECT_EQ(status["nodes"][2]["elsewhere"], true);
    EXPECT_TRUE(status["faults"].empty());
}

TEST_F(ControlTest, FaultsComeAndGo)
{
    const json fault = result({{"command", "fault"},
                               {"kind", "drop"},
                               {"at", "S-1:4"},
                               {"fraction", 0.25},
                               {"packets", {"rc", "ud"}},
                               {"for_ms", 1500}});
    EXPECT_EQ(fault, (json{{"id", 1},
                           {"kind", "drop"},
                           {"at", "S-1:4"},
                           {"fraction", 0.25},
                           {"packets", {"ud", "rc"}},
                           {"left_ms", 1500}}));
    EXPECT_EQ(result({{"command", "status"}})["faults"], json::array({fault}));
    EXPECT_EQ(result({{"command", "clear"}, {"id", 1}}), json::array({fault}));
    EXPECT_TRUE(fabric.faults().all().empty());
}

TEST_F(ControlTest, FaultsOfEachKind)
{
    for (const auto *kind : {"duplicate", "corrupt", "reorder"})
        EXPECT_EQ(result({{"command", "fault"}, {"kind", kind}, {"at", "S-1:4"}, {"fraction", 1}})
                      .value("kind", ""),
                  kind);
    EXPECT_EQ(result({{"command", "fault"},
                      {"kind", "drop"},
                      {"at", "S-1:4"},
                      {"fraction", 1},
                      {"packets", {"mad"}}})["packets"],
              (json{"smp", "gmp"}));
    const json rate =
        result({{"command", "fault"}, {"kind", "rate"}, {"at", "S-1:4"}, {"rate_bps", 1'500'000}});
    EXPECT_EQ(faultsText(json::array({rate})), "fault 5: rate S-1:4 1.5 Mbit/s\n");
    const json cut = result({{"command", "fault"}, {"kind", "cut"}, {"nodes", {"S-2", "idle"}}});
    EXPECT_EQ(faultsText(json::array({cut})), "fault 6: cut S-2 idle\n");
    EXPECT_EQ(state("S-1:4"), PortState::down);
    EXPECT_EQ(result({{"command", "clear"}}).size(), 6U);
    EXPECT_EQ(state("S-1:4"), PortState::init);
}

TEST_F(ControlTest, ALinkComesUpByEitherEnd)
{
    result({{"command", "fault"}, {"kind", "link"}, {"at", "S-1:4"}});
    EXPECT_EQ(state("S-2:4"), PortState::down);
    result({{"command", "clear"}, {"kind", "link"}, {"at", "S-2:4"}});
    EXPECT_EQ(state("S-2:4"), PortState::init);
    EXPECT_TRUE(result({{"command", "clear"}}).empty()); // all of none
}

TEST_F(ControlTest, CountersOfAPort)
{
    steps(20);
    ASSERT_FALSE(probe({1, 4}).empty());
    const json counters = result({{"command", "counters"}, {"at", "S-2:4"}});
    ASSERT_EQ(counters.size(), 1U);
    EXPECT_EQ(counters[0]["at"], "S-2:4");
    EXPECT_EQ(counters[0]["counters"]["PortRcvPkts"], 1);
    EXPECT_EQ(result({{"command", "counters"}, {"at", "S-1"}}).size(), 4U);
    EXPECT_EQ(result({{"command", "counters"}}).size(), 9U); // not the host's elsewhere
}

TEST_F(ControlTest, WrongRequestsChangeNothing)
{
    for (
        const std::string_view request :
        {"",
         "{",
         "[]",
         "null",
         "1e999",
         "\xFF",
         R"({"command": 1})",
         R"({"command": "x"})",
         R"({"command": "fault"})",
         R"({"command": "fault", "kind": "link"})",
         R"({"command": "fault", "kind": "link", "at": "S-1"})",
         R"({"command": "fault", "kind": "link", "at": "S-1:9"})",
         R"({"command": "fault", "kind": "link", "at": "S-1:4", "for_ms": -1})",
         R"({"command": "fault", "kind": "link", "at": "S-1:4", "for_ms": 1e300})",
         R"({"command": "fault", "kind": "link", "at": "S-1:4", "for_ms": 18446744073709551615})",
         R"({"command": "fault", "kind": "switch", "at": "S-1:4"})",
         R"({"command": "fault", "kind": "drop", "at": "S-1:4"})",
         R"({"command": "fault", "kind": "drop", "at": "S-1:4", "fraction": 2})",
         R"({"command": "fault", "kind": "drop", "at": "S-1:4", "fraction": 1, "packets": "ud"})",
         R"({"command": "fault", "kind": "drop", "at": "S-1:4", "fraction": 1, "packets": [1]})",
         R"({"command": "fault", "kind": "delay", "at": "S-1:4", "delay_us": 0})",
         R"({"command": "fault", "kind": "cut", "at": "S-1"})",
         R"({"command": "fault", "kind": "cut", "nodes": []})",
         R"({"command": "fault", "kind": "cut", "nodes": [1]})",
         R"({"command": "fault", "kind": "cut", "nodes": ["S-1", "S-1:4"]})",
         R"({"command": "fault", "kind": "rate", "at": "S-1:4"})",
         R"({"command": "fault", "kind": "rate", "at": "S-1:4", "rate_bps": 999})",
         R"({"command": "fault", "kind": "rate", "at": "S-1:4", "rate_bps": 1e4, "packets": ["ud"]})",
         R"({"command": "clear", "id": 7})",
         R"({"command": "clear", "id": "7"})",
         R"({"command": "counters", "at": ["S-1"]})"}) {
        EXPECT_TRUE(answer(request).contains("error")) << request;
        EXPECT_TRUE(fabric.faults().all().empty()) << request;
    }
}

TEST_F(ControlTest, NoPrefixOfARequestDoesHarm)
{
    const std::string request =
        R"({"command": "fault", "kind": "delay", "at": "S-1:4", "delay_us": 5, "packets": ["ud"]})";
    for (std::size_t size = 0; size < request.size(); ++size)
        EXPECT_TRUE(answer(std::string_view(request).substr(0, size)).contains("error")) << size;
    EXPECT_TRUE(answer(std::string(60000, '[')).contains("error"));
}

TEST_F(ControlTest, TextsForPeople)
{
    result({{"command", "fault"}, {"kind", "link"}, {"at", "S-1:4"}, {"for_ms", 2000}});
    const json status = result({{"command", "status"}});
    EXPECT_EQ(topologyText(status), "S-1\n"
                                    "    1 --  -- h1:1\n"
                                    "    4 --  -- S-2:4\n"
                                    "S-2\n"
                                    "    1 ------ idle:1\n"
                                    "    4 --  -- S-1:4\n");
    EXPECT_EQ(faultsText(status["faults"]), "fault 1: link S-1:4, 2.0 s left\n");
    const std::string dot = topologyDot(status);
    EXPECT_NE(dot.find(R"("S-1" -- "S-2" [taillabel="4", headlabel="4", style=dashed];)"),
              std::string::npos)
        << dot;
    EXPECT_EQ(dot.find(R"("S-2" -- "S-1")"), std::string::npos) << dot;
}

TEST(AmountTest, TimesAndFractions)
{
    EXPECT_EQ(parseTime("20ms"), 20ms);
    EXPECT_EQ(parseTime("1.5s"), 1500ms);
    EXPECT_EQ(parseTime("2min"), 120s);
    for (const auto *wrong : {"", "5", "s", "-1s", "1e3s", "0s", "nan", "9999999h", "5 s"})
        EXPECT_FALSE(parseTime(wrong)) << wrong;
    EXPECT_EQ(parseRate("1.5Mbit"), 1'500'000U);
    EXPECT_EQ(parseRate("1000Gbit"), 1'000'000'000'000U);
    for (const auto *wrong : {"", "10", "Mbit", "0.5kbit", "1001Gbit", "-1Mbit", "10mbit"})
        EXPECT_FALSE(parseRate(wrong)) << wrong;
    EXPECT_EQ(parseFraction("10%"), 0.1);
    EXPECT_EQ(parseFraction("0.5"), 0.5);
    for (const auto *wrong : {"", "0", "101%", "1.1", "-1%", "x", "5 %"})
        EXPECT_FALSE(parseFraction(wrong)) << wrong;
}

} // namespace
} // namespace openipoib::fabric
