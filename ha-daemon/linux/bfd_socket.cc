// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/bfd_socket.hpp"

#include "ha-daemon/linux/packet_filter.hpp"

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace openipoib::ha
{

namespace
{

constexpr int bfdHops = 255;
constexpr int networkControl = 0xC0; // DSCP CS6, as for routing protocols
constexpr int controlPriority = 7;   // TC_PRIO_CONTROL
constexpr unsigned firstPort = 49152;
constexpr unsigned portTries = 64;
constexpr unsigned packetsAtOnce = 512; // more than a socket holds; others have their turn, too
constexpr std::size_t longest = 64;     // bytes of a packet that are looked at
constexpr std::size_t controlBytes = 64;
constexpr unsigned hopsAt = 7; // in an IPv6 header
constexpr unsigned sourceAt = 8;

const char *const what = "socket for BFD";

io::Result<void> set(const io::UniqueFd &fd, int level, int option, const auto &value)
{
    if (::setsockopt(fd.get(), level, option, &value, sizeof value) < 0)
        return io::systemFail(what);
    return {};
}

// Packets of these peers that no router has passed on
PacketFilter filterFor(const std::vector<io::Bytes> &peers)
{
    PacketFilter out;
    out.require(1, hopsAt, bfdHops);
    for (const auto &peer : peers)
        out.accept(sourceAt, peer);
    return out;
}

io::Result<io::UniqueFd> openFor(int interface)
{
    io::UniqueFd fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd)
        return io::systemFail(what);
    const int on = 1;
    for (const auto &done :
         {set(fd, IPPROTO_IPV6, IPV6_V6ONLY, on), set(fd, SOL_SOCKET, SO_BINDTOIFINDEX, interface)})
        if (!done)
            return std::unexpected(done.error());
    return fd;
}

bool bindTo(const io::UniqueFd &fd, std::uint16_t port)
{
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    return ::bind(fd.get(), reinterpret_cast<const sockaddr *>(&any), sizeof any) == 0;
}

io::Result<io::UniqueFd> openReceiver(int interface, const std::vector<io::Bytes> &peers)
{
    auto fd = openFor(interface);
    if (!fd)
        return fd;
    const int on = 1;
    // Before it is bound: nothing comes in unfiltered. Another program may have the port on
    // other interfaces.
    for (const auto &done :
         {filterFor(peers).attach(*fd, what), set(*fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, on),
          set(*fd, SOL_SOCKET, SO_REUSEADDR, on)})
        if (!done)
            return std::unexpected(done.error());
    if (!bindTo(*fd, bfdPort))
        return io::systemFail(what);
    return fd;
}

io::Result<io::UniqueFd> openSender(int interface)
{
    auto fd = openFor(interface);
    if (!fd)
        return fd;
    for (const auto &done : {PacketFilter().attach(*fd, what), // nothing is read from it
                             set(*fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, bfdHops),
                             set(*fd, IPPROTO_IPV6, IPV6_TCLASS, networkControl),
                             set(*fd, SOL_SOCKET, SO_PRIORITY, controlPriority)})
        if (!done)
            return std::unexpected(done.error());
    for (unsigned tries = 0; tries < portTries; ++tries) {
        std::uint16_t some = 0;
        if (::getrandom(&some, sizeof some, 0) < 0)
            break;
        if (bindTo(*fd, static_cast<std::uint16_t>(firstPort + some % (65536 - firstPort))))
            return fd;
        if (errno != EADDRINUSE)
            break;
    }
    return io::systemFail(what);
}

int hopsOf(msghdr &message)
{
    for (cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
        if (one->cmsg_level != IPPROTO_IPV6 || one->cmsg_type != IPV6_HOPLIMIT)
            continue;
        int hops = 0;
        std::memcpy(&hops, CMSG_DATA(one), sizeof hops);
        return hops;
    }
    return 0;
}

} // namespace

io::Result<BfdSocket> BfdSocket::open(int interface, const std::vector<io::Bytes> &peers)
{
    auto in = openReceiver(interface, peers);
    if (!in)
        return std::unexpected(in.error());
    auto out = openSender(interface);
    if (!out)
        return std::unexpected(out.error());
    return BfdSocket(interface, std::move(*in), std::move(*out));
}

io::Result<void> BfdSocket::send(io::View peer, io::View packet) const
{
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(bfdPort);
    to.sin6_scope_id = static_cast<std::uint32_t>(interface_);
    std::memcpy(&to.sin6_addr, peer.data(), sizeof to.sin6_addr);
    if (::sendto(out_.get(), packet.data(), packet.size(), 0,
                 reinterpret_cast<const sockaddr *>(&to), sizeof to) < 0)
        return io::systemFail(what);
    return {};
}

void BfdSocket::receive(const Each &each) const
{
    for (unsigned count = 0; count < packetsAtOnce; ++count) {
        std::array<std::uint8_t, longest> bytes{};
        alignas(cmsghdr) std::array<std::uint8_t, controlBytes> control{};
        iovec piece{bytes.data(), bytes.size()};
        sockaddr_in6 from{};
        msghdr message{};
        message.msg_name = &from;
        message.msg_namelen = sizeof from;
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t got = ::recvmsg(in_.get(), &message, 0);
        if (got < 0 && errno != EINTR)
            return;
        if (got < 0)
            continue;
        each(io::View(from.sin6_addr.s6_addr, sizeof from.sin6_addr), hopsOf(message),
             io::View(bytes).first(static_cast<std::size_t>(got)));
    }
}

} // namespace openipoib::ha
