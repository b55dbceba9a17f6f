// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Three interfaces in an order of preference with one identity.
#include "ha_roster_world.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

const Items identity{item(Kind::address4, "10.0.0.1/24"), item(Kind::address6, "fd00::1/64"),
                     item(Kind::route4, "default")};

class HaRoster : public testing::Test
{
  protected:
    RosterWorld world;

    void give(Side side)
    {
        for (const auto &one : identity)
            world.kernel.give(side, one);
    }
    void SetUp() override
    {
        give(ib0);
        world.start();
        world.quiesce();
    }
    void fail(Side side)
    {
        world.fail(side);
        world.deliverAll();
    }
    void mend(Side side)
    {
        world.mend(side);
        world.deliverAll();
    }
    void expectPair(Side active, Side standby)
    {
        EXPECT_EQ(nameAt(world.active()), nameAt(active));
        EXPECT_EQ(nameAt(world.standby()), nameAt(standby));
        EXPECT_EQ(world.wrong, "");
    }
    [[nodiscard]] std::size_t saidAbout(Topic topic) const
    {
        return static_cast<std::size_t>(
            std::ranges::count(world.said, topic, [](const Say &one) { return one.topic; }));
    }
};

TEST_F(HaRoster, TheFirstTwoAreThePair)
{
    expectPair(ib0, ib1);
    world.expectOn(ib0, identity);
    world.expectPlaces();
    EXPECT_EQ(saidAbout(Topic::replaced), 0u);
}

TEST_F(HaRoster, ASpareInterfaceIsSetUpOnce)
{
    world.kernel.setUp(ib2, false);
    world.announceLink(ib2);
    world.quiesce();
    EXPECT_FALSE(world.kernel.side[ib2].up) << "an administrator has set it down";
    world.kernel.unplug(ib2);
    world.announceLink(ib2);
    world.deliverAll();
    world.kernel.plug(ib2);
    world.kernel.setUp(ib2, false);
    world.announceLink(ib2);
    world.quiesce();
    EXPECT_TRUE(world.kernel.side[ib2].up) << "nobody has";
    world.expectPlaces();
}

TEST_F(HaRoster, ThreeFailuresInARow)
{
    fail(ib0);
    expectPair(ib1, ib2);
    world.expectOn(ib1, identity);
    world.expectPlaces();
    EXPECT_EQ(saidAbout(Topic::replaced), 1u);
    fail(ib1);
    EXPECT_EQ(world.active(), ib2);
    world.expectOn(ib2, identity);
    fail(ib2);
    EXPECT_EQ(world.active(), ib2) << "nobody is left";
    world.quiesce();
    world.expectOn(ib2, identity);
    mend(ib0);
    expectPair(ib0, ib2);
    world.quiesce();
    world.expectOn(ib0, identity);
    world.expectPlaces();
    world.stop();
    world.kernel.expectNothingLeft();
}

TEST_F(HaRoster, TheActiveInterfaceDoesNotNotice)
{
    world.done.clear();
    const Interface before = world.kernel.side[ib0];
    fail(ib1);
    expectPair(ib0, ib2);
    world.quiesce();
    EXPECT_EQ(world.kernel.side[ib0].items, before.items);
    for (const auto &step : world.done)
        EXPECT_FALSE(step.starts_with("ib0")) << step;
    world.expectPlaces();
}

TEST_F(HaRoster, TheJournalComesBeforeAnyChange)
{
    world.done.clear();
    fail(ib1);
    expectPair(ib0, ib2);
    ASSERT_FALSE(world.done.empty());
    EXPECT_EQ(world.done.front(), "journal of ib0 and ib2");
}

TEST_F(HaRoster, WhatIsSaidOfTheOneBeforeIsNotTakenForTheNewOne)
{
    fail(ib1);
    expectPair(ib0, ib2);
    const std::size_t failures = saidAbout(Topic::failed);
    world.tell(ReachChanged{other(world.roster->pair().active()), "nobody answers by BFD"});
    EXPECT_EQ(saidAbout(Topic::failed), failures);
    world.reach[ib2] = "nobody answers by BFD";
    world.pass(10s);
    EXPECT_EQ(saidAbout(Topic::failed), failures + 1) << "later it is";
}

TEST_F(HaRoster, WithTwoDeadTheThirdHasTheIdentityAtOnce)
{
    world.kernel.port[ib0] = world.kernel.port[ib1] = "the HCA is gone";
    world.announcePort(ib0);
    world.announcePort(ib1);
    const Time before = world.now;
    world.deliverAll();
    EXPECT_EQ(world.active(), ib2);
    EXPECT_LT(world.now - before, 10ms);
    world.quiesce();
    world.expectOn(ib2, identity);
}

TEST_F(HaRoster, WithoutFailbackTheIdentityStays)
{
    fail(ib0);
    expectPair(ib1, ib2);
    mend(ib0);
    expectPair(ib1, ib2);
    world.quiesce();
    expectPair(ib1, ib0);
    EXPECT_EQ(world.roster->pair().moveCount(), 1u);
    world.expectOn(ib1, identity);
    world.expectPlaces();
}

TEST_F(HaRoster, FailbackGoesToTheMostPreferred)
{
    world.policy.failback = 30s;
    world.roster->configure(world.policy);
    fail(ib0);
    fail(ib1);
    EXPECT_EQ(world.active(), ib2);
    world.pass(20min);
    mend(ib1);
    mend(ib0);
    world.pass(29s);
    EXPECT_EQ(world.active(), ib2);
    world.pass(2s);
    expectPair(ib0, ib1);
    world.expectOn(ib0, identity);
    world.quiesce();
    world.expectPlaces();
}

TEST_F(HaRoster, TwoThatComeBackTogetherCostOneMove)
{
    world.policy.failback = 30s;
    world.roster->configure(world.policy);
    fail(ib0);
    fail(ib1);
    world.pass(20min);
    const auto moves = world.roster->pair().moveCount();
    for (const Side side : {ib0, ib1})
        world.mend(side);
    world.lose(); // so that all is seen at once
    world.deliverAll();
    world.pass(5min);
    expectPair(ib0, ib1);
    EXPECT_EQ(world.roster->pair().moveCount(), moves + 1);
}

TEST_F(HaRoster, AFlappingPortDoesNotTakeTheIdentityAlong)
{
    world.policy.failback = 0s;
    world.roster->configure(world.policy);
    for (int round = 0; round < 100; ++round) {
        fail(ib0);
        world.pass(50ms);
        mend(ib0);
        world.pass(50ms);
    }
    EXPECT_LT(world.roster->pair().moveCount(), 20u);
    EXPECT_LT(saidAbout(Topic::replaced), 20u);
    world.quiesce();
    expectPair(ib0, ib1);
    world.expectOn(ib0, identity);
}

TEST_F(HaRoster, ASwitchByHandGoesToTheStandbyAndStays)
{
    world.policy.failback = 1s;
    world.roster->configure(world.policy);
    world.tell(SwitchAsked{});
    world.quiesce();
    expectPair(ib1, ib0);
    fail(ib0);
    expectPair(ib1, ib2);
    mend(ib0);
    world.quiesce();
    expectPair(ib1, ib0);
    EXPECT_EQ(world.roster->pair().moveCount(), 1u) << "whoever stands by";
}

TEST_F(HaRoster, WhatAManagerGivesASpareIsTakenAway)
{
    fail(ib0);
    world.quiesce();
    expectPair(ib1, ib2);
    give(ib0);
    world.mend(ib0);
    world.deliverAll();
    world.expectOn(ib1, identity);
}

TEST_F(HaRoster, WhatASpareHasOfItsOwnStaysThere)
{
    const Item own = item(Kind::address4, "192.168.0.1/24");
    world.kernel.give(ib2, own);
    world.look();
    fail(ib0);
    fail(ib1);
    world.quiesce();
    world.expectOn(ib2, identity);
    mend(ib0);
    fail(ib2);
    world.quiesce();
    world.expectOn(ib0, identity);
    EXPECT_TRUE(has(world.kernel.side[ib2].items, own));
    EXPECT_EQ(world.kernel.holders(own), 1);
}

// A port may have a link and lead nowhere, which nobody asks as long as it is spare.
TEST_F(HaRoster, OneThatReachesNobodyIsTriedAgainWithoutTheIdentity)
{
    world.policy.failback = 0s;
    world.roster->configure(world.policy);
    world.reach[ib0] = "no target answers";
    world.tellReach();
    EXPECT_EQ(world.active(), ib1);
    world.pass(1h);
    EXPECT_EQ(world.active(), ib1);
    EXPECT_EQ(world.roster->pair().moveCount(), 1u);
    world.expectOn(ib1, identity);
    const std::size_t tries = saidAbout(Topic::replaced);
    EXPECT_GE(tries, 3u) << "nobody asks by it";
    EXPECT_LE(tries, 60u) << "again and again";
    world.reach[ib0] = "";
    world.pass(1h);
    expectPair(ib0, ib1);
    EXPECT_EQ(world.roster->pair().moveCount(), 2u);
}

// Nor one whose port has failed, and came back with a link that leads nowhere. It takes a while
// until it is known.
TEST_F(HaRoster, OneThatComesBackIsTriedWithoutTheIdentity)
{
    constexpr Time known = 15s;
    world.policy.failback = 0s;
    world.policy.asks = true;
    world.roster->configure(world.policy);
    for (const Side side : {ib1, ib2})
        world.met[side] = Met::somebody;
    fail(ib0);
    world.quiesce();
    expectPair(ib1, ib2);
    mend(ib0);
    Time since = world.now;
    for (const Time end = world.now + 30min; world.now < end; world.pass(1s)) {
        if (world.standby() != ib0)
            since = world.now;
        world.reach[ib0] = world.now < since + known ? "" : "nobody answers by BFD";
        world.tellReach();
        ASSERT_EQ(world.active(), ib1) << (world.now - since) / 1s;
    }
    EXPECT_GE(saidAbout(Topic::replaced), 3u) << "nobody asks by it";
    world.reach[ib0] = "";
    world.met[ib0] = Met::somebody;
    for (const Time end = world.now + 10min; world.now < end; world.pass(1s))
        world.tellReach();
    expectPair(ib0, ib1);
}

TEST_F(HaRoster, OneInAnotherVrfDoesNotStandBy)
{
    world.kernel.side[ib2].vrf = "red";
    world.look();
    fail(ib1);
    world.quiesce();
    expectPair(ib0, ib1);
    world.kernel.side[ib2].vrf = "";
    world.look();
    expectPair(ib0, ib2);
}

TEST_F(HaRoster, ARestartGoesOnWithTheTwoOfTheJournal)
{
    fail(ib0);
    world.quiesce();
    expectPair(ib1, ib2);
    world.policy.failback = 1s;
    for (const bool clean : {true, false}) {
        if (clean)
            world.stop();
        else
            world.kill();
        const auto before = world.said.size();
        world.start();
        expectPair(ib1, ib2);
        world.quiesce();
        expectPair(ib1, ib2);
        world.expectOn(ib1, identity);
        world.expectPlaces();
        for (std::size_t i = before; i < world.said.size(); ++i)
            EXPECT_NE(world.said[i].topic, Topic::replaced) << world.said[i].text;
    }
}

TEST_F(HaRoster, WithoutAJournalTheIdentityIsWhereTheAddressesAre)
{
    world.stop();
    world.saved.clear();
    for (const auto &one : identity)
        world.kernel.take(ib0, one);
    give(ib2);
    world.start();
    expectPair(ib2, ib0);
    world.quiesce();
    expectPair(ib2, ib0);
    world.expectOn(ib2, identity);
}

TEST_F(HaRoster, AfterACleanEndAddressesMayHaveBeenMovedAnywhere)
{
    fail(ib0);
    world.quiesce();
    expectPair(ib1, ib2);
    world.stop();
    for (const auto &one : identity)
        world.kernel.take(ib1, one);
    mend(ib0);
    give(ib0);
    world.start();
    expectPair(ib0, ib1);
    world.quiesce();
    world.expectOn(ib0, identity);
}

TEST_F(HaRoster, AJournalOfOthersIsOfNoUse)
{
    Journal journal = world.roster->journal(false);
    journal.names = {{"ib0", "ib7"}};
    world.kill();
    world.saved = writeJournal(journal);
    world.start();
    world.quiesce();
    expectPair(ib0, ib1);
    world.expectOn(ib0, identity);
}

TEST_F(HaRoster, ARefusedChangeToASpareIsToldAndNotTriedForEver)
{
    world.kernel.refused.insert("ib2: arp_ignore 1");
    world.kernel.side[ib2].settings["arp_ignore"] = "0";
    world.done.clear();
    world.look();
    world.pass(1min);
    EXPECT_EQ(saidAbout(Topic::refused), 1u);
    const auto tried = std::ranges::count(world.done, "ib2: arp_ignore 1");
    EXPECT_GE(tried, 3);
    EXPECT_LE(tried, 10);
    world.kernel.refused.clear();
    world.quiesce();
    world.expectPlaces();
}

TEST_F(HaRoster, WhatAStandbyRefusedIsUndoneWhenItIsSpare)
{
    world.kernel.refused.insert("ib0: ignore_routes_with_linkdown 0");
    fail(ib0);
    expectPair(ib1, ib2);
    EXPECT_EQ(world.kernel.side[ib0].settings["ignore_routes_with_linkdown"], "1");
    world.kernel.refused.clear();
    world.quiesce();
    world.expectPlaces();
}

// The active interface may have lost meanwhile what it was seen to have.
TEST_F(HaRoster, NothingIsTakenFromAStandbyThatIsReplacedByHearsay)
{
    world.kernel.refused.insert("ib1: remove address fd00::1/64");
    world.kernel.give(ib1, identity[1]);
    world.look();
    world.kernel.refused.clear();
    world.kernel.setUp(ib0, false);
    world.fail(ib1);
    world.deliverAll();
    EXPECT_EQ(world.wrong, "");
    world.announceLink(ib0);
    world.quiesce();
    world.expectOn(ib2, identity);
}

TEST_F(HaRoster, TwoInterfacesAreAPairAndNothingElse)
{
    Roster two({"ib0", "ib1"}, {}, std::nullopt);
    Pair pair({}, std::nullopt);
    FakeKernel kernel;
    kernel.give(Side::primary, identity[0]);
    const Lane lane{0, {{kernel.seen(Side::primary), kernel.seen(Side::secondary)}}};
    const auto steps = [](const Actions &actions) {
        std::vector<std::string> all;
        for (const auto &action : actions)
            if (const auto *batch = std::get_if<Batch>(&action))
                for (const auto &step : batch->steps)
                    all.push_back(step.text());
        return all;
    };
    EXPECT_EQ(steps(two.see({{0, {lane.side.values[0], lane.side.values[1]}}}, false, 1s, 1s)),
              steps(pair.handle(Seen{{lane}}, 1s, 1s)));
    EXPECT_EQ(writeJournal(two.journal(false)), writeJournal(pair.journal(false)));
    EXPECT_EQ(two.wake(), pair.wake());
    EXPECT_TRUE(two.spares().empty());
}

} // namespace
} // namespace openipoib::ha
