// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Global route header (IBA volume 1, section 8.3); the layout of an IPv6
// header. Every multicast packet carries one.
#pragma once

#include "ib/gid.hpp"
#include "io/bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace openipoib::ib
{

struct Grh {
    static constexpr std::size_t size = 40;
    static constexpr std::uint8_t nextBth = 0x1B;

    std::uint8_t version = 6; // 4 bits
    std::uint8_t trafficClass = 0;
    std::uint32_t flowLabel = 0;     // 20 bits
    std::uint16_t payloadLength = 0; // bytes after the GRH, ICRC included
    std::uint8_t next = nextBth;
    std::uint8_t hopLimit = 0;
    Gid source{};
    Gid destination{};

    void appendTo(io::Bytes &out) const
    {
        io::append<4>(out, (version & 0xFu) << 28 | std::uint32_t{trafficClass} << 20 |
                               (flowLabel & 0xFFFFFu));
        io::append<2>(out, payloadLength);
        io::append<1>(out, next);
        io::append<1>(out, hopLimit);
        io::append(out, source);
        io::append(out, destination);
    }

    // nullopt when the bytes are fewer than a header.
    [[nodiscard]] static std::optional<Grh> parse(io::View in)
    {
        if (in.size() < size)
            return std::nullopt;
        const std::uint64_t first = io::read<4>(in, 0);
        Grh grh{.version = io::bits<std::uint8_t>(first, 28, 4),
                .trafficClass = io::bits<std::uint8_t>(first, 20, 8),
                .flowLabel = io::bits<std::uint32_t>(first, 0, 20),
                .payloadLength = static_cast<std::uint16_t>(io::read<2>(in, 4)),
                .next = in[6],
                .hopLimit = in[7]};
        std::ranges::copy(in.subspan(8, 16), grh.source.begin());
        std::ranges::copy(in.subspan(24, 16), grh.destination.begin());
        return grh;
    }

    bool operator==(const Grh &) const = default;
};

} // namespace openipoib::ib
