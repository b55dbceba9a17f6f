// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What clients ask the daemon for, and what they are told.
#include "ha-daemon/document.hpp"
#include "ha-daemon/metrics.hpp"
#include "ha-daemon/request.hpp"
#include "ha_roster_world.hpp"

#include <nlohmann/json.hpp>
#include <regex.h>

#include <sstream>

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

class HaDocument : public testing::Test
{
  protected:
    World world;

    void SetUp() override
    {
        world.kernel.give(Side::primary, item(Kind::address4, "10.0.0.1/24"));
        world.start();
        world.quiesce();
    }
    [[nodiscard]] nlohmann::json document() const
    {
        return {{"pairs", {describe(*world.pair, world.now)}}};
    }
    void fail(Side side)
    {
        world.kernel.port[side] = "the port is down";
        world.announcePort(side);
        world.quiesce();
    }
    [[nodiscard]] std::string metrics() const
    {
        return metricsText(document(), std::chrono::system_clock::time_point(1'000'000s));
    }
    [[nodiscard]] bool hasMetric(const std::string &line) const
    {
        return ("\n" + metrics()).find("\n" + line + "\n") != std::string::npos;
    }
};

TEST(HaRequest, IsReadAsItIsWritten)
{
    for (const Request &one :
         {Request{}, Request{"monitor", "", false}, Request{"switch", "ib0+ib1", true},
          Request{"switch", "ib3", false}}) {
        const auto read = readRequest(writeRequest(one));
        ASSERT_TRUE(read) << writeRequest(one);
        EXPECT_EQ(*read, one);
    }
}

TEST(HaRequest, WhatIsNotUnderstoodIsSaid)
{
    for (const auto &[text, why] :
         {std::pair{"", "unknown command ''"}, std::pair{"halt", "unknown command 'halt'"},
          std::pair{"status ib0", "status: 'ib0' is not understood"},
          std::pair{"switch --force", "switch: '--force' is not understood"},
          std::pair{"switch ib0 ib1", "switch: 'ib1' is not understood"}}) {
        const auto read = readRequest(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().context, why);
    }
}

TEST(HaRequest, ConcernsThePairThatItNames)
{
    EXPECT_TRUE((Request{"switch", "", false}).concerns("ib0+ib1", {"ib0", "ib1"}));
    EXPECT_TRUE((Request{"switch", "ib1", false}).concerns("ib0+ib1", {"ib0", "ib1"}));
    EXPECT_TRUE((Request{"switch", "ib2", false}).concerns("ib0+ib1:ib2", {"ib0", "ib1", "ib2"}));
    EXPECT_TRUE((Request{"switch", "ib0+ib1", false}).concerns("ib0+ib1", {"ib0", "ib1"}));
    EXPECT_FALSE((Request{"switch", "ib2", false}).concerns("ib0+ib1", {"ib0", "ib1"}));
    EXPECT_FALSE((Request{"switch", "ib1+ib0", false}).concerns("ib0+ib1", {"ib0", "ib1"}));
}

TEST_F(HaDocument, IsHealthyWhileTheStandbyIsFit)
{
    EXPECT_TRUE(isHealthy(document()));
    EXPECT_TRUE(hasMetric("ipoib_ha_healthy{pair=\"ib0+ib1\"} 1"));
    fail(Side::secondary);
    EXPECT_FALSE(isHealthy(document()));
    EXPECT_TRUE(hasMetric("ipoib_ha_healthy{pair=\"ib0+ib1\"} 0"));
    EXPECT_TRUE(hasMetric("ipoib_ha_standby_fit{pair=\"ib0+ib1\"} 0"));
    EXPECT_TRUE(hasMetric("ipoib_ha_works{pair=\"ib0+ib1\",interface=\"ib1\"} 0"));
    EXPECT_FALSE(isHealthy({{"pairs", nlohmann::json::array()}}));
}

TEST_F(HaDocument, MetricsTellOfTheLastMove)
{
    EXPECT_EQ(metrics().find("last_move"), std::string::npos);
    fail(Side::primary);
    EXPECT_TRUE(hasMetric("ipoib_ha_moves_total{pair=\"ib0+ib1\"} 1"));
    EXPECT_TRUE(hasMetric("ipoib_ha_active{pair=\"ib0+ib1\",interface=\"ib1\"} 1"));
    EXPECT_TRUE(hasMetric("ipoib_ha_addresses{pair=\"ib0+ib1\"} 1"));
    // Four minutes and what the failover itself took
    const auto at = metrics().find("ipoib_ha_last_move_timestamp_seconds{");
    ASSERT_NE(at, std::string::npos);
    const double when = std::stod(metrics().substr(metrics().find("} ", at) + 2));
    EXPECT_NEAR(when, 1'000'000 - 240, 1);
}

// A POSIX extended regular expression: gcc 12 warns of std::regex with sanitizers.
bool matches(const std::string &text, const char *expression)
{
    regex_t compiled{};
    EXPECT_EQ(::regcomp(&compiled, expression, REG_EXTENDED | REG_NOSUB), 0) << expression;
    const bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
    ::regfree(&compiled);
    return found;
}

// Rules of the format, and those for names that `promtool check metrics` has.
void checkNames(const std::string &text)
{
    std::istringstream lines(text);
    std::set<std::string> samples;
    std::string type;
    constexpr auto sample = "^[a-z_]+([{][a-z_]+=\"[^\"]*\"(,[a-z_]+=\"[^\"]*\")*[}])? [0-9.e+-]+$";
    constexpr auto unitless = "_(ms|us|s|seconds_total|sec|milliseconds|microseconds|bytes_total)$";
    EXPECT_TRUE(text.ends_with('\n'));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# TYPE "))
            type = line.substr(line.rfind(' ') + 1);
        if (line.starts_with("#"))
            continue;
        ASSERT_TRUE(matches(line, sample)) << line;
        const std::string name = line.substr(0, line.find_first_of("{ "));
        EXPECT_TRUE(samples.insert(line.substr(0, line.rfind(' '))).second) << line << " again";
        EXPECT_EQ(name.ends_with("_total"), type == "counter") << line;
        EXPECT_FALSE(matches(name, unitless)) << line;
        EXPECT_TRUE(name.starts_with("ipoib_ha_")) << line;
    }
}

TEST_F(HaDocument, MetricsKeepTheRules)
{
    checkNames(metrics());
    fail(Side::primary);
    checkNames(metrics());
    checkNames(absenceText());
}

TEST_F(HaDocument, MetricsTellWhetherTheDaemonIsThere)
{
    EXPECT_TRUE(hasMetric("ipoib_ha_up 1"));
    EXPECT_EQ(absenceText(), "# HELP ipoib_ha_up Whether the daemon runs and answers.\n"
                             "# TYPE ipoib_ha_up gauge\n"
                             "ipoib_ha_up 0\n");
    EXPECT_EQ(metricsText(answerOf(nlohmann::json::array()), {}).find("ipoib_ha_up 1"),
              absenceText().find("ipoib_ha_up 0"))
        << "that keeps no pair";
}

// Names of interfaces may have anything but blanks and slashes.
TEST_F(HaDocument, AStrangeNameDoesNotSpoilTheMetrics)
{
    auto strange = document();
    strange["pairs"][0]["interfaces"][0]["name"] = "i\"b\\0";
    const auto text = metricsText(strange, {});
    EXPECT_NE(text.find("interface=\"i\\\"b\\\\0\"} 1\n"), text.npos) << text;
}

// The format wants help and type before the samples of a name, all of them together.
TEST_F(HaDocument, MetricsOfOneNameStandTogether)
{
    fail(Side::primary);
    std::istringstream lines(metrics());
    std::set<std::string> seen;
    std::string family;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first;
        words >> first;
        if (first == "#") {
            std::string what;
            std::string name;
            words >> what >> name;
            if (what == "HELP") {
                EXPECT_TRUE(seen.insert(name).second) << name << " again";
                family = name;
            }
            EXPECT_EQ(name, family) << line;
        } else {
            EXPECT_EQ(line.substr(0, line.find_first_of("{ ")), family) << line;
        }
    }
    EXPECT_EQ(seen.size(), 10u);
}

TEST_F(HaDocument, ARefusedSwitchSaysWhy)
{
    EXPECT_EQ(world.pair->whyNotSwitched(), "");
    fail(Side::secondary);
    EXPECT_EQ(world.pair->whyNotSwitched(), "the port is down");
    auto answer = document();
    answer["pairs"][0]["switch"] = {
        {"to", "ib1"}, {"why_not", world.pair->whyNotSwitched()}, {"dry_run", true}};
    EXPECT_TRUE(isRefused(answer));
    EXPECT_EQ(switchText(answer), "not switched to ib1: the port is down\n");
    answer["pairs"][0]["switch"]["why_not"] = "";
    EXPECT_FALSE(isRefused(answer));
    EXPECT_EQ(switchText(answer), "would switch to ib1\n");
}

// Of three interfaces
class HaSpareDocument : public testing::Test
{
  protected:
    RosterWorld world;

    void SetUp() override
    {
        world.kernel.give(ib0, item(Kind::address4, "10.0.0.1/24"));
        world.start();
        world.quiesce();
    }
    [[nodiscard]] nlohmann::json document() const
    {
        auto pair = describeAll(world.roster->pair(), world.now, 0, {});
        addSpares(pair, *world.roster, "ib0+ib1:ib2", world.now);
        return answerOf({pair});
    }
    void fail(Side side)
    {
        world.fail(side);
        world.quiesce();
    }
};

TEST_F(HaSpareDocument, TheStatusNamesSpareInterfaces)
{
    EXPECT_TRUE(isHealthy(document()));
    EXPECT_EQ(statusText(document()),
              "ib0          active   works, datagram MTU 2044, P_Key 0xffff\n"
              "ib1          standby  works, datagram MTU 2044, P_Key 0xffff\n"
              "ib2          spare    works, datagram MTU 2044, P_Key 0xffff\n"
              "  address 10.0.0.1/24\n");
    fail(ib0);
    EXPECT_FALSE(isHealthy(document())) << "there is one less";
    const auto text = statusText(document());
    EXPECT_TRUE(text.starts_with("ib1          active   works, datagram MTU 2044, P_Key 0xffff\n"
                                 "ib2          standby  works, datagram MTU 2044, P_Key 0xffff\n"
                                 "ib0          spare    fails: ib0 port is down, "))
        << text;
    EXPECT_NE(text.find("  moved to ib1 "), text.npos);
    EXPECT_NE(explainText(document()).find("ib2 stands by in the place of ib0: ib0 port is down\n"),
              text.npos);
}

// One that has moved on is still where a past failover went to.
TEST_F(HaSpareDocument, PastMovesKeepTheirNames)
{
    fail(ib0);
    fail(ib1);
    const auto moves = document()["pairs"][0]["moves"];
    ASSERT_EQ(moves.size(), 2u);
    EXPECT_EQ(moves[0]["to"], "ib1");
    EXPECT_EQ(moves[1]["to"], "ib2");
}

TEST_F(HaSpareDocument, MetricsTellSpareInterfaces)
{
    fail(ib0);
    const auto text = metricsText(document(), std::chrono::system_clock::time_point(1'000'000s));
    checkNames(text);
    for (const char *line : {"ipoib_ha_works{pair=\"ib0+ib1:ib2\",interface=\"ib0\"} 0",
                             "ipoib_ha_works{pair=\"ib0+ib1:ib2\",interface=\"ib2\"} 1",
                             "ipoib_ha_active{pair=\"ib0+ib1:ib2\",interface=\"ib0\"} 0",
                             "ipoib_ha_active{pair=\"ib0+ib1:ib2\",interface=\"ib1\"} 1",
                             "ipoib_ha_spare{pair=\"ib0+ib1:ib2\",interface=\"ib0\"} 1",
                             "ipoib_ha_spare{pair=\"ib0+ib1:ib2\",interface=\"ib2\"} 0",
                             "ipoib_ha_standby_fit{pair=\"ib0+ib1:ib2\"} 1",
                             "ipoib_ha_healthy{pair=\"ib0+ib1:ib2\"} 0"})
        EXPECT_NE(text.find(std::string(line) + "\n"), text.npos) << line << "\n" << text;
}

TEST_F(HaDocument, OfTwoInterfacesNothingIsSpare)
{
    auto pair = describe(*world.pair, world.now);
    addSpares(pair, Roster({"ib0", "ib1"}, {}, std::nullopt), "ib0+ib1", world.now);
    EXPECT_EQ(pair, describe(*world.pair, world.now));
    EXPECT_EQ(metrics().find("ipoib_ha_spare"), std::string::npos);
}

TEST(HaLine, IsUtf8WhateverAClientHasSaid)
{
    EXPECT_EQ(lineOf({{"error", "unknown command '\xFF'"}}),
              "{\"error\":\"unknown command '\xEF\xBF\xBD'\"}\n");
}

} // namespace
} // namespace openipoib::ha
