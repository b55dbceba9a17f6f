// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a pair does about each thing that can happen to it.
#include "ha_pair_fixture.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

TEST_F(HaPair, NothingIsMovedWithoutCause)
{
    world.start();
    world.quiesce();
    EXPECT_EQ(world.active(), Side::primary);
    world.expectOn(Side::primary, identity);
    EXPECT_EQ(
        world.done,
        (std::vector<std::string>{
            "ib0: arp_ignore 1", "ib0: promote_secondaries 1", "ib1: arp_ignore 1",
            "ib1: promote_secondaries 1", "ib1: add stand-in instead of 10.0.0.1/24",
            "ib1: add stand-in instead of 10.0.0.9/24", "ib1: add stand-in instead of default",
            "ib0: ignore_routes_with_linkdown 1", "ib1: add peer 10.0.0.2"}));
    EXPECT_EQ(world.announcements, 0u);
    EXPECT_TRUE(world.pair->standbyLacks().empty());
}

TEST_F(HaPair, WhatOnlyAPairNeedsIsGivenBackInTheEnd)
{
    auto &primary = world.kernel.side[Side::primary].settings;
    auto &secondary = world.kernel.side[Side::secondary].settings;
    world.start();
    world.quiesce();
    EXPECT_EQ(primary["arp_ignore"], "1");
    EXPECT_EQ(primary["promote_secondaries"], "1");
    EXPECT_EQ(secondary["arp_ignore"], "1");
    // One that is killed leaves them to the next.
    world.kill();
    world.start();
    world.quiesce();
    primary["promote_secondaries"] = "2"; // somebody's wish, for both
    world.look();
    world.stop();
    EXPECT_EQ(primary["arp_ignore"], "0");
    EXPECT_EQ(primary["promote_secondaries"], "2");
    EXPECT_EQ(secondary["arp_ignore"], "0");
    EXPECT_EQ(secondary["promote_secondaries"], "2");
}

TEST_F(HaPair, FailoverMovesEverythingInOrder)
{
    world.start();
    world.done.clear();
    cut(Side::primary);
    EXPECT_EQ(world.active(), Side::secondary);
    world.expectOn(Side::secondary, identity);
    EXPECT_TRUE(has(world.kernel.side[Side::secondary].items, item(Kind::peer, "10.0.0.2")));
    EXPECT_EQ(world.done, (std::vector<std::string>{"ib1: announce 10.0.0.1/24",
                                                    "ib1: announce 10.0.0.9/24",
                                                    "ib0: turn away",
                                                    "ib1: add address 10.0.0.1/24",
                                                    "ib1: add address 10.0.0.9/24",
                                                    "ib1: add rule from all iif",
                                                    "ib1: add route default",
                                                    "ib1: add neighbour 10.0.0.7",
                                                    "ib0: remove address 10.0.0.9/24",
                                                    "ib0: remove address 10.0.0.1/24",
                                                    "ib1: announce fd00::1/64",
                                                    "ib1: add address fd00::1/64",
                                                    "ib1: add route fd01::/64",
                                                    "ib0: remove neighbour 10.0.0.7",
                                                    "ib0: remove route fd01::/64",
                                                    "ib0: remove rule from all iif",
                                                    "ib0: remove address fd00::1/64",
                                                    "ib0: ignore_routes_with_linkdown 0",
                                                    "ib1: remove stand-in instead of 10.0.0.1/24",
                                                    "ib1: remove stand-in instead of 10.0.0.9/24",
                                                    "ib1: remove stand-in instead of default",
                                                    "ib0: add stand-in instead of 10.0.0.1/24",
                                                    "ib0: add stand-in instead of 10.0.0.9/24",
                                                    "ib0: add stand-in instead of default",
                                                    "ib1: ignore_routes_with_linkdown 1"}));
    EXPECT_EQ(world.urgent, 1u); // to turn away
    ASSERT_EQ(world.pair->moves().size(), 1u);
    const Move &move = world.pair->moves().front();
    EXPECT_EQ(move.cause, "the port is down");
    EXPECT_LE(move.event, move.decided);
    EXPECT_LE(move.decided, move.announced);
    EXPECT_LE(move.announced, move.turned);
    EXPECT_LT(move.turned, move.moved);
    EXPECT_EQ(move.failed, 0u);
}

// So that there is one thing less to do when it takes over.
TEST_F(HaPair, TheStandbyKnowsThePeers)
{
    const Item peer = item(Kind::peer, "10.0.0.2");
    const auto known = [&](Side side) -> io::Bytes {
        for (const auto &one : world.kernel.side[side].items)
            if (one.is(peer))
                return one.body;
        return {};
    };
    world.start();
    EXPECT_EQ(known(Side::secondary), peer.body);
    // The peer has moved, which the active interface is the first to learn.
    Item moved = peer;
    moved.body = {1, 2, 3};
    world.kernel.take(Side::primary, peer);
    world.kernel.give(Side::primary, moved);
    world.look();
    EXPECT_EQ(known(Side::secondary), moved.body);
    // What the standby has heard since is newer than what was seen of the other.
    moved.body = {4, 5, 6};
    world.kernel.take(Side::secondary, peer);
    world.kernel.give(Side::secondary, moved);
    world.look();
    world.kernel.take(Side::secondary, peer);
    world.kernel.give(Side::secondary, moved);
    world.done.clear();
    cut(Side::primary);
    EXPECT_EQ(std::ranges::count(world.done, "ib1: add peer 10.0.0.2"), 0);
    EXPECT_EQ(known(Side::secondary), moved.body);
}

// Packets do not wait for the daemon at all.
TEST_F(HaPair, TheKernelCanTurnToTheStandby)
{
    auto &primary = world.kernel.side[Side::primary];
    world.start();
    world.expectStandIns();
    // A route is taken away, and another one comes.
    const Item route = item(Kind::route4, "10.9.0.0/24");
    world.kernel.take(Side::primary, item(Kind::route4, "default"));
    world.kernel.give(Side::primary, route);
    world.look();
    world.expectStandIns();
    EXPECT_TRUE(has(world.kernel.side[Side::secondary].items, FakeKernel::standIn(route)));
    // What is set down loses its routes.
    world.kernel.setUp(Side::secondary, false);
    link(Side::secondary);
    world.quiesce();
    EXPECT_EQ(primary.settings["ignore_routes_with_linkdown"], "0") << "without anybody to turn to";
    world.kernel.setUp(Side::secondary, true);
    link(Side::secondary);
    world.quiesce();
    world.expectStandIns();
    world.tell(SwitchAsked{});
    world.quiesce();
    world.expectStandIns();
    world.stop();
    world.expectNothingLeft();
}

// Its network stack may be a second late.
TEST_F(HaPair, TheKernelIsToldOfTheLoss)
{
    auto &primary = world.kernel.side[Side::primary];
    world.start();
    world.done.clear();
    primary.carrier = false;
    cutPort(Side::primary);
    ASSERT_GE(world.done.size(), 3u);
    EXPECT_EQ(world.done[2], "ib0: turn away");
    EXPECT_EQ(world.urgent, 1u) << "packets are on their way, and wait for a processor";
    world.expectOn(Side::secondary, identity);
    mend(Side::primary);
    // Now the carrier stays, whatever the port says.
    world.tell(SwitchAsked{});
    world.quiesce();
    cutPort(Side::primary);
    world.quiesce();
    EXPECT_FALSE(primary.dormant);
    world.expectOn(Side::secondary, identity);
}

// As with a target that does not answer
TEST_F(HaPair, ByATargetTheKernelSeesNothing)
{
    world.start();
    world.done.clear();
    world.tell(ReachChanged{Side::primary, "its target does not answer"});
    world.deliverAll();
    EXPECT_GE(world.urgent, 7u);
    EXPECT_EQ(std::ranges::count(world.done, "ib0: turn away"), 0);
    ASSERT_EQ(world.pair->moves().size(), 1u);
    EXPECT_EQ(world.pair->moves().front().turned, Time{});
    world.expectOn(Side::secondary, identity);
}

TEST_F(HaPair, WhoIgnoresLostLinksAnywayGoesOnToDoSo)
{
    for (const Side side : {Side::primary, Side::secondary})
        world.kernel.side[side].settings["ignore_routes_with_linkdown"] = "1";
    world.start();
    world.tell(SwitchAsked{});
    world.quiesce();
    world.stop();
    for (const Side side : {Side::primary, Side::secondary})
        EXPECT_EQ(world.kernel.side[side].settings["ignore_routes_with_linkdown"], "1");
}

TEST_F(HaPair, AStandbyThatHasFailedIsToldOfNoPeers)
{
    world.kernel.port[Side::secondary] = "the port is down";
    world.start();
    EXPECT_FALSE(has(world.kernel.side[Side::secondary].items, item(Kind::peer, "10.0.0.2")));
}

// Peers that have IPv6 alone are told without waiting for anything.
TEST_F(HaPair, WithoutIpv4TheAdvertisementComesFirst)
{
    for (const auto kind : {Kind::address4, Kind::route4})
        std::erase_if(world.kernel.side[Side::primary].items,
                      [kind](const Item &one) { return one.kind == kind; });
    std::erase_if(world.kernel.side[Side::primary].items, [](const Item &one) {
        return one.kind == Kind::rule || one.kind == Kind::neighbour;
    });
    world.start();
    world.done.clear();
    cut(Side::primary);
    ASSERT_GE(world.done.size(), 2u);
    EXPECT_EQ(world.done[0], "ib1: announce fd00::1/64");
    EXPECT_EQ(world.done[1], "ib1: add address fd00::1/64");
}

TEST_F(HaPair, WhatTheSecondaryHasOfItsOwnStaysThere)
{
    const Items own{item(Kind::address4, "10.1.0.1/24"), item(Kind::route6, "fd02::/64")};
    for (const auto &one : own)
        world.kernel.give(Side::secondary, one);
    world.start();
    cut(Side::primary);
    world.quiesce();
    world.kernel.give(Side::secondary, item(Kind::address4, "10.0.0.3/24")); // for who is active
    world.look();
    mend(Side::primary);
    // Also by one that comes after.
    world.kill();
    world.start();
    world.tell(SwitchAsked{});
    world.quiesce();
    EXPECT_EQ(world.active(), Side::primary);
    world.expectOn(Side::primary, identity);
    world.expectOn(Side::primary, {item(Kind::address4, "10.0.0.3/24")});
    world.expectOn(Side::secondary, own);
}

TEST_F(HaPair, AnnouncementsAreRepeatedAndEnd)
{
    world.start();
    cut(Side::primary);
    EXPECT_EQ(world.announcements, 2u); // of each family one
    world.pass(45ms);
    EXPECT_EQ(world.announcements, 4u);
    world.pass(1min);
    EXPECT_EQ(world.announcements, 8u);
    world.pass(10min);
    EXPECT_EQ(world.announcements, 8u);
}

TEST_F(HaPair, AnnouncementsCanBeTurnedOff)
{
    world.policy.announce = false;
    world.start();
    cut(Side::primary);
    world.quiesce();
    EXPECT_EQ(world.announcements, 0u);
    world.expectOn(Side::secondary, identity);
}

TEST_F(HaPair, EveryKindOfFailureMoves)
{
    world.start();
    world.kernel.side[Side::primary].carrier = false;
    link(Side::primary);
    EXPECT_EQ(world.active(), Side::secondary);
    world.kernel.side[Side::primary].carrier = true;
    link(Side::primary);
    world.kernel.setUp(Side::secondary, false);
    link(Side::secondary);
    EXPECT_EQ(world.active(), Side::primary);
    world.expectOn(Side::primary, identity);
    world.kernel.setUp(Side::secondary, true);
    link(Side::secondary);
    world.kernel.unplug(Side::primary);
    link(Side::primary);
    EXPECT_EQ(world.active(), Side::secondary);
    world.expectOn(Side::secondary, identity);
}

TEST_F(HaPair, WithBothPortsDownTheIdentityWaits)
{
    world.start();
    cut(Side::secondary);
    cut(Side::primary);
    EXPECT_EQ(world.active(), Side::primary);
    world.expectOn(Side::primary, identity);
    EXPECT_TRUE(said("ib0 keeps the identity: the port is down"));
    mend(Side::secondary);
    EXPECT_EQ(world.active(), Side::secondary);
    world.expectOn(Side::secondary, identity);
}

TEST_F(HaPair, WhatASetDownTookIsGivenBack)
{
    world.start();
    cut(Side::secondary);
    world.kernel.setUp(Side::primary, false);
    link(Side::primary);
    world.kernel.setUp(Side::primary, true);
    link(Side::primary);
    world.expectOn(Side::primary, identity);
}

TEST_F(HaPair, WhatHotUnplugTookIsGivenBack)
{
    world.start();
    cut(Side::secondary);
    world.kernel.unplug(Side::primary);
    link(Side::primary);
    world.kernel.plug(Side::primary);
    link(Side::primary);
    world.expectOn(Side::primary, identity);
    EXPECT_EQ(world.active(), Side::primary);
}

TEST_F(HaPair, LostMessagesLoseNothing)
{
    world.start();
    world.kernel.setUp(Side::primary, false);
    world.kernel.setUp(Side::primary, true);
    world.lose();
    world.deliverAll();
    world.expectOn(Side::primary, identity);
}

TEST_F(HaPair, FailbackNever)
{
    world.start();
    cut(Side::primary);
    mend(Side::primary);
    world.quiesce();
    EXPECT_EQ(world.active(), Side::secondary);
}

TEST_F(HaPair, FailbackWhenStable)
{
    world.policy.failback = 5s;
    world.start();
    cut(Side::primary);
    mend(Side::primary);
    world.pass(4s);
    EXPECT_EQ(world.active(), Side::secondary);
    world.pass(2s);
    EXPECT_EQ(world.active(), Side::primary);
    world.expectOn(Side::primary, identity);
    // Failing again, it is trusted later.
    cut(Side::primary);
    mend(Side::primary);
    world.pass(6s);
    EXPECT_EQ(world.active(), Side::secondary);
    world.pass(5s);
    EXPECT_EQ(world.active(), Side::primary);
}

TEST_F(HaPair, FailbackAtOnce)
{
    world.policy.failback = 0s;
    world.start();
    cut(Side::primary);
    mend(Side::primary);
    EXPECT_EQ(world.active(), Side::primary);
}

TEST_F(HaPair, FlappingIsDamped)
{
    world.policy.failback = 0s;
    world.start();
    for (int i = 0; i < 100; ++i) {
        const Side side = world.active();
        cut(side);
        mend(side);
        world.pass(10ms);
    }
    EXPECT_LT(world.pair->moveCount(), 20u);
    world.quiesce();
    EXPECT_EQ(world.active(), Side::primary);
    world.expectOn(Side::primary, identity);
}

TEST_F(HaPair, SwitchByHandStays)
{
    world.policy.failback = 0s;
    world.start();
    world.tell(SwitchAsked{});
    world.quiesce();
    EXPECT_EQ(world.active(), Side::secondary);
    world.expectOn(Side::secondary, identity);
    cut(Side::primary);
    world.tell(SwitchAsked{});
    EXPECT_EQ(world.active(), Side::secondary);
    EXPECT_TRUE(said("not switched to ib0 by hand: the port is down"));
}

TEST_F(HaPair, AddressesOfOthersStay)
{
    const Item foreign = item(Kind::address4, "192.168.7.1/24");
    world.kernel.give(Side::secondary, foreign);
    world.start();
    cut(Side::primary);
    world.quiesce();
    EXPECT_TRUE(has(world.kernel.side[Side::secondary].items, foreign));
    EXPECT_FALSE(has(world.kernel.side[Side::primary].items, foreign));
}

TEST_F(HaPair, ChangesByTheAdministratorAreFollowed)
{
    world.start();
    world.kernel.take(Side::primary, identity[1]);
    world.kernel.give(Side::primary, item(Kind::address6, "fd00::99/64"));
    world.look();
    cut(Side::primary);
    world.quiesce();
    world.expectOn(Side::secondary, {identity[0], item(Kind::address6, "fd00::99/64")});
    EXPECT_EQ(world.kernel.holders(identity[1]), 0);
}

TEST_F(HaPair, NothingIsMovedBetweenVrfs)
{
    world.kernel.side[Side::primary].vrf = "blue";
    world.start();
    cut(Side::primary);
    world.quiesce();
    world.expectOn(Side::primary, identity);
    EXPECT_TRUE(said("ib1 and ib0 do not belong to the same VRF"));
    world.kernel.side[Side::secondary].vrf = "blue";
    world.quiesce();
    world.expectOn(Side::secondary, identity);
}

TEST_F(HaPair, ARefusedAddressStaysWhereItIs)
{
    world.kernel.refused = {"ib1: add address 10.0.0.9/24"};
    world.start();
    cut(Side::primary);
    world.quiesce();
    EXPECT_TRUE(has(world.kernel.side[Side::primary].items, identity[1]));
    world.expectOn(Side::secondary, {identity[0], identity[2], identity[4]});
    EXPECT_EQ(std::ranges::count(world.pair->failing(), "ib1: add address 10.0.0.9/24",
                                 [](const auto &one) { return one.first.text(); }),
              1);
    // It is tried again, seldom.
    world.kernel.refused.clear();
    world.quiesce();
    world.expectOn(Side::secondary, identity);
}

TEST_F(HaPair, TheStandbyIsKeptFit)
{
    Interface &standby = world.kernel.side[Side::secondary];
    Interface &active = world.kernel.side[Side::primary];
    active.connected = true;
    active.mtu = 65520;
    active.settings["umcast"] = "1";
    standby.up = false;
    world.start();
    EXPECT_TRUE(standby.up);
    EXPECT_EQ(standby.connected, true);
    EXPECT_EQ(standby.mtu, 65520u);
    EXPECT_EQ(standby.settings["umcast"], "1");
    // Set down by somebody, it stays down.
    world.kernel.setUp(Side::secondary, false);
    link(Side::secondary);
    world.quiesce();
    EXPECT_FALSE(standby.up);
    ASSERT_FALSE(world.pair->standbyLacks().empty());
    EXPECT_EQ(world.pair->standbyLacks().front(), "ib1 is set down");
}

TEST_F(HaPair, AnInterfaceOfAnotherPartitionIsNoStandby)
{
    world.kernel.side[Side::secondary].pkey = 0x8001;
    world.start();
    cut(Side::primary);
    EXPECT_EQ(world.active(), Side::primary);
    EXPECT_TRUE(said("ib1 and ib0 are in different partitions"));
    world.expectOn(Side::primary, identity);
}

TEST_F(HaPair, ACleanStopLeavesDeletionsToOthers)
{
    world.start();
    cut(Side::primary);
    world.stop();
    world.kernel.take(Side::secondary, identity[1]);
    world.start();
    world.quiesce();
    EXPECT_EQ(world.active(), Side::secondary);
    EXPECT_EQ(world.kernel.holders(identity[1]), 0);
}

TEST_F(HaPair, AJournalThatIsNoneIsRefused)
{
    for (const char *text :
         {"", "{}", "[]", "null", "{\"format\":2}", "{\"format\":1,\"active\":3}"})
        EXPECT_FALSE(readJournal(text)) << text;
    world.start();
    Journal journal = world.pair->journal(true);
    EXPECT_TRUE(journal.clean);
    journal.cause = "the port is down";
    EXPECT_EQ(journal.lanes.front().identity.size(), identity.size());
    EXPECT_EQ(readJournal(writeJournal(journal)).value(), journal);
}

} // namespace
} // namespace openipoib::ha
