// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/discovery.hpp"

#include <netinet/icmp6.h>
#include <netinet/in.h>

#include <algorithm>
#include <initializer_list>

namespace openipoib::ha
{

namespace
{

constexpr std::size_t addressBytes = 16;
constexpr std::size_t headerBytes = 8; // before the address, in either message

// RFC 1071, of an even number of bytes
std::uint16_t checksum(std::initializer_list<io::View> parts, std::uint32_t sum)
{
    for (const io::View part : parts)
        for (std::size_t at = 0; at + 1 < part.size(); at += 2)
            sum += static_cast<std::uint32_t>(io::read<2>(part, at));
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

// Its checksum is zero. @flags: the byte behind it
io::Bytes message(unsigned type, unsigned flags, io::View address, unsigned option,
                  io::View hardware)
{
    io::Bytes out;
    io::append<1>(out, type);
    io::append<3>(out, 0);
    io::append<1>(out, flags);
    io::append<3>(out, 0);
    io::append(out, address);
    io::append<1>(out, option);
    io::append<1>(out, (4 + hardware.size()) / 8);
    io::append<2>(out, 0);
    io::append(out, hardware);
    return out;
}

} // namespace

io::Bytes allNodes()
{
    io::Bytes group(addressBytes);
    group[0] = 0xFF;
    group[1] = 0x02;
    group[15] = 0x01;
    return group;
}

io::Bytes solicitedNode(io::View address)
{
    io::Bytes group(addressBytes);
    group[0] = 0xFF;
    group[1] = 0x02;
    group[11] = 0x01;
    group[12] = 0xFF;
    std::ranges::copy(address.last(3), group.begin() + 13);
    return group;
}

io::Bytes advertisement(io::View hardware, io::View address, bool router)
{
    static constexpr unsigned routerFlag = 0x80;
    static constexpr unsigned overrideFlag = 0x20;
    io::Bytes payload = message(ND_NEIGHBOR_ADVERT, overrideFlag | (router ? routerFlag : 0),
                                address, ND_OPT_TARGET_LINKADDR, hardware);
    const io::Bytes group = allNodes();
    const std::uint16_t sum = checksum({address, group, payload},
                                       static_cast<std::uint32_t>(payload.size()) + IPPROTO_ICMPV6);
    payload[2] = static_cast<std::uint8_t>(sum >> 8);
    payload[3] = static_cast<std::uint8_t>(sum);
    io::Bytes out;
    io::append<4>(out, std::uint64_t{6} << 28);
    io::append<2>(out, payload.size());
    io::append<1>(out, IPPROTO_ICMPV6);
    io::append<1>(out, discoveryHops);
    io::append(out, address);
    io::append(out, group);
    io::append(out, payload);
    return out;
}

io::Bytes solicitation(io::View hardware, io::View address)
{
    return message(ND_NEIGHBOR_SOLICIT, 0, address, ND_OPT_SOURCE_LINKADDR, hardware);
}

std::optional<io::Bytes> advertised(io::View message, int hops)
{
    if (hops != discoveryHops || message.size() < headerBytes + addressBytes ||
        message[0] != ND_NEIGHBOR_ADVERT || message[1] != 0)
        return std::nullopt;
    const io::View address = message.subspan(headerBytes, addressBytes);
    if (address[0] == 0xFF)
        return std::nullopt;
    return io::Bytes(address.begin(), address.end());
}

} // namespace openipoib::ha
