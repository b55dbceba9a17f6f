// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/packet_socket.hpp"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace openipoib::io
{

namespace
{

constexpr std::size_t maxFrame = 65536 + 64;
constexpr int receiveBufferBytes = 8 << 20;
constexpr auto sendLimit = std::chrono::seconds(10); // for a queue that stays full

Result<ifreq> query(int fd, const std::string &interface, unsigned long request, const char *what)
{
    ifreq ifr{};
    if (interface.size() >= sizeof ifr.ifr_name)
        return fail(ENODEV, interface);
    std::copy(interface.begin(), interface.end(), ifr.ifr_name);
    if (::ioctl(fd, request, &ifr) < 0)
        return systemFail(interface + ": " + what);
    return ifr;
}

} // namespace

Result<PacketSocket> PacketSocket::open(const std::string &interface, std::uint16_t ethertype)
{
    const unsigned index = ::if_nametoindex(interface.c_str());
    if (index == 0)
        return systemFail(interface);
    // Protocol 0 until bound: a packet socket receives from every interface
    // between socket() and bind() otherwise.
    UniqueFd fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!fd)
        return systemFail("packet socket");
    auto mtu = query(fd.get(), interface, SIOCGIFMTU, "MTU");
    if (!mtu)
        return std::unexpected(mtu.error());
    auto hw = query(fd.get(), interface, SIOCGIFHWADDR, "hardware address");
    if (!hw)
        return std::unexpected(hw.error());

    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &receiveBufferBytes,
                 sizeof receiveBufferBytes);
    sockaddr_ll local{};
    local.sll_family = AF_PACKET;
    local.sll_protocol = htons(ethertype);
    local.sll_ifindex = static_cast<int>(index);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr *>(&local), sizeof local) < 0)
        return systemFail(interface + ": bind");

    MacAddress address{};
    std::memcpy(address.data(), hw->ifr_hwaddr.sa_data, address.size());
    return PacketSocket(std::move(fd), address, static_cast<unsigned>(mtu->ifr_mtu));
}

Result<void> PacketSocket::send(View frame) const
{
    const auto deadline = std::chrono::steady_clock::now() + sendLimit;
    for (;;) {
        if (::send(fd_.get(), frame.data(), frame.size(), 0) >= 0)
            return {};
        if (errno == EINTR)
            continue;
        if (errno != ENOBUFS || std::chrono::steady_clock::now() >= deadline)
            return systemFail("send of " + std::to_string(frame.size()) + " bytes");
        // The device's queue is full, and nothing tells when it no longer is.
        if (::poll(nullptr, 0, 1) < 0 && errno != EINTR)
            return systemFail("poll");
    }
}

Result<std::optional<Bytes>> PacketSocket::receive(std::chrono::milliseconds timeout)
{
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    Bytes frame;
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd wait{.fd = fd_.get(), .events = POLLIN, .revents = 0};
        const int ready = ::poll(&wait, 1, std::max(0, static_cast<int>(left.count())));
        if (ready < 0 && errno != EINTR)
            return systemFail("poll");
        if (ready == 0)
            return std::optional<Bytes>{};
        frame.resize(maxFrame); // not before there is something to put into it
        sockaddr_ll from{};
        socklen_t fromLength = sizeof from;
        const ssize_t got = ::recvfrom(fd_.get(), frame.data(), frame.size(), MSG_DONTWAIT,
                                       reinterpret_cast<sockaddr *>(&from), &fromLength);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return systemFail("receive");
        if (got < 0 || from.sll_pkttype == PACKET_OUTGOING)
            continue;
        frame.resize(static_cast<std::size_t>(got));
        return std::optional(std::move(frame));
    }
}

} // namespace openipoib::io
