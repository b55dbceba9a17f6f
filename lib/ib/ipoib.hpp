// SPDX-License-Identifier: GPL-2.0-only OR MIT
// IPoIB encapsulation header (RFC 4391, section 6) and the 20-byte hardware
// address (section 9.1.1).
#pragma once

#include "ib/gid.hpp"
#include "io/bytes.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace openipoib::ib
{

struct IpoibHeader {
    static constexpr std::size_t size = 4;
    static constexpr std::uint16_t ipv4 = 0x0800;
    static constexpr std::uint16_t arp = 0x0806;
    static constexpr std::uint16_t ipv6 = 0x86DD;

    std::uint16_t type = ipv4;  // ethertype of the payload
    std::uint16_t reserved = 0; // zero on send, ignored on receipt

    void appendTo(io::Bytes &out) const
    {
        io::append<2>(out, type);
        io::append<2>(out, reserved);
    }

    // nullopt when the bytes are fewer than a header.
    [[nodiscard]] static std::optional<IpoibHeader> parse(io::View in)
    {
        if (in.size() < size)
            return std::nullopt;
        return IpoibHeader{.type = static_cast<std::uint16_t>(io::read<2>(in, 0)),
                           .reserved = static_cast<std::uint16_t>(io::read<2>(in, 2))};
    }

    bool operator==(const IpoibHeader &) const = default;
};

struct HardwareAddress {
    static constexpr std::size_t size = 20;

    std::uint8_t flags = 0; // 0x80: reliable connected, 0x40: unreliable connected
    std::uint32_t qpn = 0;  // 24 bits
    Gid gid{};

    void appendTo(io::Bytes &out) const
    {
        io::append<1>(out, flags);
        io::append<3>(out, qpn);
        io::append(out, gid);
    }

    [[nodiscard]] static std::optional<HardwareAddress> parse(io::View in)
    {
        if (in.size() < size)
            return std::nullopt;
        HardwareAddress address{.flags = in[0],
                                .qpn = static_cast<std::uint32_t>(io::read<3>(in, 1))};
        for (std::size_t i = 0; i < address.gid.size(); ++i)
            address.gid[i] = in[4 + i];
        return address;
    }

    bool operator==(const HardwareAddress &) const = default;
};

} // namespace openipoib::ib
