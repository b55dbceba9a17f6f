// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/arp_listener.hpp"

#include "ha-daemon/linux/packet_filter.hpp"

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

namespace openipoib::ha
{

namespace
{

constexpr std::size_t headerBytes = 8;
constexpr std::size_t hardwareBytes = 20;
constexpr std::size_t addressBytes = 4;
constexpr std::size_t packetBytes = headerBytes + 2 * (hardwareBytes + addressBytes);
constexpr std::size_t hardwareAt = 0; // RFC 826's ar$hrd and ar$op
constexpr std::size_t operationAt = 6;
constexpr unsigned packetsAtOnce = 64; // others have to be served, too

const char *const what = "socket for ARP replies";

// All ARP, on whatever interface
io::Result<void> bindTo(const io::UniqueFd &fd)
{
    sockaddr_ll arp{};
    arp.sll_family = AF_PACKET;
    arp.sll_protocol = htons(ETH_P_ARP);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr *>(&arp), sizeof arp) < 0)
        return io::systemFail(what);
    return {};
}

} // namespace

std::optional<ArpReplier> arpReplier(io::View packet)
{
    if (packet.size() < packetBytes || io::read<2>(packet, hardwareAt) != ARPHRD_INFINIBAND ||
        io::read<2>(packet, 2) != ETH_P_IP || io::read<1>(packet, 4) != hardwareBytes ||
        io::read<1>(packet, 5) != addressBytes || io::read<2>(packet, operationAt) != ARPOP_REPLY)
        return std::nullopt;
    const io::View hardware = packet.subspan(headerBytes, hardwareBytes);
    const io::View address = packet.subspan(headerBytes + hardwareBytes, addressBytes);
    return ArpReplier{.address = io::Bytes(address.begin(), address.end()),
                      .hardware = io::Bytes(hardware.begin(), hardware.end())};
}

io::Result<ArpListener> ArpListener::open()
{
    // Nothing comes in before it is bound: requests, which each host of the link broadcasts, are
    // dropped from the first.
    io::UniqueFd fd(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd)
        return io::systemFail(what);
    const auto filter = PacketFilter()
                            .require(2, hardwareAt, ARPHRD_INFINIBAND)
                            .require(2, operationAt, ARPOP_REPLY)
                            .accept(0, {});
    for (const auto &done : {filter.attach(fd, what), bindTo(fd)})
        if (!done)
            return std::unexpected(done.error());
    return ArpListener(std::move(fd));
}

bool ArpListener::receive(
    const std::function<void(int interface, const ArpReplier &from)> &each) const
{
    for (unsigned count = 0; count < packetsAtOnce; ++count) {
        std::array<std::uint8_t, packetBytes> packet{};
        sockaddr_ll by{};
        socklen_t length = sizeof by;
        const ssize_t got = ::recvfrom(fd_.get(), packet.data(), packet.size(), 0,
                                       reinterpret_cast<sockaddr *>(&by), &length);
        if (got < 0 && errno != EINTR)
            return false;
        if (got < 0)
            continue;
        if (const auto from = arpReplier(io::View(packet).first(static_cast<std::size_t>(got))))
            each(by.sll_ifindex, *from);
    }
    return true;
}

} // namespace openipoib::ha
