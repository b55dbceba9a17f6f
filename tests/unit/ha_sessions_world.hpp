// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The sessions of hosts with two ports each, over links that fail in all ways.
#pragma once

#include "ha-daemon/core/session_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace openipoib::ha
{

inline constexpr Time every = std::chrono::milliseconds(20);
inline constexpr Time latency = std::chrono::microseconds(200);

inline io::Bytes address(unsigned host, Side side)
{
    io::Bytes out(16);
    out[0] = 0xFE;
    out[1] = 0x80;
    out[14] = static_cast<std::uint8_t>(host);
    out[15] = static_cast<std::uint8_t>(side);
    return out;
}

struct SessionsPacket {
    unsigned from = 0;
    unsigned toHost = 0;
    Side by = Side::primary;
    Side to = Side::primary;
    std::array<std::uint8_t, bfdPacketBytes> bytes{};
};

// Two hosts or more; each is at rest, runs, or is stopped for a while.
class SessionsWorld : public testing::Test
{
  protected:
    struct Host {
        Sessions sessions;
        std::vector<SessionsPacket> waiting; // it has not read them yet
        Time stoppedUntil{};
        bool dead = false;
        std::array<bool, 2> everCutOff{};
        std::array<Time, 2> cutOffAt{};
    };

    std::mt19937 random{7};
    unsigned count = 2; // of hosts
    SessionTimes times{.every = every, .multiplier = 3};
    std::vector<Host> hosts;
    std::multimap<Time, SessionsPacket> wire;
    Time now{std::chrono::seconds(10)};
    // Whether a packet of this host by this side to that side is lost
    std::function<bool(const SessionsPacket &)> loses = [](const SessionsPacket &) {
        return false;
    };

    Host host(unsigned number)
    {
        SessionPolicy policy{.peers = {}, .times = times};
        for (unsigned peer = 0; peer < count; ++peer)
            for (const Side side : {Side::primary, Side::secondary})
                if (peer != number)
                    policy.peers.push_back(address(peer, side));
        Host out{.sessions = Sessions(policy, [this] { return random(); }), .waiting = {}};
        out.sessions.watch({{1, 2}}, now);
        return out;
    }
    void SetUp() override
    {
        for (unsigned number = 0; number < count; ++number)
            hosts.push_back(host(number));
    }

    void send(unsigned from, const Sessions::One &one, const BfdPacket &packet)
    {
        const auto peer = static_cast<unsigned>(one.peer / 2);
        const SessionsPacket out{from, peer + (peer >= from), one.side,
                                 static_cast<Side>(one.peer % 2), writeBfdPacket(packet)};
        if (!loses(out))
            wire.emplace(now + latency + Time(random() % 300), out);
    }
    void serve(unsigned number)
    {
        Host &one = hosts[number];
        for (const auto &packet : std::exchange(one.waiting, {}))
            one.sessions.receive(packet.to, address(packet.from, packet.by), 255, packet.bytes,
                                 now);
        one.sessions.advance(now, [&](const Sessions::One &session, const BfdPacket &packet) {
            send(number, session, packet);
        });
        for (const Side side : {Side::primary, Side::secondary}) {
            const auto at = static_cast<std::size_t>(side);
            if (one.sessions.isCutOff(side) && !one.everCutOff[at])
                one.cutOffAt[at] = now;
            one.everCutOff[at] = one.everCutOff[at] || one.sessions.isCutOff(side);
        }
    }
    void run(Time time)
    {
        const Time end = now + time;
        for (;;) {
            Time next = end;
            if (!wire.empty())
                next = std::min(next, wire.begin()->first);
            for (const auto &one : hosts)
                if (const auto due = one.sessions.next(); due && !one.dead)
                    next = std::min(next, std::max(*due, one.stoppedUntil));
            now = std::max(now, next);
            if (now >= end)
                break;
            std::vector<bool> called(hosts.size());
            while (!wire.empty() && wire.begin()->first <= now) {
                const SessionsPacket packet = wire.begin()->second;
                wire.erase(wire.begin());
                hosts[packet.toHost].waiting.push_back(packet);
                called[packet.toHost] = true;
            }
            for (unsigned number = 0; number < hosts.size(); ++number) {
                Host &one = hosts[number];
                const auto due = one.sessions.next();
                if (!one.dead && now >= one.stoppedUntil &&
                    (called[number] || (due && now >= *due)))
                    serve(number);
            }
        }
        now = end;
    }
    // As at the start of the test: all is well, and nothing was ever wrong.
    void settle()
    {
        run(std::chrono::seconds(5));
        for (auto &one : hosts) {
            for (const auto &session : one.sessions.all())
                ASSERT_TRUE(session.session.up());
            one.everCutOff = {};
        }
    }
    [[nodiscard]] bool ever(unsigned number, Side side) const
    {
        return hosts[number].everCutOff[static_cast<std::size_t>(side)];
    }
    [[nodiscard]] bool nobodyEver() const
    {
        return !ever(0, Side::primary) && !ever(0, Side::secondary) && !ever(1, Side::primary) &&
               !ever(1, Side::secondary);
    }
    [[nodiscard]] Time took(unsigned number, Side side, Time from) const
    {
        return hosts[number].cutOffAt[static_cast<std::size_t>(side)] - from;
    }
    void loseAt(unsigned number, Side side, bool out, bool in)
    {
        loses = [=](const SessionsPacket &packet) {
            return (packet.from == number && out && packet.by == side) ||
                   (packet.toHost == number && in && packet.to == side);
        };
    }
};

} // namespace openipoib::ha
