// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Three interfaces in any order of events, and a daemon that is killed before anything that it
// does: an address is never lost, and when events stop it is on exactly one interface.
#include "ha_roster_world.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

const Items identity{item(Kind::address4, "10.0.0.1/24"), item(Kind::address4, "10.0.0.9/24"),
                     item(Kind::address6, "fd00::1/64"), item(Kind::rule, "from all iif"),
                     item(Kind::route4, "default")};

void furnish(RosterWorld &world)
{
    for (const auto &one : identity)
        world.kernel.give(ib0, one);
}

// An identity that is nowhere is known at least.
void expectNotLost(const RosterWorld &world)
{
    const auto journal = readJournal(world.saved);
    ASSERT_TRUE(journal);
    for (const auto &one : identity)
        EXPECT_TRUE(world.kernel.holders(one) ||
                    std::ranges::any_of(
                        journal->lanes,
                        [&](const Journal::Entry &entry) { return has(entry.identity, one); }))
            << one.key;
}

// What happens between the kill and the restart
enum class Meanwhile { nothing, firstMended, thirdFails };

void revive(RosterWorld &world, Meanwhile meanwhile)
{
    if (world.roster)
        return;
    expectNotLost(world);
    if (meanwhile == Meanwhile::firstMended)
        world.mend(ib0);
    if (meanwhile == Meanwhile::thirdFails)
        world.fail(ib2);
    world.start();
    world.deliverAll();
}

// Two failovers, each with another interface that stands by after it, and two that come back.
// False: the daemon has done all of it before it could be killed.
bool killedAfter(int actions, Meanwhile meanwhile, std::optional<Time> failback)
{
    RosterWorld world;
    world.policy.failback = failback;
    furnish(world);
    world.start();
    world.quiesce();
    world.actionsUntilKill = actions;
    bool killed = false;
    const auto happens = [&](auto change, Side side) {
        (world.*change)(side);
        world.deliverAll();
        world.pass(7s);
        killed = killed || !world.roster;
        revive(world, meanwhile);
    };
    happens(&RosterWorld::fail, ib0);
    happens(&RosterWorld::fail, ib1);
    happens(&RosterWorld::mend, ib0);
    happens(&RosterWorld::mend, ib1);
    world.actionsUntilKill = -1;
    world.quiesce();
    EXPECT_TRUE(world.kernel.good(world.active()));
    EXPECT_TRUE(world.kernel.good(world.standby()));
    world.expectOn(world.active(), identity);
    world.expectPlaces();
    if (failback) {
        EXPECT_EQ(world.active(), ib0);
        EXPECT_EQ(world.standby(), ib1);
    }
    world.stop();
    world.kernel.expectNothingLeft();
    return killed;
}

TEST(HaRosterCrash, KilledBeforeEverythingThatTwoFailoversTake)
{
    for (const auto failback : {std::optional<Time>(), std::optional<Time>(1s)})
        for (const auto meanwhile :
             {Meanwhile::nothing, Meanwhile::firstMended, Meanwhile::thirdFails}) {
            int actions = 0;
            while (killedAfter(actions, meanwhile, failback)) {
                ASSERT_FALSE(testing::Test::HasFailure()) << "after " << actions;
                ++actions;
            }
            EXPECT_GE(actions, 60) << "the failovers were shorter than they can be";
        }
}

class Chaos
{
  public:
    explicit Chaos(unsigned seed) : random_(seed)
    {
        furnish(world);
        if (draw(2))
            world.policy.failback = Time(draw(3) * 1'000'000);
        world.start();
    }

    void one()
    {
        const Side side = sideAt(draw(3));
        FakeKernel &kernel = world.kernel;
        switch (draw(13)) {
        case 0:
        case 1:
            kernel.port[side] = kernel.port[side].empty() ? "the port is down" : "";
            world.announcePort(side);
            break;
        case 2:
            kernel.side[side].carrier = kernel.side[side].index && !kernel.side[side].carrier;
            world.announceLink(side);
            break;
        case 3:
            kernel.setUp(side, !kernel.side[side].up);
            world.announceLink(side);
            break;
        case 4:
            if (kernel.side[side].index)
                kernel.unplug(side);
            else
                kernel.plug(side);
            world.announceLink(side);
            break;
        case 5:
            world.lose();
            break;
        case 6:
            world.reach[side] = world.reach[side].empty() ? "no target answers" : "";
            break;
        case 7:
            world.actionsUntilKill = static_cast<int>(draw(30));
            break;
        case 8:
        case 9:
            world.pass(Time(draw(20'000'000)));
            break;
        case 10:
            if (!world.roster)
                world.start();
            break;
        default:
            world.deliver();
        }
    }
    void settle()
    {
        world.actionsUntilKill = -1;
        if (!world.roster)
            world.start();
        const Side good = sideAt(draw(3));
        for (const Side side : {ib0, ib1, ib2}) {
            if (!world.kernel.side[side].index)
                world.kernel.plug(side);
            world.kernel.setUp(side, true);
            world.kernel.side[side].carrier = true;
            world.announceLink(side);
            if (side == good)
                world.kernel.port[side] = world.reach[side] = "";
            world.announcePort(side);
        }
        world.quiesce(15min);
    }

    RosterWorld world;

  private:
    unsigned draw(unsigned below)
    {
        return std::uniform_int_distribution<unsigned>(0, below - 1)(random_);
    }
    std::mt19937 random_;
};

TEST(HaRosterChaos, AnyOrderOfEventsEndsWithTheIdentityOnOneGoodInterface)
{
    for (unsigned seed = 0; seed < 600; ++seed) {
        Chaos chaos(seed);
        for (int event = 0; event < 60; ++event)
            chaos.one();
        chaos.settle();
        const RosterWorld &world = chaos.world;
        ASSERT_TRUE(world.kernel.good(world.active())) << "seed " << seed;
        ASSERT_EQ(world.reach[world.active()], "") << "seed " << seed;
        world.expectOn(world.active(), identity);
        world.expectPlaces();
        chaos.world.stop();
        world.kernel.expectNothingLeft();
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
}

} // namespace
} // namespace openipoib::ha
