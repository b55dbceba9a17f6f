// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A pair in any order of events, and a daemon that is killed at every step: an
// address is never lost, and when events stop it is on exactly one interface.
#include "ha_world.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

const Items identity{item(Kind::address4, "10.0.0.1/24"), item(Kind::address4, "10.0.0.9/24"),
                     item(Kind::address6, "fd00::1/64"),  item(Kind::rule, "from all iif"),
                     item(Kind::route4, "default"),       item(Kind::route6, "fd01::/64"),
                     item(Kind::neighbour, "10.0.0.7")};

void furnish(World &world)
{
    for (const auto &one : identity)
        world.kernel.give(Side::primary, one);
}

// What happens between the kill and the restart
enum class Meanwhile { nothing, mended, otherFails };

// Whether the network stack says that the link is lost, in time or at all
enum class Link { said, silent };

bool killedDuringFailover(int steps, Meanwhile meanwhile, Link link)
{
    World world;
    furnish(world);
    world.start();
    world.stepsUntilKill = steps;
    world.kernel.port[Side::primary] = "the port is down";
    world.announcePort(Side::primary);
    if (link == Link::said)
        world.kernel.side[Side::primary].carrier = false;
    world.deliverAll();
    if (link == Link::said)
        world.announceLink(Side::primary);
    world.deliverAll();
    world.pass(50ms);
    world.deliverAll();
    const bool killed = !world.pair;
    world.stepsUntilKill = -1;
    for (const auto &one : identity)
        EXPECT_GE(world.kernel.holders(one), 1) << one.key << " after " << steps << " steps";
    if (meanwhile != Meanwhile::nothing) {
        world.kernel.port[Side::primary] = "";
        world.kernel.side[Side::primary].carrier = true;
    }
    if (meanwhile == Meanwhile::otherFails)
        world.kernel.port[Side::secondary] = "the port is down";
    world.start();
    world.quiesce();
    EXPECT_TRUE(world.kernel.good(world.active()));
    world.expectOn(world.active(), identity);
    world.expectStandIns();
    const std::string told = world.notified.empty() ? "ib0" : world.notified.back().active;
    EXPECT_EQ(told, world.active() == Side::primary ? "ib0" : "ib1")
        << "after " << steps << " steps";
    world.stop();
    world.expectNothingLeft();
    return killed;
}

TEST(HaCrash, KilledAfterEachStepOfAFailover)
{
    for (const auto link : {Link::said, Link::silent})
        for (const auto meanwhile :
             {Meanwhile::nothing, Meanwhile::mended, Meanwhile::otherFails}) {
            int steps = 0;
            while (killedDuringFailover(steps, meanwhile, link))
                ++steps;
            EXPECT_GE(steps, 20) << "the failover was shorter than it can be";
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
        const Side side = draw(2) ? Side::primary : Side::secondary;
        FakeKernel &kernel = world.kernel;
        switch (draw(12)) {
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
            world.repeat();
            break;
        case 7:
            world.stepsUntilKill = static_cast<int>(draw(20));
            break;
        case 8:
            world.pass(Time(draw(3'000'000)));
            break;
        case 9:
            if (!world.pair)
                world.start();
            break;
        default:
            world.deliver();
        }
    }
    void settle()
    {
        world.stepsUntilKill = -1;
        if (!world.pair)
            world.start();
        for (const Side side : {Side::primary, Side::secondary}) {
            if (!world.kernel.side[side].index)
                world.kernel.plug(side);
            world.kernel.setUp(side, true);
            world.kernel.side[side].carrier = true;
            world.announceLink(side);
        }
        world.kernel.port[draw(2) ? Side::primary : Side::secondary] = "";
        for (const Side side : {Side::primary, Side::secondary})
            world.announcePort(side);
        world.quiesce();
    }

    World world;

  private:
    unsigned draw(unsigned below)
    {
        return std::uniform_int_distribution<unsigned>(0, below - 1)(random_);
    }
    std::mt19937 random_;
};

TEST(HaChaos, AnyOrderOfEventsEndsWithTheIdentityOnOneGoodInterface)
{
    for (unsigned seed = 0; seed < 600; ++seed) {
        Chaos chaos(seed);
        for (int event = 0; event < 60; ++event)
            chaos.one();
        chaos.settle();
        ASSERT_TRUE(chaos.world.kernel.good(chaos.world.active())) << "seed " << seed;
        chaos.world.expectOn(chaos.world.active(), identity);
        chaos.world.expectStandIns();
        chaos.world.stop();
        chaos.world.expectNothingLeft();
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
}

} // namespace
} // namespace openipoib::ha
