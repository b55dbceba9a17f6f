// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Datagram extended transport header (IBA volume 1, section 9.3.2).
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <optional>

namespace openipoib::ib
{

inline constexpr std::uint32_t gsiQkey = 0x8001'0000;

struct Deth {
    static constexpr std::size_t size = 8;

    std::uint32_t qkey = 0;
    std::uint32_t sourceQpn = 0; // 24 bits

    void appendTo(io::Bytes &out) const
    {
        io::append<4>(out, qkey);
        io::append<1>(out, 0);
        io::append<3>(out, sourceQpn);
    }

    // nullopt when the bytes are fewer than a header.
    [[nodiscard]] static std::optional<Deth> parse(io::View in)
    {
        if (in.size() < size)
            return std::nullopt;
        return Deth{.qkey = static_cast<std::uint32_t>(io::read<4>(in, 0)),
                    .sourceQpn = static_cast<std::uint32_t>(io::read<3>(in, 5))};
    }

    bool operator==(const Deth &) const = default;
};

} // namespace openipoib::ib
