// SPDX-License-Identifier: GPL-2.0-only OR MIT
// With whom the standby exchanges packets, and when.
#include "ha-daemon/core/greeter.hpp"
#include "ha_world.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

const Item peer = item(Kind::peer, "10.0.0.2");
const Item byHand = item(Kind::neighbour, "10.0.0.7");

class HaGreeter : public testing::Test
{
  protected:
    World world;
    Greeter greeter;

    void SetUp() override
    {
        world.kernel.give(Side::primary, item(Kind::address4, "10.0.0.1/24"));
        world.kernel.give(Side::primary, peer);
        world.start();
        world.quiesce();
    }
    // Whom the interface of this side should greet
    [[nodiscard]] std::vector<Greeting> by(Side side, const Items &peers) const
    {
        std::vector<Greeting> out;
        for (const auto &one : peers)
            out.push_back({world.kernel.side[side].index, one});
        return out;
    }
    std::vector<Greeting> due() { return greeter.due(*world.pair, world.now); }
    void set(Side side, bool works)
    {
        world.kernel.port[side] = works ? "" : "the port is down";
        world.kernel.side[side].carrier = works;
        world.announcePort(side);
        world.announceLink(side);
        world.deliverAll();
    }
};

TEST_F(HaGreeter, EveryPeerNowAndThen)
{
    EXPECT_EQ(due(), by(Side::secondary, {peer}));
    world.now += 4s;
    EXPECT_EQ(due(), by(Side::secondary, {}));
    world.now += 1s;
    EXPECT_EQ(due(), by(Side::secondary, {peer}));
}

TEST_F(HaGreeter, ANewPeerAtOnce)
{
    (void)due();
    world.kernel.give(Side::primary, byHand);
    world.look();
    EXPECT_EQ(due(), by(Side::secondary, {byHand}));
    Item moved = peer;
    moved.body.push_back(1);
    world.kernel.take(Side::primary, peer);
    world.kernel.give(Side::primary, moved);
    world.look();
    EXPECT_EQ(due(), by(Side::secondary, {moved}));
}

TEST_F(HaGreeter, NobodyByAStandbyThatHasFailedAndAllWhenItWorksAgain)
{
    (void)due();
    set(Side::secondary, false);
    world.now += 10s;
    EXPECT_EQ(due(), by(Side::secondary, {}));
    set(Side::secondary, true);
    EXPECT_EQ(due(), by(Side::secondary, {peer}));
    EXPECT_EQ(due(), by(Side::secondary, {}));
    // Nobody has asked meanwhile.
    world.now += 100ms;
    set(Side::secondary, false);
    set(Side::secondary, true);
    EXPECT_EQ(due(), by(Side::secondary, {peer}));
}

TEST_F(HaGreeter, NotMoreThanTenTimesASecondByAPortThatComesAndGoes)
{
    std::size_t sent = 0;
    for (const Time end = world.now + 1s; world.now < end; world.now += 1ms) {
        set(Side::secondary, false);
        sent += due().size();
        set(Side::secondary, true);
        sent += due().size();
    }
    EXPECT_GE(sent, 5u);
    EXPECT_LE(sent, 10u);
}

TEST_F(HaGreeter, AfterAFailoverByTheOther)
{
    (void)due();
    set(Side::primary, false);
    EXPECT_EQ(world.active(), Side::secondary);
    EXPECT_EQ(due(), by(Side::primary, {}));
    set(Side::primary, true);
    EXPECT_EQ(due(), by(Side::primary, {peer}));
}

} // namespace
} // namespace openipoib::ha
