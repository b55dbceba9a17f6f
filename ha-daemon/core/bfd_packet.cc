// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/bfd_packet.hpp"

namespace openipoib::ha
{

namespace
{

constexpr unsigned version = 1;
constexpr std::uint8_t pollFlag = 0x20;
constexpr std::uint8_t finalFlag = 0x10;
constexpr std::uint8_t authenticatedFlag = 0x04;
constexpr std::uint8_t demandFlag = 0x02;
constexpr std::uint8_t multipointFlag = 0x01;

void put(std::array<std::uint8_t, bfdPacketBytes> &out, std::size_t at, std::uint32_t value)
{
    for (std::size_t i = 0; i < 4; ++i)
        out[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

std::uint32_t get(io::View in, std::size_t at)
{
    return static_cast<std::uint32_t>(io::read<4>(in, at));
}

} // namespace

const char *text(BfdState state)
{
    switch (state) {
    case BfdState::adminDown:
        return "AdminDown";
    case BfdState::down:
        return "Down";
    case BfdState::init:
        return "Init";
    case BfdState::up:
        return "Up";
    }
    return "?";
}

std::expected<BfdPacket, BfdFault> readBfdPacket(io::View payload)
{
    if (payload.size() < bfdPacketBytes || payload[3] < bfdPacketBytes ||
        payload[3] > payload.size())
        return std::unexpected(BfdFault::length);
    if (payload[0] >> 5 != version)
        return std::unexpected(BfdFault::version);
    const std::uint8_t flags = payload[1];
    // Nothing is authenticated here, and nobody polls and answers a poll at once.
    if ((flags & (authenticatedFlag | multipointFlag)) ||
        (flags & (pollFlag | finalFlag)) == (pollFlag | finalFlag))
        return std::unexpected(BfdFault::flags);
    if (!payload[2])
        return std::unexpected(BfdFault::multiplier);
    const BfdPacket packet{.diag = static_cast<BfdDiag>(payload[0] & 0x1F),
                           .state = static_cast<BfdState>(flags >> 6),
                           .poll = (flags & pollFlag) != 0,
                           .final = (flags & finalFlag) != 0,
                           .demand = (flags & demandFlag) != 0,
                           .multiplier = payload[2],
                           .mine = get(payload, 4),
                           .yours = get(payload, 8),
                           .minTx = get(payload, 12),
                           .minRx = get(payload, 16)};
    // Who knows nobody yet cannot be further than down.
    if (!packet.mine ||
        (!packet.yours && packet.state != BfdState::down && packet.state != BfdState::adminDown))
        return std::unexpected(BfdFault::discriminator);
    return packet;
}

std::array<std::uint8_t, bfdPacketBytes> writeBfdPacket(const BfdPacket &packet)
{
    std::array<std::uint8_t, bfdPacketBytes> out{};
    out[0] = static_cast<std::uint8_t>(version << 5 | static_cast<unsigned>(packet.diag));
    out[1] = static_cast<std::uint8_t>(
        static_cast<unsigned>(packet.state) << 6 | (packet.poll ? pollFlag : 0U) |
        (packet.final ? finalFlag : 0U) | (packet.demand ? demandFlag : 0U));
    out[2] = packet.multiplier;
    out[3] = bfdPacketBytes;
    put(out, 4, packet.mine);
    put(out, 8, packet.yours);
    put(out, 12, packet.minTx);
    put(out, 16, packet.minRx);
    return out;
}

} // namespace openipoib::ha
