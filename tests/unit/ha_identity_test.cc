// SPDX-License-Identifier: GPL-2.0-only OR MIT
// An identity, and those who change addresses beside the daemon: other programs that
// manage the interfaces, and administrators while it does not run.
#include "ha_world.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

const Items identity{item(Kind::address4, "10.0.0.1/24"), item(Kind::address6, "fd00::1/64"),
                     item(Kind::route4, "default")};

class HaIdentity : public testing::Test
{
  protected:
    World world;

    void SetUp() override { giveAll(Side::primary); }

    void giveAll(Side side)
    {
        for (const auto &one : identity)
            world.kernel.give(side, one);
    }
    void takeAll(Side side)
    {
        for (const auto &one : identity)
            world.kernel.take(side, one);
    }
    void setCarrier(Side side, bool carrier)
    {
        world.kernel.side[side].carrier = carrier;
        world.announceLink(side);
        world.deliverAll();
    }
    void setPort(Side side, const std::string &why)
    {
        world.kernel.port[side] = why;
        world.announcePort(side);
        world.deliverAll();
    }
};

// systemd-networkd with IgnoreCarrierLoss=no, NetworkManager
TEST_F(HaIdentity, SurvivesThatAnotherDeletesItFromAnInterfaceWithoutCarrier)
{
    world.start();
    setCarrier(Side::secondary, false);
    setCarrier(Side::primary, false);
    takeAll(Side::primary);
    world.look();
    setCarrier(Side::secondary, true);
    world.quiesce();
    EXPECT_EQ(world.active(), Side::secondary);
    world.expectOn(Side::secondary, identity);
}

// The other comes back first, and only then is it seen that the addresses are gone.
TEST_F(HaIdentity, SurvivesThatItsDeletionIsSeenLate)
{
    world.start();
    setCarrier(Side::secondary, false);
    setCarrier(Side::primary, false);
    takeAll(Side::primary);
    setCarrier(Side::primary, true);
    world.quiesce();
    world.expectOn(Side::primary, identity);
}

TEST_F(HaIdentity, SurvivesThatItIsDeletedJustAfterTheLinkIsBack)
{
    world.start();
    setCarrier(Side::secondary, false);
    setCarrier(Side::primary, false);
    setCarrier(Side::primary, true);
    world.look();
    takeAll(Side::primary);
    world.look();
    world.quiesce();
    world.expectOn(Side::primary, identity);
}

TEST_F(HaIdentity, SurvivesThatItIsDeletedFromABadPort)
{
    world.start();
    setPort(Side::secondary, "the port is down");
    setPort(Side::primary, "the port is down");
    takeAll(Side::primary);
    world.look();
    setPort(Side::secondary, "");
    world.quiesce();
    world.expectOn(Side::secondary, identity);
}

TEST_F(HaIdentity, IsWhatAnAdministratorHasLeftOfItOnAnInterfaceThatWorks)
{
    world.start();
    world.kernel.take(Side::primary, identity[1]);
    world.quiesce();
    EXPECT_EQ(world.kernel.holders(identity[1]), 0);
    setPort(Side::primary, "the port is down");
    world.quiesce();
    world.expectOn(Side::secondary, {identity[0], identity[2]});
    EXPECT_EQ(world.kernel.holders(identity[1]), 0);
}

TEST_F(HaIdentity, IsWhereItWasPutWhileNobodyWasInCharge)
{
    world.start();
    setPort(Side::primary, "the port is down");
    world.quiesce();
    setPort(Side::primary, "");
    world.quiesce();
    world.stop();
    takeAll(Side::secondary);
    giveAll(Side::primary);
    world.start();
    world.quiesce();
    EXPECT_EQ(world.active(), Side::primary);
    setPort(Side::primary, "the port is down");
    world.quiesce();
    world.expectOn(Side::secondary, identity);
}

// What the standby had of its own stays its own.
TEST_F(HaIdentity, IsNotWhatTheActiveInterfaceHadBefore)
{
    const Item own = item(Kind::address4, "10.5.0.2/24");
    world.kernel.give(Side::secondary, own);
    world.start();
    setPort(Side::primary, "the port is down");
    world.quiesce();
    setPort(Side::primary, "");
    world.quiesce();
    world.stop();
    world.start();
    world.quiesce();
    EXPECT_EQ(world.active(), Side::secondary);
    setPort(Side::secondary, "the port is down");
    world.quiesce();
    world.expectOn(Side::primary, identity);
    EXPECT_TRUE(has(world.kernel.side[Side::secondary].items, own));
}

TEST_F(HaIdentity, OfAnEndedDaemonIsNotGivenToAnInterfaceThatWasMadeSince)
{
    const Item other = item(Kind::address4, "10.0.0.2/24");
    world.start();
    world.quiesce();
    world.stop();
    world.kernel.unplug(Side::primary);
    world.kernel.plug(Side::primary);
    world.kernel.give(Side::primary, other);
    world.start();
    world.quiesce();
    world.expectOn(Side::primary, {other});
    for (const auto &one : identity)
        EXPECT_EQ(world.kernel.holders(one), 0) << one.key;
}

TEST_F(HaIdentity, IsNotGivenBackOnceItHasExpired)
{
    Item lease = item(Kind::address6, "fd00::2/64");
    lease.valid = 60;
    lease.seen = world.now;
    world.kernel.give(Side::primary, lease);
    world.start();
    world.quiesce();
    world.kill();
    world.kernel.take(Side::primary, lease); // at its time
    world.kernel.refused = {"ib0: add address fd00::2/64", "ib1: add address fd00::2/64"};
    world.start();
    world.quiesce();
    setPort(Side::primary, "the port is down");
    world.quiesce();
    world.expectOn(Side::secondary, identity);
    EXPECT_TRUE(world.pair->failing().empty());
}

// An administrator who moves it has to be told that it is not guarded there.
// When the machine starts, the port of the secondary may be the first that works.
TEST_F(HaIdentity, ComesToTheInterfaceForWhichItIsConfigured)
{
    const Item address = item(Kind::address4, "10.0.0.1/24");
    for (const bool withCarrier : {true, false}) {
        world = World();
        for (const Side side : {Side::primary, Side::secondary}) {
            world.kernel.side[side].carrier = false;
            world.kernel.port[side] = "the port is down";
        }
        world.start();
        setPort(Side::secondary, "");
        setCarrier(Side::secondary, true);
        world.quiesce();
        EXPECT_EQ(world.active(), Side::primary) << "there is nothing to move";
        if (withCarrier) {
            setPort(Side::primary, "");
            setCarrier(Side::primary, true);
        }
        world.kernel.give(Side::primary, address);
        world.look();
        world.quiesce();
        world.expectOn(withCarrier ? Side::primary : Side::secondary, {address});
        setPort(Side::primary, "the port is down");
        setCarrier(Side::primary, false);
        world.quiesce();
        world.expectOn(Side::secondary, {address});
    }
}

TEST_F(HaIdentity, WhoeverWantsToKnowIsToldOfEachMoveOnce)
{
    world.start();
    EXPECT_TRUE(world.notified.empty()) << "nothing has moved";
    setCarrier(Side::primary, false);
    ASSERT_EQ(world.notified.size(), 1u);
    EXPECT_EQ(world.notified[0].active, "ib1");
    EXPECT_EQ(world.notified[0].standby, "ib0");
    EXPECT_EQ(world.notified[0].cause, world.pair->moves().front().cause);
    EXPECT_EQ(world.notified[0].failed, 0u);
}

// The program is run again by the next daemon, since nobody knows how far it had come.
TEST_F(HaIdentity, AProgramThatWasKilledWithTheDaemonIsRunAgain)
{
    world.start();
    world.programEnds = false;
    setPort(Side::primary, "the port is down");
    ASSERT_EQ(world.notified.size(), 1u);
    world.kill();
    world.programEnds = true;
    world.start();
    world.quiesce();
    ASSERT_EQ(world.notified.size(), 2u);
    EXPECT_EQ(world.notified[1].active, "ib1");
    EXPECT_EQ(world.notified[1].cause, world.notified[0].cause);
    world.kill();
    world.start();
    world.quiesce();
    EXPECT_EQ(world.notified.size(), 2u) << "it has ended";
}

// What the next daemon has had to do to complete the move has not failed.
TEST_F(HaIdentity, CompletingAMoveIsNoFailure)
{
    world.start();
    setPort(Side::primary, "the port is down");
    Journal during = world.pair->journal(false);
    world.kill();
    giveAll(Side::primary);
    during.cause = "the port is down";
    world.saved = writeJournal(during);
    world.start();
    world.quiesce();
    world.expectOn(Side::secondary, identity);
    ASSERT_EQ(world.notified.size(), 2u);
    EXPECT_EQ(world.notified[1].failed, 0u);
}

TEST_F(HaIdentity, OnTheStandbyAloneIsATrouble)
{
    world.start();
    world.quiesce();
    EXPECT_TRUE(world.pair->standbyLacks().empty());
    takeAll(Side::primary);
    world.look();
    giveAll(Side::secondary);
    world.quiesce();
    ASSERT_EQ(world.pair->standbyLacks().size(), 1u);
    EXPECT_EQ(world.pair->standbyLacks().front(),
              "the addresses of ib1 would not be moved: ib0, which is active, has none");
}

TEST_F(HaIdentity, IsSwitchedByHandOnlyWhenTheFailoverBeforeIsDone)
{
    world.start();
    world.quiesce();
    (void)world.pair->handle(SwitchAsked{}, world.now, world.now); // its batch is not done
    ASSERT_TRUE(isMoving(world.pair->phase()));
    (void)world.pair->handle(SwitchAsked{}, world.now, world.now);
    EXPECT_EQ(world.active(), Side::secondary);
    EXPECT_EQ(world.pair->moveCount(), 1u);
}

} // namespace
} // namespace openipoib::ha
