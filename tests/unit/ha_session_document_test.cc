// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What people and programs are told of BFD sessions.
#include "ha-daemon/metrics.hpp"
#include "ha-daemon/session_document.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

const Both<std::string> names{{"ib0", "ib1"}};

class HaSessionDocument : public testing::Test
{
  protected:
    SessionPolicy policy{.peers = {{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}},
                         .times = {}};
    SessionsReport report;

    void SetUp() override
    {
        report.count = 2;
        for (const Side side : {Side::primary, Side::secondary}) {
            auto &line = report.lines[static_cast<std::size_t>(side)];
            line.side = side;
            line.state = BfdState::up;
            line.serves = true;
            line.hearEvery = 20ms;
            line.detection = 60ms;
            line.counts = {.sent = 10, .received = 9, .missed = 4, .downs = 1, .longest = 43ms};
        }
        report.drops.strangers = 7;
        report.stalls = 3;
    }
    [[nodiscard]] std::string status() const
    {
        return sessionsText({{"sessions", describe(report, policy, names)}});
    }
};

TEST_F(HaSessionDocument, StatusNamesEachSession)
{
    EXPECT_EQ(status(), "  BFD ib0 with fe80::2: Up, every 20 ms, detection 60 ms, missed 4, "
                        "longest silence 43 ms\n"
                        "  BFD ib1 with fe80::2: Up, every 20 ms, detection 60 ms, missed 4, "
                        "longest silence 43 ms\n");
    EXPECT_EQ(sessionsText(nlohmann::json::object()), "");
}

TEST_F(HaSessionDocument, StatusSaysWhyOneIsOfNoUse)
{
    report.lines[0].state = BfdState::down;
    report.lines[0].diag = BfdDiag::timeExpired;
    report.lines[1].serves = false;
    report.lines[1].remoteDiag = BfdDiag::concatenatedPathDown;
    report.errors[Side::primary] = EADDRNOTAVAIL;
    const std::string text = status();
    EXPECT_NE(text.find("ib0 with fe80::2: Down, nothing was heard,"), std::string::npos);
    EXPECT_NE(text.find("ib1 with fe80::2: Up, the peer stands by,"), std::string::npos);
    EXPECT_NE(text.find("  BFD by ib0: Cannot assign requested address\n"), std::string::npos);
}

TEST_F(HaSessionDocument, TheLogHasWhatChanges)
{
    SessionsReport after = report;
    EXPECT_TRUE(changes(report, after, policy, names).empty());
    after.lines[1].state = BfdState::down;
    after.lines[1].diag = BfdDiag::neighborDown;
    after.errors[Side::primary] = ENODEV;
    EXPECT_EQ(changes(report, after, policy, names),
              (std::vector<std::string>{"BFD session of ib1 with fe80::2 is Down: the peer says so",
                                        "BFD by ib0: No such device"}));
    EXPECT_EQ(changes(after, report, policy, names),
              (std::vector<std::string>{"BFD session of ib1 with fe80::2 is Up"}));
}

TEST_F(HaSessionDocument, MetricsHaveAllOfIt)
{
    const nlohmann::json interface = {{"name", "ib0"}, {"active", true}, {"works", true}};
    const nlohmann::json pair = {{"started", true},
                                 {"interfaces", {interface}},
                                 {"standby_lacks", nlohmann::json::array()},
                                 {"failing", nlohmann::json::array()},
                                 {"addresses", nlohmann::json::array()},
                                 {"moves", nlohmann::json::array()},
                                 {"move_count", 0},
                                 {"sessions", describe(report, policy, names)}};
    const std::string text = metricsText({{"pairs", {pair}}}, {});
    for (const auto *line :
         {"\nipoib_ha_bfd_session_up{pair=\"ib0\",interface=\"ib1\",peer=\"fe80::2\"} 1\n",
          "\nipoib_ha_bfd_missed_packets_total{pair=\"ib0\",interface=\"ib0\",peer=\"fe80::2\"} "
          "4\n",
          "\nipoib_ha_bfd_session_downs_total{pair=\"ib0\",interface=\"ib0\",peer=\"fe80::2\"} 1\n",
          "\nipoib_ha_bfd_dropped_packets_total{pair=\"ib0\",why=\"strangers\"} 7\n",
          "\nipoib_ha_bfd_stalls_total{pair=\"ib0\"} 3\n"})
        EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

} // namespace
} // namespace openipoib::ha
