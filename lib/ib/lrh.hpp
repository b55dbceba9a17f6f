// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Local route header (IBA volume 1, section 7.7): the first eight bytes of
// every InfiniBand packet.
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <optional>

namespace openipoib::ib
{

inline constexpr std::uint16_t permissiveLid = 0xFFFF;
inline constexpr std::uint16_t firstMulticastLid = 0xC000;

// What follows the LRH (its LNH field).
enum class LinkNext : std::uint8_t { raw = 0, rawIpv6 = 1, bth = 2, grh = 3 };

struct Lrh {
    static constexpr std::size_t size = 8;

    std::uint8_t vl = 0;           // virtual lane, 4 bits; 15 carries SMPs
    std::uint8_t linkVersion = 0;  // 4 bits
    std::uint8_t sl = 0;           // service level, 4 bits
    LinkNext next = LinkNext::bth; // 2 bits
    std::uint16_t dlid = 0;        // destination LID
    std::uint16_t words = 0;       // 11 bits: LRH to ICRC in words of 4 bytes
    std::uint16_t slid = 0;        // source LID

    void appendTo(io::Bytes &out) const
    {
        io::append<1>(out, (vl & 0xFu) << 4 | (linkVersion & 0xFu));
        io::append<1>(out, (sl & 0xFu) << 4 | (static_cast<unsigned>(next) & 3u));
        io::append<2>(out, dlid);
        io::append<2>(out, words & 0x7FFu);
        io::append<2>(out, slid);
    }

    // nullopt when the bytes are fewer than a header.
    [[nodiscard]] static std::optional<Lrh> parse(io::View in)
    {
        if (in.size() < size)
            return std::nullopt;
        return Lrh{.vl = io::bits<std::uint8_t>(in[0], 4, 4),
                   .linkVersion = io::bits<std::uint8_t>(in[0], 0, 4),
                   .sl = io::bits<std::uint8_t>(in[1], 4, 4),
                   .next = static_cast<LinkNext>(in[1] & 3),
                   .dlid = static_cast<std::uint16_t>(io::read<2>(in, 2)),
                   .words = io::bits<std::uint16_t>(io::read<2>(in, 4), 0, 11),
                   .slid = static_cast<std::uint16_t>(io::read<2>(in, 6))};
    }

    bool operator==(const Lrh &) const = default;
};

} // namespace openipoib::ib
