// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the daemon tells systemd's journal: `journalctl -p warning` has to say what went wrong,
// and programs have to find it by fields.
#include "ha-daemon/report.hpp"
#include "ha_world.hpp"

#include <nlohmann/json.hpp>

#include <set>

namespace openipoib::ha
{
namespace
{

const Both<std::string> names{{"ib0", "ib1"}};

class HaReport : public testing::Test
{
  protected:
    World world;

    void SetUp() override
    {
        world.kernel.give(Side::primary, item(Kind::address4, "10.0.0.1/24"));
        world.start();
        world.quiesce();
    }
    void fail(Side side)
    {
        world.kernel.port[side] = "sib0 port 1 is down";
        world.announcePort(side);
        world.quiesce();
    }
    // Those of this topic, newest last
    [[nodiscard]] std::vector<Say> of(Topic topic) const
    {
        std::vector<Say> found;
        std::ranges::copy_if(world.said, std::back_inserter(found),
                             [&](const Say &one) { return one.topic == topic; });
        return found;
    }
    // Whether the last of this topic has the field
    [[nodiscard]] bool has(Topic topic, const std::string &field) const
    {
        const auto found = of(topic);
        if (found.empty())
            return false;
        const auto fields = reportFields(names, found.back());
        return std::ranges::find(fields, field) != fields.end();
    }
    [[nodiscard]] std::vector<std::string> warnings() const
    {
        std::vector<std::string> texts;
        for (const auto &one : world.said)
            if (one.severity == Severity::warning)
                texts.push_back(one.text);
        return texts;
    }
};

TEST_F(HaReport, WhatMonitorPrints)
{
    const Say what{Severity::warning,
                   "ib0 has failed: no carrier",
                   Topic::failed,
                   {{"INTERFACE", "ib0"}, {"DURATION_USEC", "7"}}};
    const auto at = std::chrono::system_clock::time_point(std::chrono::milliseconds(1767225600007));
    const nlohmann::json wanted{{"version", 1},
                                {"time", "2026-01-01T00:00:00.007Z"},
                                {"severity", "warning"},
                                {"event", "failed"},
                                {"pair", "ib0+ib1"},
                                {"primary", "ib0"},
                                {"secondary", "ib1"},
                                {"text", "ib0 has failed: no carrier"},
                                {"facts", {{"interface", "ib0"}, {"duration_usec", "7"}}}};
    EXPECT_EQ(reportDocument(names, what, at), wanted);
}

TEST_F(HaReport, EachTopicHasAnIdOfItsOwn)
{
    EXPECT_EQ(messageId(Topic::other), "");
    std::set<std::string_view> ids;
    std::set<std::string_view> events{eventOf(Topic::other)};
    for (const auto topic :
         {Topic::started, Topic::failed, Topic::works, Topic::moving, Topic::moved, Topic::stays,
          Topic::unswitched, Topic::replaced, Topic::managed, Topic::refused}) {
        EXPECT_TRUE(ids.insert(messageId(topic)).second);
        EXPECT_TRUE(events.insert(eventOf(topic)).second);
        EXPECT_EQ(messageId(topic).find_first_not_of("0123456789abcdef"), std::string_view::npos);
        EXPECT_EQ(messageId(topic).size(), 32u);
    }
}

TEST_F(HaReport, AllHavePairAndText)
{
    const auto fields = reportFields(names, {Severity::notice, "something"});
    EXPECT_EQ(fields, (std::vector<std::string>{"MESSAGE=ib0+ib1: something", "PRIORITY=5",
                                                "SYSLOG_IDENTIFIER=ipoib-ha", "SYSLOG_FACILITY=3",
                                                "PAIR=ib0+ib1", "PRIMARY=ib0", "SECONDARY=ib1"}));
    EXPECT_EQ(reportLine(names, {Severity::notice, "something"}), "ib0+ib1: something");
}

TEST_F(HaReport, AFailoverIsToldWithItsCause)
{
    EXPECT_TRUE(has(Topic::started, "ACTIVE=ib0"));
    EXPECT_TRUE(warnings().empty());
    fail(Side::primary);
    EXPECT_TRUE(has(Topic::failed, "INTERFACE=ib0"));
    EXPECT_TRUE(has(Topic::failed, "CAUSE=sib0 port 1 is down"));
    EXPECT_TRUE(has(Topic::failed, "MESSAGE_ID=" + std::string(messageId(Topic::failed))));
    EXPECT_TRUE(has(Topic::moving, "FROM=ib0"));
    EXPECT_TRUE(has(Topic::moving, "TO=ib1"));
    EXPECT_TRUE(has(Topic::moved, "ACTIVE=ib1"));
    EXPECT_TRUE(has(Topic::moved, "CAUSE=sib0 port 1 is down"));
    EXPECT_TRUE(has(Topic::moved, "CHANGES_FAILED=0"));
    EXPECT_EQ(warnings(), std::vector<std::string>{"ib0 has failed: sib0 port 1 is down"});
    world.kernel.port[Side::primary] = "";
    world.announcePort(Side::primary);
    world.quiesce();
    EXPECT_TRUE(has(Topic::works, "INTERFACE=ib0"));
    EXPECT_EQ(warnings().size(), 1u) << "that is good news";
}

TEST_F(HaReport, ThatNothingCanBeDoneIsAWarning)
{
    fail(Side::secondary);
    world.tell(SwitchAsked{});
    EXPECT_TRUE(has(Topic::unswitched, "TO=ib1"));
    EXPECT_TRUE(has(Topic::unswitched, "CAUSE=sib0 port 1 is down"));
    fail(Side::primary);
    EXPECT_TRUE(has(Topic::stays, "ACTIVE=ib0"));
    EXPECT_TRUE(has(Topic::stays, "CAUSE=sib0 port 1 is down"));
    EXPECT_EQ(warnings(),
              (std::vector<std::string>{"ib1 has failed: sib0 port 1 is down",
                                        "not switched to ib1 by hand: sib0 port 1 is down",
                                        "ib0 has failed: sib0 port 1 is down",
                                        "ib0 keeps the identity: sib0 port 1 is down"}));
}

TEST_F(HaReport, AFailoverThatLeavesSomethingUndoneIsAWarning)
{
    world.kernel.refused.insert("ib1: add address 10.0.0.1/24");
    fail(Side::primary);
    EXPECT_TRUE(has(Topic::refused, "INTERFACE=ib1"));
    EXPECT_TRUE(has(Topic::refused, "CAUSE=refused"));
    ASSERT_FALSE(of(Topic::moved).empty());
    EXPECT_EQ(of(Topic::moved).back().severity, Severity::warning);
    EXPECT_FALSE(has(Topic::moved, "CHANGES_FAILED=0"));
}

} // namespace
} // namespace openipoib::ha
