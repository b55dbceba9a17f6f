// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Packets to connected queue pairs: those that a line of input describes, and
// random ones.
#pragma once

#include "wire/cases.hpp"

#include <cstdint>
#include <random>
#include <span>

namespace openipoib::wire
{

// What a packet has behind its LRH; its extension headers are part of the payload.
struct Connected {
    std::uint8_t opcode = 0;
    std::uint32_t qpn = 0;
    std::uint32_t psn = 0;
    io::Bytes payload;
};

// A packet with right lengths, whatever it says, that asks for an acknowledgement.
[[nodiscard]] Shot connected(const Target &target, const Connected &what);

// A packet to one of these queue pairs that is as likely to be executed as not:
// most are of a connected service and have one of the first few PSNs; the rest is
// random, and so are some lengths.
[[nodiscard]] Shot fuzzed(const Target &target, std::span<const std::uint32_t> qpns,
                          std::mt19937_64 &random);

} // namespace openipoib::wire
