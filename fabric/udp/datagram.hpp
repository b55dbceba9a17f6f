// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a `udp:` cable sends: a fragment of a frame of the link protocol, or nothing but who
// the sender is. docs/ibfabric.md has the layout.
#pragma once

#include "io/bytes.hpp"
#include "udp/mac.hpp"

#include <cstdint>
#include <expected>

namespace openipoib::fabric
{

// Why a datagram is none.
enum class DatagramFault : std::uint8_t { length, version, code };

struct Datagram {
    static constexpr std::uint8_t version = 1;
    static constexpr std::size_t headerSize = 28;
    static constexpr std::size_t codeSize = 16;
    static constexpr std::size_t overhead = headerSize + codeSize;
    static constexpr std::size_t mostFragments = 255;

    std::uint8_t count = 0; // fragments of the frame; 0: this is a greeting
    std::uint8_t index = 0; // of this one
    std::uint64_t from = 0; // the sender's epoch
    std::uint64_t to = 0;   // the receiver's epoch as the sender knows it; 0: it does not
    std::uint64_t seq = 0;  // of the sender's datagrams in its epoch
    io::View payload;       // of the bytes that were parsed

    // The first of a frame's fragments, which have numbers in a row.
    [[nodiscard]] std::uint64_t first() const { return seq - index; }

    // Only what was made with the key is looked at beyond its version.
    [[nodiscard]] static std::expected<Datagram, DatagramFault> parse(io::View bytes,
                                                                      const Mac &mac);
    [[nodiscard]] io::Bytes bytes(const Mac &mac) const;
};

} // namespace openipoib::fabric
