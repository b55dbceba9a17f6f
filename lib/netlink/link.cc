// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/link.hpp"

#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <algorithm>
#include <array>

namespace openipoib::netlink
{

namespace
{

using Table = std::array<nlattr *, IFLA_MAX + 1>;

template <typename T> T number(const nlattr *attribute, T otherwise)
{
    if (!attribute || nla_len(attribute) < static_cast<int>(sizeof(T)))
        return otherwise;
    T value{};
    nla_memcpy(&value, attribute, sizeof value);
    return value;
}

std::string text(const nlattr *attribute)
{
    if (!attribute)
        return {};
    const auto *start = static_cast<const char *>(nla_data(attribute));
    return {start, ::strnlen(start, static_cast<std::size_t>(nla_len(attribute)))};
}

io::Bytes bytes(const nlattr *attribute)
{
    if (!attribute)
        return {};
    const auto *start = static_cast<const std::uint8_t *>(nla_data(attribute));
    return {start, start + nla_len(attribute)};
}

template <std::size_t size> std::array<nlattr *, size> nested(const nlattr *from)
{
    std::array<nlattr *, size> table{};
    if (nla_parse(table.data(), size - 1, static_cast<nlattr *>(nla_data(from)), nla_len(from),
                  nullptr) < 0)
        table.fill(nullptr);
    return table;
}

// IFLA_LINKINFO: the kind, and for some kinds attributes of their own.
void parseInfo(const nlattr *info, Link &link)
{
    const auto table = nested<IFLA_INFO_MAX + 1>(info);
    link.kind = text(table[IFLA_INFO_KIND]);
    const nlattr *data = table[IFLA_INFO_DATA];
    if (link.kind == "vrf" && data)
        link.vrfTable = number<std::uint32_t>(nested<IFLA_VRF_MAX + 1>(data)[IFLA_VRF_TABLE], 0);
    if (link.kind != "ipoib" || !data)
        return;
    const auto own = nested<IFLA_IPOIB_MAX + 1>(data);
    link.ipoib = Ipoib{
        .pkey = number<std::uint16_t>(own[IFLA_IPOIB_PKEY], 0),
        .connected = number<std::uint16_t>(own[IFLA_IPOIB_MODE], IPOIB_MODE_DATAGRAM) ==
                     IPOIB_MODE_CONNECTED,
        .umcast = number<std::uint16_t>(own[IFLA_IPOIB_UMCAST], 0) != 0,
    };
}

Message change(const Link &link, unsigned flags, unsigned mask)
{
    Message message(RTM_NEWLINK, 0);
    ifinfomsg fixed{};
    fixed.ifi_index = link.index;
    fixed.ifi_flags = flags;
    fixed.ifi_change = mask;
    message.header(fixed);
    return message;
}

} // namespace

bool Link::isUp() const
{
    return flags & IFF_UP;
}

bool Link::isRunning() const
{
    return isUp() && (flags & IFF_LOWER_UP);
}

bool Link::isInfiniband() const
{
    return type == ARPHRD_INFINIBAND;
}

io::Bytes Link::gid() const
{
    return address.size() == 20 ? io::Bytes(address.begin() + 4, address.end()) : io::Bytes{};
}

std::optional<Link> parseLink(const nlmsghdr *message)
{
    auto *header = const_cast<nlmsghdr *>(message); // libnl reads only
    if (header->nlmsg_type != RTM_NEWLINK)
        return std::nullopt;
    Table table{};
    if (nlmsg_parse(header, sizeof(ifinfomsg), table.data(), IFLA_MAX, nullptr) < 0)
        return std::nullopt;
    const auto *fixed = static_cast<const ifinfomsg *>(nlmsg_data(header));
    Link link;
    link.index = fixed->ifi_index;
    link.type = fixed->ifi_type;
    link.flags = fixed->ifi_flags;
    link.name = text(table[IFLA_IFNAME]);
    if (link.index <= 0 || link.name.empty())
        return std::nullopt;
    link.operState = number<std::uint8_t>(table[IFLA_OPERSTATE], 0);
    link.mtu = number<std::uint32_t>(table[IFLA_MTU], 0);
    link.maxMtu = number<std::uint32_t>(table[IFLA_MAX_MTU], 0);
    link.master = number<std::int32_t>(table[IFLA_MASTER], 0);
    link.parent = number<std::int32_t>(table[IFLA_LINK], 0);
    link.address = bytes(table[IFLA_ADDRESS]);
    link.broadcast = bytes(table[IFLA_BROADCAST]);
    if (table[IFLA_LINKINFO])
        parseInfo(table[IFLA_LINKINFO], link);
    return link;
}

io::Result<std::vector<Link>> links(Socket &socket)
{
    std::vector<Link> all;
    Message message(RTM_GETLINK, 0);
    message.header(ifinfomsg{});
    const auto done = socket.dump(
        message, "list of interfaces",
        [&all](nlmsghdr *answer) {
            if (auto link = parseLink(answer))
                all.push_back(std::move(*link));
        },
        [&all] { all.clear(); });
    if (!done)
        return std::unexpected(done.error());
    return all;
}

io::Result<Link> findLink(Socket &socket, const std::string &name)
{
    auto all = links(socket);
    if (!all)
        return std::unexpected(all.error());
    const auto found = std::ranges::find(*all, name, &Link::name);
    if (found == all->end())
        return io::fail(ENODEV, name);
    return std::move(*found);
}

io::Result<void> setUp(Socket &socket, const Link &link, bool up)
{
    return socket.request(change(link, up ? IFF_UP : 0, IFF_UP),
                          link.name + (up ? ": set up" : ": set down"));
}

io::Result<void> setMtu(Socket &socket, const Link &link, unsigned mtu)
{
    Message message = change(link, 0, 0);
    message.put(IFLA_MTU, std::uint32_t{mtu});
    return socket.request(message, link.name + ": MTU " + std::to_string(mtu));
}

io::Result<void> setOperState(Socket &socket, const Link &link, std::uint8_t operState)
{
    Message message = change(link, 0, 0);
    message.put(IFLA_OPERSTATE, operState);
    return socket.request(message, link.name + ": state " + std::to_string(operState));
}

io::Result<void> setMaster(Socket &socket, const Link &link, int master)
{
    Message message = change(link, 0, 0);
    message.put(IFLA_MASTER, std::int32_t{master});
    return socket.request(message, link.name + ": set master");
}

io::Result<void> addIpoibChild(Socket &socket, const Link &parent, const std::string &name,
                               std::uint16_t pkey)
{
    Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    message.header(ifinfomsg{});
    message.put(IFLA_IFNAME, name);
    message.put(IFLA_LINK, std::int32_t{parent.index});
    {
        const auto info = message.nest(IFLA_LINKINFO);
        message.put(IFLA_INFO_KIND, "ipoib");
        const auto data = message.nest(IFLA_INFO_DATA);
        message.put(IFLA_IPOIB_PKEY, pkey);
    }
    return socket.request(message, name);
}

io::Result<void> removeLink(Socket &socket, const Link &link)
{
    Message message(RTM_DELLINK, 0);
    ifinfomsg fixed{};
    fixed.ifi_index = link.index;
    message.header(fixed);
    return socket.request(message, link.name + ": remove");
}

} // namespace openipoib::netlink
