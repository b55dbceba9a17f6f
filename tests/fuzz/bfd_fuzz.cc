// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Any datagrams for the BFD sessions of a pair, for libFuzzer: as they are, or right but for what
// they say; and time that passes. What is sent is right, and of two interfaces one is cut off
// at most.
#include "ha-daemon/core/session_report.hpp"
#include "input.hpp"
#include "promise.hpp"

#include <algorithm>

namespace
{

using namespace openipoib;
using namespace openipoib::ha;

constexpr std::size_t peers = 2;
constexpr std::size_t most = 40; // octets of a datagram
constexpr int hops = 255;

io::Bytes address(unsigned number)
{
    io::Bytes out(16, 0);
    out[0] = 0xFE;
    out[1] = 0x80;
    out[15] = static_cast<std::uint8_t>(number);
    return out;
}

class World
{
  public:
    World() { sessions_.watch({{1, 2}}, now_); }

    void step(Input &input)
    {
        const std::uint8_t what = input.byte();
        const Side side = (what & 16) != 0 ? Side::secondary : Side::primary;
        switch (what & 7) {
        case 0:
            sessions_.receive(side, address(what >> 5 & 3), (what & 128) != 0 ? 1 : hops,
                              input.bytes(input.byte() % most), now_);
            break;
        case 1:
            sessions_.setActive(side);
            break;
        case 2:
            sessions_.watch({{(what & 32) != 0 ? 0 : 1, (what & 64) != 0 ? 3 : 2}}, now_);
            break;
        case 3:
            pass(std::chrono::milliseconds(input.half()));
            break;
        case 4:
            pass(std::chrono::milliseconds(input.byte() % 32));
            break;
        default:
            say(side, what >> 5 & 1, input);
        }
    }
    void end()
    {
        sessions_.farewell([](const auto &, const BfdPacket &packet) { checkPacket(packet); });
    }

  private:
    static void checkPacket(const BfdPacket &packet)
    {
        const auto read = readBfdPacket(writeBfdPacket(packet));
        promise(read && *read == packet, "packets are right");
    }

    // A packet of a peer that knows the session, most of the time
    void say(Side side, std::size_t peer, Input &input)
    {
        const std::uint8_t kind = input.byte();
        const auto one = std::ranges::find_if(sessions_.all(), [=](const Sessions::One &each) {
            return each.side == side && each.peer == peer;
        });
        const BfdPacket packet{.diag =
                                   (kind & 32) != 0 ? BfdDiag::concatenatedPathDown : BfdDiag::none,
                               .state = static_cast<BfdState>(kind & 3),
                               .poll = (kind & 4) != 0,
                               .final = (kind & 12) == 8,
                               .demand = (kind & 128) != 0,
                               .multiplier = static_cast<std::uint8_t>(1 + input.byte() % 4),
                               .mine = 77U + (kind >> 6 & 1),
                               .yours = (kind & 16) != 0 ? 0 : one->session.mine(),
                               .minTx = input.half() * 100U,
                               .minRx = input.byte() * 1000U};
        sessions_.receive(side, address(static_cast<unsigned>(peer)), hops, writeBfdPacket(packet),
                          now_);
    }

    void pass(Time time)
    {
        now_ += time;
        unsigned sent = 0;
        sessions_.advance(now_, [&](const Sessions::One &, const BfdPacket &packet) {
            ++sent;
            checkPacket(packet);
        });
        promise(sent <= 2 * peers, "a packet a session");
        const auto next = sessions_.next();
        promise(!next || *next > now_, "nothing that is due is left");
        promise(!sessions_.isCutOff(Side::primary) || !sessions_.isCutOff(Side::secondary),
                "one of both may be used");
        const SessionsReport report = reportOf(sessions_);
        promise(report.count == 2 * peers && !isNews(report, report), "a report of all");
        promise(whyCutOff(report, Side::primary).empty() != report.cutOff[Side::primary],
                "a reason");
    }

    std::uint32_t random_ = 0;
    Time now_{std::chrono::hours(1)};
    Sessions sessions_{{.peers = {address(0), address(1)},
                        .times = {.every = std::chrono::milliseconds(20), .multiplier = 3}},
                       [this] { return random_ += 0x9E3779B9; }};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    Input input({data, size});
    World world;
    while (!input.atEnd())
        world.step(input);
    world.end();
    return 0;
}
