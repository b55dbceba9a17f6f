// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A peer that sends anything, for libFuzzer: raw frames, frames that are right but
// for what they say, and time that passes. What comes out is right.
#include "ib/icrc.hpp"
#include "input.hpp"
#include "link/station.hpp"
#include "promise.hpp"

namespace
{

using namespace openipoib;
using namespace openipoib::fabric;

constexpr std::uint32_t peerSession = 7;
constexpr std::size_t most = 512; // octets of a payload

// A frame with the sessions and the check that its receiver expects, most of the time.
io::Bytes rightFrame(Input &input, const Station &station)
{
    const std::uint8_t kind = input.byte();
    link::Header header{.type = static_cast<link::FrameType>(kind & 3),
                        .flags = static_cast<std::uint8_t>(kind >> 2 & 1),
                        .count = input.byte(),
                        .session = peerSession + (kind >> 3 & 1),
                        .peer = (kind & 16) != 0 ? 0 : station.session(),
                        .seq = input.byte(),
                        .ack = input.byte(),
                        .gap = input.byte(),
                        .window = input.byte()};
    if ((kind & 32) != 0)
        header.seq = ~header.seq; // around 2^32
    io::Bytes payload;
    if (header.type == link::FrameType::hello && (kind & 64) != 0)
        link::Hello{.maxFrame = input.half()}.appendTo(payload);
    else
        payload = input.bytes(input.half() % most);
    return header.frame(payload);
}

void checkOutput(Station &station)
{
    for (const auto &out : station.takeOutput()) {
        const auto header = link::Header::parse(*out.frame);
        promise(header && header->length == out.frame->size(), "frames are valid");
        promise(header->session != 0, "a session");
    }
}

// Packets, as many at most.
void takeInput(Station &station, unsigned count, Time now)
{
    for (; count > 0; --count) {
        const auto packet = station.takePacket(now);
        if (!packet)
            return;
        promise(packet->size() >= 24 && packet->size() % 4 == 0, "whole packets");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    Input input({data, size});
    std::uint32_t next = 100;
    unsigned mostPackets = 1000; // that are taken after each event
    Station station({.guid = 1, .maxFrame = 4096}, [&next] { return next++; });
    Time now{std::chrono::hours(1)};
    station.enable(now);
    while (!input.atEnd()) {
        const std::uint8_t what = input.byte();
        const io::MacAddress source{2, 0, 0, 0, 0, static_cast<std::uint8_t>(what >> 7)};
        switch (what % 6) {
        case 0:
            station.onFrame(source, input.bytes(input.half() % most), now);
            break;
        case 1:
        case 2:
            station.onFrame(source, rightFrame(input, station), now);
            break;
        case 3:
            now += std::chrono::milliseconds(input.byte() * 4);
            station.onTime(now);
            station.onTime(now); // of a link that has just begun again
            promise(station.deadline() > now, "a deadline to come");
            break;
        case 4:
            mostPackets = (what & 64) != 0 ? 1000U : what >> 3 & 3U;
            break;
        default:
            if (station.canSend())
                station.send(io::Bytes(24), 1, now);
        }
        takeInput(station, mostPackets, now);
        station.onBatchEnd(now);
        checkOutput(station);
    }
    return 0;
}
