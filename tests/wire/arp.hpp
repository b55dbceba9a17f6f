// SPDX-License-Identifier: GPL-2.0-only OR MIT
// ARP over InfiniBand (RFC 4391, section 9.2): a request by which ib-frames
// asks whether the peer's interface still works.
#pragma once

#include "ib/ipoib.hpp"
#include "io/bytes.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace openipoib::wire
{

using Ipv4 = std::array<std::uint8_t, 4>;

struct Arp {
    static constexpr std::uint16_t infiniband = 32;
    static constexpr std::uint16_t request = 1;
    static constexpr std::uint16_t reply = 2;
    static constexpr std::size_t size = 8 + 2 * (ib::HardwareAddress::size + 4);

    std::uint16_t operation = request;
    ib::HardwareAddress sender;
    Ipv4 senderIp{};
    ib::HardwareAddress target;
    Ipv4 targetIp{};

    void appendTo(io::Bytes &out) const
    {
        io::append<2>(out, infiniband);
        io::append<2>(out, ib::IpoibHeader::ipv4);
        io::append<1>(out, ib::HardwareAddress::size);
        io::append<1>(out, senderIp.size());
        io::append<2>(out, operation);
        sender.appendTo(out);
        io::append(out, senderIp);
        target.appendTo(out);
        io::append(out, targetIp);
    }

    // nullopt when the bytes are no ARP of IPv4 over InfiniBand.
    [[nodiscard]] static std::optional<Arp> parse(io::View in)
    {
        if (in.size() < size || io::read<2>(in, 0) != infiniband ||
            in[4] != ib::HardwareAddress::size || in[5] != Ipv4{}.size())
            return std::nullopt;
        constexpr std::size_t pair = ib::HardwareAddress::size + 4;
        const auto ip = [in](std::size_t at) {
            return Ipv4{in[at], in[at + 1], in[at + 2], in[at + 3]};
        };
        return Arp{.operation = static_cast<std::uint16_t>(io::read<2>(in, 6)),
                   .sender = *ib::HardwareAddress::parse(in.subspan(8)),
                   .senderIp = ip(8 + ib::HardwareAddress::size),
                   .target = *ib::HardwareAddress::parse(in.subspan(8 + pair)),
                   .targetIp = ip(8 + pair + ib::HardwareAddress::size)};
    }
};

} // namespace openipoib::wire
