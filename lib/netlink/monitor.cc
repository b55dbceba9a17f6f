// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/monitor.hpp"

#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include <array>

namespace openipoib::netlink
{

namespace
{

constexpr int receiveBytes = 1 << 20;

constexpr unsigned mask(rtnetlink_groups group)
{
    return 1U << (group - 1);
}

constexpr unsigned groups = mask(RTNLGRP_LINK) | mask(RTNLGRP_IPV4_IFADDR) |
                            mask(RTNLGRP_IPV6_IFADDR) | mask(RTNLGRP_IPV4_ROUTE) |
                            mask(RTNLGRP_IPV6_ROUTE) | mask(RTNLGRP_IPV4_RULE) |
                            mask(RTNLGRP_IPV6_RULE);

} // namespace

io::Result<Monitor> Monitor::open()
{
    static constexpr auto what = "netlink monitor";
    io::UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    if (!fd)
        return io::systemFail(what);
    // Without CAP_NET_ADMIN no more than the default: losses are noticed.
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &receiveBytes, sizeof receiveBytes);
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = groups;
    if (::bind(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) < 0)
        return io::systemFail(what);
    return Monitor(std::move(fd));
}

io::Result<bool> Monitor::receive(const std::function<void(const nlmsghdr *)> &each)
{
    alignas(nlmsghdr) std::array<char, 1 << 16> buffer;
    bool lost = false;
    for (;;) {
        sockaddr_nl from{};
        socklen_t fromLength = sizeof from;
        const ssize_t got = ::recvfrom(fd_.get(), buffer.data(), buffer.size(), MSG_TRUNC,
                                       reinterpret_cast<sockaddr *>(&from), &fromLength);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == ENOBUFS) {
            lost = true;
            continue;
        }
        if (got < 0 && errno == EAGAIN)
            return lost;
        if (got < 0)
            return io::systemFail("netlink monitor");
        if (from.nl_pid != 0) // only the kernel knows
            continue;
        if (static_cast<std::size_t>(got) > buffer.size()) {
            lost = true;
            continue;
        }
        int left = static_cast<int>(got);
        for (auto *message = reinterpret_cast<nlmsghdr *>(buffer.data()); nlmsg_ok(message, left);
             message = nlmsg_next(message, &left))
            each(message);
    }
}

} // namespace openipoib::netlink
