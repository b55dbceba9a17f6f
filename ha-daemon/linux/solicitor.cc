// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/solicitor.hpp"

#include "ha-daemon/linux/discovery.hpp"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace openipoib::ha
{

namespace
{

constexpr unsigned packetsAtOnce = 64;   // others have to be served, too
constexpr std::size_t longest = 128;     // bytes of a message that are looked at
constexpr std::size_t controlBytes = 96; // room for an interface and a hop limit

// What the kernel says of a packet besides its bytes
struct Arrival {
    int interface = 0;
    int hops = 0;
};

template <typename T> T valueOf(const cmsghdr *one)
{
    T value{};
    std::memcpy(&value, CMSG_DATA(one), sizeof value);
    return value;
}

Arrival arrivalOf(msghdr &message)
{
    Arrival found;
    for (cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
        if (one->cmsg_level != IPPROTO_IPV6)
            continue;
        if (one->cmsg_type == IPV6_PKTINFO)
            found.interface = static_cast<int>(valueOf<in6_pktinfo>(one).ipi6_ifindex);
        else if (one->cmsg_type == IPV6_HOPLIMIT)
            found.hops = valueOf<int>(one);
    }
    return found;
}

io::Result<void> set(const io::UniqueFd &fd, int level, int option, const auto &value)
{
    if (::setsockopt(fd.get(), level, option, &value, sizeof value) < 0)
        return io::systemFail("socket for neighbour solicitations");
    return {};
}

} // namespace

io::Result<Solicitor> Solicitor::open()
{
    io::UniqueFd fd(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6));
    if (!fd)
        return io::systemFail("socket for neighbour solicitations");
    icmp6_filter wanted{};
    ICMP6_FILTER_SETBLOCKALL(&wanted);
    ICMP6_FILTER_SETPASS(ND_NEIGHBOR_ADVERT, &wanted);
    const int on = 1;
    for (const auto &done :
         {set(fd, IPPROTO_ICMPV6, ICMP6_FILTER, wanted),
          set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, on), set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, on),
          set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0),
          set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, int{discoveryHops})})
        if (!done)
            return std::unexpected(done.error());
    return Solicitor(std::move(fd));
}

io::Result<void> Solicitor::ask(const netlink::Link &link, io::View address) const
{
    if (!link.isInfiniband())
        return io::fail(EINVAL, link.name + ": not an IPoIB interface");
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_scope_id = static_cast<std::uint32_t>(link.index);
    std::memcpy(&to.sin6_addr, solicitedNode(address).data(), sizeof to.sin6_addr);
    const io::Bytes message = solicitation(link.address, address);
    if (::sendto(fd_.get(), message.data(), message.size(), 0,
                 reinterpret_cast<const sockaddr *>(&to), sizeof to) < 0)
        return io::systemFail(link.name + ": neighbour solicitation");
    return {};
}

void Solicitor::receive(const std::function<void(int interface, io::View from)> &each) const
{
    for (unsigned count = 0; count < packetsAtOnce; ++count) {
        std::array<std::uint8_t, longest> bytes{};
        alignas(cmsghdr) std::array<std::uint8_t, controlBytes> control{};
        iovec piece{bytes.data(), bytes.size()};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t got = ::recvmsg(fd_.get(), &message, 0);
        if (got < 0 && errno != EINTR)
            return;
        if (got < 0)
            continue;
        const Arrival arrival = arrivalOf(message);
        if (const auto from =
                advertised(io::View(bytes).first(static_cast<std::size_t>(got)), arrival.hops))
            each(arrival.interface, *from);
    }
}

} // namespace openipoib::ha
