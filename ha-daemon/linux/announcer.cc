// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/announcer.hpp"

#include "ha-daemon/linux/discovery.hpp"

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace openipoib::ha
{

namespace
{

constexpr std::size_t hardwareBytes = 20;

io::Bytes arp(unsigned operation, io::View fromHardware, io::View from, io::View toHardware,
              io::View to)
{
    io::Bytes out;
    io::append<2>(out, ARPHRD_INFINIBAND);
    io::append<2>(out, ETH_P_IP);
    io::append<1>(out, fromHardware.size());
    io::append<1>(out, from.size());
    io::append<2>(out, operation);
    for (const io::View part : {fromHardware, from, toHardware, to})
        io::append(out, part);
    return out;
}

} // namespace

io::Bytes arpReply(io::View hardware, io::View address)
{
    // Sender and target are the same: that is what tells an announcement.
    return arp(ARPOP_REPLY, hardware, address, hardware, address);
}

io::Bytes arpProbe(io::View hardware, io::View address)
{
    return arp(ARPOP_REQUEST, hardware, io::Bytes(address.size()), io::Bytes(hardware.size()),
               address);
}

io::Bytes groupHardware(io::View broadcast, io::View group)
{
    io::Bytes out(broadcast.begin(), broadcast.end());
    // The signature of IPv6, and the end of the group (RFC 4391, section 4).
    out[6] = 0x60;
    out[7] = 0x1B;
    std::ranges::copy(group.last(10), out.begin() + 10);
    return out;
}

io::Result<Announcer> Announcer::open()
{
    io::UniqueFd packets(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!packets)
        return io::systemFail("socket for announcements");
    return Announcer(std::move(packets));
}

// To this hardware address
io::Result<void> Announcer::send(const netlink::Link &link, unsigned protocol, io::View packet,
                                 io::View hardware) const
{
    // sockaddr_ll ends with 8 bytes of hardware address; the kernel takes more.
    std::array<std::uint8_t, offsetof(sockaddr_ll, sll_addr) + hardwareBytes> raw{};
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_protocol = htons(static_cast<std::uint16_t>(protocol));
    to.sll_ifindex = link.index;
    to.sll_halen = hardwareBytes;
    std::memcpy(raw.data(), &to, offsetof(sockaddr_ll, sll_addr));
    std::memcpy(raw.data() + offsetof(sockaddr_ll, sll_addr), hardware.data(), hardwareBytes);
    if (::sendto(packets_.get(), packet.data(), packet.size(), 0,
                 reinterpret_cast<const sockaddr *>(raw.data()), raw.size()) < 0)
        return io::systemFail(link.name + ": packet to the peers");
    return {};
}

io::Result<void> Announcer::announce(const netlink::Link &link, io::View address, bool router) const
{
    if (link.address.size() != hardwareBytes || link.broadcast.size() != hardwareBytes)
        return io::fail(EINVAL, link.name + ": not an IPoIB interface");
    if (address.size() == 4)
        return send(link, ETH_P_ARP, arpReply(link.address, address), link.broadcast);
    return send(link, ETH_P_IPV6, advertisement(link.address, address, router),
                groupHardware(link.broadcast, allNodes()));
}

io::Result<void> Announcer::probe(const netlink::Link &link, io::View address,
                                  io::View hardware) const
{
    if (link.address.size() != hardwareBytes || hardware.size() != hardwareBytes)
        return io::fail(EINVAL, link.name + ": not an IPoIB interface");
    return send(link, ETH_P_ARP, arpProbe(link.address, address), hardware);
}

} // namespace openipoib::ha
