// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a pair does when it is told which of its interfaces reaches anybody, and whom.
#include "ha_pair_fixture.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

class HaReach : public HaPair
{
  protected:
    // With failback after 5 s: the pair has moved to where the identities of its peers are.
    void followPeers()
    {
        world.policy.failback = 5s;
        world.policy.asks = true;
        world.start();
        world.tell(ReachChanged{Side::primary, "only standby ports answer by BFD", Met::standbys});
        world.quiesce();
        ASSERT_EQ(world.active(), Side::secondary);
    }
};

TEST_F(HaReach, AnInterfaceThatReachesNobodyIsLeft)
{
    world.start();
    world.tell(ReachChanged{Side::primary, "no target answers"});
    EXPECT_EQ(world.active(), Side::secondary);
    world.expectOn(Side::secondary, identity);
    EXPECT_EQ(world.pair->moves().back().cause, "ib0: no target answers");
    world.tell(ReachChanged{Side::primary, ""});
    EXPECT_TRUE(world.pair->health(Side::primary).good());
}

// Peers have been switched by hand, and would have to come back.
TEST_F(HaReach, AnInterfaceThatPeersHaveLeftIsGoneBackToOnlyAfterThem)
{
    followPeers();
    world.tell(ReachChanged{Side::primary, "", Met::standbys});
    world.pass(60s);
    world.quiesce();
    EXPECT_EQ(world.active(), Side::secondary);
    // A cable there is pulled, and plugged again.
    for (const Met met : {Met::nobody, Met::standbys}) {
        world.tell(ReachChanged{Side::primary, "", met});
        world.pass(60s);
        EXPECT_EQ(world.pair->moveCount(), 1u);
    }
    world.tell(ReachChanged{Side::secondary, "only standby ports answer by BFD", Met::standbys});
    world.quiesce();
    EXPECT_EQ(world.active(), Side::primary);
}

// Switches had lost each other, and the peer was where it is all the time.
TEST_F(HaReach, AnInterfaceThatReachesThePeerAgainIsGoneBackTo)
{
    followPeers();
    world.tell(ReachChanged{Side::primary, "", Met::somebody});
    world.pass(4s);
    EXPECT_EQ(world.active(), Side::secondary);
    world.pass(2s);
    EXPECT_EQ(world.active(), Side::primary);
}

// Neither after a start, nor while its peer is away: it is not known whether it reaches anybody.
TEST_F(HaReach, NothingFailsBackToAnInterfaceByWhichNobodyAnswers)
{
    world.policy.failback = 0s;
    world.policy.asks = true;
    world.start();
    cut(Side::primary);
    world.tell(ReachChanged{Side::secondary, "", Met::somebody});
    world.kill();
    mend(Side::primary);
    world.start();
    world.tell(ReachChanged{Side::secondary, "", Met::somebody});
    world.quiesce();
    EXPECT_EQ(world.active(), Side::secondary);
    world.tell(ReachChanged{Side::secondary, "", Met::nobody});
    world.quiesce();
    EXPECT_EQ(world.active(), Side::secondary);
    world.tell(ReachChanged{Side::primary, "", Met::standbys});
    EXPECT_EQ(world.active(), Side::primary);
}

// It is the targets that are gone, not the way to them.
TEST_F(HaReach, WhenNeitherReachesAnybodyNothingMoves)
{
    world.start();
    world.tell(ReachChanged{Side::secondary, "no target answers"});
    world.tell(ReachChanged{Side::primary, "no target answers"});
    world.quiesce();
    EXPECT_EQ(world.active(), Side::primary);
    EXPECT_TRUE(world.pair->moves().empty());
    // Nor do they keep it on a port that has failed.
    cut(Side::primary);
    EXPECT_EQ(world.active(), Side::secondary);
    world.expectOn(Side::secondary, identity);
    mend(Side::primary);
    EXPECT_EQ(world.active(), Side::secondary);
    world.tell(ReachChanged{Side::primary, ""});
    EXPECT_EQ(world.active(), Side::primary);
}

} // namespace
} // namespace openipoib::ha
