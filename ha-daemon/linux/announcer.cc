// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/announcer.hpp"

#include "io/file.hpp"
#include "io/unique_fd.hpp"

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace openipoib::ha
{

namespace
{

constexpr std::size_t hardwareBytes = 20;

io::Result<void> announce6(const netlink::Link &link, io::View address)
{
    const std::string what = link.name + ": neighbour advertisement";
    const io::UniqueFd fd(
        ::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6));
    if (!fd)
        return io::systemFail(what);
    const int hops = 255;
    const int index = link.index;
    sockaddr_in6 from{};
    from.sin6_family = AF_INET6;
    std::memcpy(&from.sin6_addr, address.data(), sizeof from.sin6_addr);
    if (IN6_IS_ADDR_LINKLOCAL(&from.sin6_addr))
        from.sin6_scope_id = static_cast<std::uint32_t>(index);
    if (::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) < 0 ||
        ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof index) < 0 ||
        ::bind(fd.get(), reinterpret_cast<const sockaddr *>(&from), sizeof from) < 0)
        return io::systemFail(what);
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_scope_id = static_cast<std::uint32_t>(index);
    to.sin6_addr.s6_addr[0] = 0xFF;
    to.sin6_addr.s6_addr[1] = 0x02;
    to.sin6_addr.s6_addr[15] = 0x01;
    const bool router = io::readLine("/proc/sys/net/ipv6/conf/" + link.name + "/forwarding") == "1";
    const io::Bytes packet = advertisement(link.address, address, router);
    if (::sendto(fd.get(), packet.data(), packet.size(), 0, reinterpret_cast<const sockaddr *>(&to),
                 sizeof to) < 0)
        return io::systemFail(what);
    return {};
}

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

io::Bytes advertisement(io::View hardware, io::View address, bool router)
{
    static constexpr unsigned routerFlag = 0x80;
    static constexpr unsigned overrideFlag = 0x20;
    io::Bytes out;
    io::append<1>(out, ND_NEIGHBOR_ADVERT);
    io::append<1>(out, 0);
    io::append<2>(out, 0);
    io::append<1>(out, overrideFlag | (router ? routerFlag : 0));
    io::append<3>(out, 0);
    io::append(out, address);
    // Two bytes of padding before the hardware address (RFC 4391, section 9.3).
    io::append<1>(out, ND_OPT_TARGET_LINKADDR);
    io::append<1>(out, (4 + hardware.size()) / 8);
    io::append<2>(out, 0);
    io::append(out, hardware);
    return out;
}

io::Result<Announcer> Announcer::open()
{
    io::UniqueFd packets(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!packets)
        return io::systemFail("socket for ARP announcements");
    return Announcer(std::move(packets));
}

// ARP, to this hardware address
io::Result<void> Announcer::send(const netlink::Link &link, io::View packet,
                                 io::View hardware) const
{
    // sockaddr_ll ends with 8 bytes of hardware address; the kernel takes more.
    std::array<std::uint8_t, offsetof(sockaddr_ll, sll_addr) + hardwareBytes> raw{};
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_protocol = htons(ETH_P_ARP);
    to.sll_ifindex = link.index;
    to.sll_halen = hardwareBytes;
    std::memcpy(raw.data(), &to, offsetof(sockaddr_ll, sll_addr));
    std::memcpy(raw.data() + offsetof(sockaddr_ll, sll_addr), hardware.data(), hardwareBytes);
    if (::sendto(packets_.get(), packet.data(), packet.size(), 0,
                 reinterpret_cast<const sockaddr *>(raw.data()), raw.size()) < 0)
        return io::systemFail(link.name + ": ARP");
    return {};
}

io::Result<void> Announcer::announce(const netlink::Link &link, io::View address) const
{
    if (link.address.size() != hardwareBytes || link.broadcast.size() != hardwareBytes)
        return io::fail(EINVAL, link.name + ": not an IPoIB interface");
    return address.size() == 4 ? send(link, arpReply(link.address, address), link.broadcast)
                               : announce6(link, address);
}

io::Result<void> Announcer::probe(const netlink::Link &link, io::View address,
                                  io::View hardware) const
{
    if (link.address.size() != hardwareBytes || hardware.size() != hardwareBytes)
        return io::fail(EINVAL, link.name + ": not an IPoIB interface");
    return send(link, arpProbe(link.address, address), hardware);
}

} // namespace openipoib::ha
