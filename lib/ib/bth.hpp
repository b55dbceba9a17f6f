// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Base transport header (IBA volume 1, section 9.2).
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <optional>

namespace openipoib::ib
{

// The opcodes that IPoIB and management traffic use.
enum class Opcode : std::uint8_t {
    rcSendFirst = 0x00,
    rcSendMiddle = 0x01,
    rcSendLast = 0x02,
    rcSendOnly = 0x04,
    rcAcknowledge = 0x11,
    udSendOnly = 0x64,
    udSendOnlyImmediate = 0x65,
};

inline constexpr std::uint16_t defaultPkey = 0xFFFF;
inline constexpr std::uint32_t multicastQpn = 0xFFFFFF;

struct Bth {
    static constexpr std::size_t size = 12;

    std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::udSendOnly);
    bool solicited = false;
    bool migrated = true;
    std::uint8_t pad = 0;     // 2 bits: pad bytes after the payload
    std::uint8_t version = 0; // 4 bits
    std::uint16_t pkey = defaultPkey;
    std::uint8_t variant = 0; // resv8a: left out of the ICRC
    std::uint32_t qpn = 0;    // 24 bits: destination queue pair
    bool acknowledge = false;
    std::uint32_t psn = 0; // 24 bits

    void appendTo(io::Bytes &out) const
    {
        io::append<1>(out, opcode);
        io::append<1>(out, (solicited ? 0x80u : 0u) | (migrated ? 0x40u : 0u) | (pad & 3u) << 4 |
                               (version & 0xFu));
        io::append<2>(out, pkey);
        io::append<1>(out, variant);
        io::append<3>(out, qpn);
        io::append<1>(out, acknowledge ? 0x80u : 0u);
        io::append<3>(out, psn);
    }

    // nullopt when the bytes are fewer than a header.
    [[nodiscard]] static std::optional<Bth> parse(io::View in)
    {
        if (in.size() < size)
            return std::nullopt;
        return Bth{.opcode = in[0],
                   .solicited = (in[1] & 0x80) != 0,
                   .migrated = (in[1] & 0x40) != 0,
                   .pad = io::bits<std::uint8_t>(in[1], 4, 2),
                   .version = io::bits<std::uint8_t>(in[1], 0, 4),
                   .pkey = static_cast<std::uint16_t>(io::read<2>(in, 2)),
                   .variant = in[4],
                   .qpn = static_cast<std::uint32_t>(io::read<3>(in, 5)),
                   .acknowledge = (in[8] & 0x80) != 0,
                   .psn = static_cast<std::uint32_t>(io::read<3>(in, 9))};
    }

    bool operator==(const Bth &) const = default;
};

} // namespace openipoib::ib
