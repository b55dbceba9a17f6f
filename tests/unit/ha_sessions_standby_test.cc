// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What is known of an interface that stands by: whether failback may go there.
#include "ha_sessions_world.hpp"

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

class HaSessionsStandby : public SessionsWorld
{
  protected:
    // All that @lost says is lost from now on.
    void lose(std::function<bool(const SessionsPacket &)> lost) { loses = std::move(lost); }
    void restart(unsigned of)
    {
        count = of;
        hosts.clear();
        wire.clear();
        loses = [](const SessionsPacket &) { return false; };
        SetUp();
    }
    // How often it stops being cut off within @time
    unsigned relapses(unsigned number, Side side, Time time)
    {
        unsigned ends = 0;
        bool was = hosts[number].sessions.isCutOff(side);
        for (const Time end = now + time; now < end; run(10ms))
            ends += std::exchange(was, hosts[number].sessions.isCutOff(side)) &&
                    !hosts[number].sessions.isCutOff(side);
        return ends;
    }
};

TEST_F(HaSessionsStandby, OneThatWasLeftWithoutASessionStaysCutOff)
{
    loseAt(0, Side::primary, true, true);
    run(7s);
    ASSERT_TRUE(hosts[0].sessions.isCutOff(Side::primary));
    hosts[0].sessions.setActive(Side::secondary);
    EXPECT_EQ(relapses(0, Side::primary, 90s), 0U);
    EXPECT_TRUE(hosts[0].sessions.isCutOff(Side::primary));
    lose([](const SessionsPacket &) { return false; });
    run(3s);
    EXPECT_FALSE(hosts[0].sessions.isCutOff(Side::primary)) << "it is mended";
}

// The primaries of hosts 0 and 1 are on one half, the rest is on the other one, for ever.
TEST_F(HaSessionsStandby, OneThatIsPartedStaysCutOff)
{
    times.every = 1s;
    restart(3);
    run(60s);
    const auto half = [](unsigned host, Side side) { return host < 2 && side == Side::primary; };
    lose([=](const SessionsPacket &packet) {
        return half(packet.from, packet.by) != half(packet.toHost, packet.to);
    });
    for (unsigned number = 0; number < 3; ++number)
        hosts[number].sessions.setActive(Side::secondary);
    run(60s);
    ASSERT_TRUE(hosts[0].sessions.isCutOff(Side::primary));
    EXPECT_EQ(relapses(0, Side::primary, 20min), 0U);
    EXPECT_TRUE(hosts[0].sessions.isCutOff(Side::primary));
}

// What was lost with a host that has died says nothing of who is to move.
TEST_F(HaSessionsStandby, OneOfTwoMovesAlsoAfterAThirdHasDied)
{
    for (unsigned round = 0; round < 50; ++round) {
        restart(3);
        hosts[1].sessions.setActive(Side::secondary);
        run(5s);
        hosts[2].dead = true;
        run(2s);
        lose([](const SessionsPacket &packet) { return packet.by != packet.to; });
        std::array active{Side::primary, Side::secondary};
        unsigned moves = 0;
        for (const Time end = now + 2s; now < end; run(1ms))
            for (const unsigned number : {0U, 1U})
                if (hosts[number].sessions.isCutOff(active[number])) {
                    active[number] = other(active[number]);
                    hosts[number].sessions.setActive(active[number]);
                    ++moves;
                }
        EXPECT_EQ(moves, 1U) << round;
    }
}

} // namespace
} // namespace openipoib::ha
