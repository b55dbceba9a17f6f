// SPDX-License-Identifier: GPL-2.0-only OR MIT
// BFD sessions of hosts whose first ports are on one fabric and whose second ones are on another,
// without a cable in between: a port meets only its like, and hosts have to move together.
#include "ha_sessions_world.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

constexpr Time moveTakes = 40ms;

class HaSessionsOnTwoFabrics : public SessionsWorld
{
  protected:
    std::array<Side, 2> active{};
    std::array<std::optional<Time>, 2> moveAt{};
    std::array<unsigned, 2> moves{};

    void SetUp() override
    {
        restart();
        settle();
    }
    // Other discriminators
    void restart()
    {
        hosts.clear();
        wire.clear();
        SessionsWorld::SetUp();
        active = {};
        moveAt = {};
        moves = {};
        loseOn({});
    }
    void settle()
    {
        run(5s);
        for (auto &one : hosts)
            for (const auto &session : one.sessions.all())
                ASSERT_EQ(session.session.up(),
                          static_cast<std::size_t>(session.side) == session.peer);
        EXPECT_TRUE(nobodyEver());
    }
    void loseOn(std::optional<Side> fabric)
    {
        loses = [fabric](const SessionsPacket &packet) {
            return packet.by != packet.to || packet.by == fabric;
        };
    }
    void setActive(unsigned number, Side side)
    {
        active[number] = side;
        hosts[number].sessions.setActive(side);
    }
    // As a pair does it: away from where it is cut off
    void runPairs(Time time)
    {
        for (const Time end = now + time; now < end; run(1ms))
            for (const unsigned number : {0U, 1U}) {
                const Side here = active[number];
                const auto &sessions = hosts[number].sessions;
                auto &at = moveAt[number];
                if (!at && sessions.isCutOff(here) && !sessions.isCutOff(other(here)))
                    at = now + moveTakes;
                if (!at || now < *at)
                    continue;
                at.reset();
                ++moves[number];
                setActive(number, other(here));
            }
    }
    // A fault of the first fabric has moved both, and is over.
    void moveAwayAndMend()
    {
        loseOn(Side::primary);
        runPairs(1s);
        ASSERT_TRUE(allOn(Side::secondary));
        loseOn({});
        runPairs(5s);
    }
    [[nodiscard]] bool allOn(Side side) const { return active[0] == side && active[1] == side; }
};

TEST_F(HaSessionsOnTwoFabrics, ASilentFaultMovesBothHosts)
{
    for (unsigned round = 0; round < 20; ++round) {
        restart();
        settle();
        run(Time(random() % 20000));
        const Time from = now;
        loseOn(Side::primary);
        runPairs(1s);
        for (const unsigned number : {0U, 1U}) {
            ASSERT_TRUE(ever(number, Side::primary)) << round;
            EXPECT_FALSE(ever(number, Side::secondary)) << round;
            EXPECT_LE(took(number, Side::primary, from), 90ms);
            EXPECT_GE(took(number, Side::primary, from), 40ms);
        }
        EXPECT_TRUE(allOn(Side::secondary));
        EXPECT_EQ(moves, (std::array{1U, 1U}));
    }
}

TEST_F(HaSessionsOnTwoFabrics, WhoHasMovedByHandIsFollowed)
{
    for (unsigned round = 0; round < 20; ++round) {
        restart();
        settle();
        run(Time(random() % 20000));
        setActive(round % 2, Side::secondary);
        runPairs(2s);
        EXPECT_TRUE(allOn(Side::secondary)) << round;
        EXPECT_EQ(moves[round % 2], 0U) << round;
        EXPECT_EQ(moves[1 - round % 2], 1U) << round;
    }
}

TEST_F(HaSessionsOnTwoFabrics, HostsThatStartOnDifferentOnesMeet)
{
    for (unsigned round = 0; round < 20; ++round) {
        restart();
        setActive(round % 2, Side::secondary);
        runPairs(12s);
        EXPECT_EQ(active[0], active[1]) << round;
        EXPECT_EQ(moves[0] + moves[1], 1U) << round;
    }
}

TEST_F(HaSessionsOnTwoFabrics, TheFirstOneCountsAsGoodOnceItIsMended)
{
    moveAwayAndMend();
    EXPECT_FALSE(hosts[0].sessions.isCutOff(Side::primary));
    EXPECT_FALSE(hosts[1].sessions.isCutOff(Side::primary));
    EXPECT_TRUE(allOn(Side::secondary));
    moves = {};
    setActive(0, Side::primary); // failback
    runPairs(2s);
    EXPECT_TRUE(allOn(Side::primary));
    EXPECT_EQ(moves, (std::array{0U, 1U}));
}

TEST_F(HaSessionsOnTwoFabrics, OnePacketOfTheOtherFabricIsNoMeeting)
{
    moveAwayAndMend();
    const BfdPacket down{.mine = 77, .minTx = 1000000, .minRx = 1000000};
    hosts[0].sessions.receive(Side::primary, address(1, Side::secondary), 255, writeBfdPacket(down),
                              now);
    hosts[0].everCutOff = {};
    runPairs(5s);
    EXPECT_FALSE(ever(0, Side::primary));
}

TEST_F(HaSessionsOnTwoFabrics, APeerWhoseSecondPortComesFirstIsWaitedFor)
{
    hosts[1].dead = true;
    run(3s);
    hosts[1] = host(1);
    hosts[1].sessions.watch({{0, 2}}, now);
    run(30s);
    EXPECT_TRUE(nobodyEver());
    hosts[1].sessions.watch({{1, 2}}, now);
    run(10s);
    EXPECT_TRUE(nobodyEver());
}

TEST_F(HaSessionsOnTwoFabrics, APeerThatDiesMovesNobody)
{
    for (unsigned round = 0; round < 20; ++round) {
        restart();
        settle();
        run(Time(random() % 20000));
        hosts[1].dead = true;
        run(3s);
        hosts[1] = host(1);
        run(5s);
        ASSERT_TRUE(nobodyEver()) << round;
    }
}

} // namespace
} // namespace openipoib::ha
