// SPDX-License-Identifier: GPL-2.0-only OR MIT
// BFD Control packets (RFC 5880, section 4.1), without the authentication section.
#pragma once

#include "io/bytes.hpp"

#include <array>
#include <expected>

namespace openipoib::ha
{

enum class BfdState : std::uint8_t { adminDown, down, init, up };

// Why a session went down last; while it is up, what lies beyond this end of it.
enum class BfdDiag : std::uint8_t {
    none = 0,
    timeExpired = 1,
    neighborDown = 3,
    concatenatedPathDown = 6,
    administrative = 7,
};

[[nodiscard]] const char *text(BfdState state);

inline constexpr std::size_t bfdPacketBytes = 24;

struct BfdPacket {
    BfdDiag diag = BfdDiag::none; // of a peer: any number of five bits
    BfdState state = BfdState::down;
    bool poll = false;
    bool final = false;
    bool demand = false;
    std::uint8_t multiplier = 3;
    std::uint32_t mine = 0;  // discriminator of the sender
    std::uint32_t yours = 0; // of the receiver; 0: not known
    std::uint32_t minTx = 0; // microseconds
    std::uint32_t minRx = 0;

    bool operator==(const BfdPacket &) const = default;
};

// What is wrong with a packet
enum class BfdFault : std::uint8_t { length, version, flags, multiplier, discriminator };

// As section 6.8.6 has it, but for what takes a session to tell. The payload of the datagram
// may be longer than the packet says.
[[nodiscard]] std::expected<BfdPacket, BfdFault> readBfdPacket(io::View payload);
[[nodiscard]] std::array<std::uint8_t, bfdPacketBytes> writeBfdPacket(const BfdPacket &packet);

} // namespace openipoib::ha
