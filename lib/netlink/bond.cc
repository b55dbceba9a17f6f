// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/bond.hpp"

#include <linux/if_bonding.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <array>

namespace openipoib::netlink
{

namespace
{

constexpr std::uint8_t activeBackup = 1;

template <std::size_t Size> using Table = std::array<nlattr *, Size>;

template <typename T> T number(const nlattr *attribute, T otherwise)
{
    if (!attribute || nla_len(attribute) < static_cast<int>(sizeof(T)))
        return otherwise;
    T value{};
    nla_memcpy(&value, attribute, sizeof value);
    return value;
}

bool is(const nlattr *attribute, std::string_view text)
{
    return attribute && nla_strcmp(attribute, std::string(text).c_str()) == 0;
}

// The attributes within one; false when it is not there or makes no sense.
template <std::size_t Size> bool within(const nlattr *nest, Table<Size> &table)
{
    return nest && nla_parse(table.data(), static_cast<int>(Size) - 1,
                             static_cast<nlattr *>(nla_data(nest)), nla_len(nest), nullptr) >= 0;
}

// The list's types count from 0, which nla_parse() would leave out.
void parseTargets(const nlattr *list, int size, std::vector<io::Bytes> &targets)
{
    if (!list)
        return;
    int rest = nla_len(list);
    for (auto *one = static_cast<nlattr *>(nla_data(list)); nla_ok(one, rest);
         one = nla_next(one, &rest)) {
        if (nla_len(one) != size)
            continue;
        const auto *start = static_cast<const std::uint8_t *>(nla_data(one));
        targets.emplace_back(start, start + size);
    }
}

Bond parseBondData(const nlattr *data)
{
    Bond bond;
    Table<IFLA_BOND_MAX + 1> table{};
    if (!within(data, table))
        return bond;
    bond.mode = number<std::uint8_t>(table[IFLA_BOND_MODE], 0);
    bond.failOverMac = number<std::uint8_t>(table[IFLA_BOND_FAIL_OVER_MAC], 0);
    bond.miimon = number<std::uint32_t>(table[IFLA_BOND_MIIMON], 0);
    bond.arpInterval = number<std::uint32_t>(table[IFLA_BOND_ARP_INTERVAL], 0);
    bond.primary = number<std::int32_t>(table[IFLA_BOND_PRIMARY], 0);
    bond.primaryReselect = number<std::uint8_t>(table[IFLA_BOND_PRIMARY_RESELECT], 0);
    bond.notifications = number<std::uint8_t>(table[IFLA_BOND_NUM_PEER_NOTIF], 0);
    bond.active = number<std::int32_t>(table[IFLA_BOND_ACTIVE_SLAVE], 0);
    parseTargets(table[IFLA_BOND_ARP_IP_TARGET], 4, bond.targets);
    parseTargets(table[IFLA_BOND_NS_IP6_TARGET], 16, bond.targets);
    return bond;
}

BondSlave parseSlaveData(const nlattr *data)
{
    BondSlave slave;
    Table<IFLA_BOND_SLAVE_MAX + 1> table{};
    if (!within(data, table))
        return slave;
    slave.linkUp =
        number<std::uint8_t>(table[IFLA_BOND_SLAVE_MII_STATUS], BOND_LINK_DOWN) == BOND_LINK_UP;
    slave.failures = number<std::uint32_t>(table[IFLA_BOND_SLAVE_LINK_FAILURE_COUNT], 0);
    return slave;
}

void putTargets(Message &message, int type, std::size_t size, const Bond &bond)
{
    const auto list = message.nest(type);
    int number = 0;
    for (const auto &target : bond.targets)
        if (target.size() == size)
            message.put(number++, io::View(target));
}

// Only one of the two monitors can be on, and the kernel minds the order.
void putOptions(Message &message, const Bond &bond)
{
    if (bond.arpInterval) {
        message.put(IFLA_BOND_ARP_INTERVAL, bond.arpInterval);
        putTargets(message, IFLA_BOND_ARP_IP_TARGET, 4, bond);
        putTargets(message, IFLA_BOND_NS_IP6_TARGET, 16, bond);
    } else {
        message.put(IFLA_BOND_MIIMON, bond.miimon);
    }
    if (bond.mode != activeBackup)
        return;
    message.put(IFLA_BOND_PRIMARY, std::int32_t{bond.primary});
    message.put(IFLA_BOND_PRIMARY_RESELECT, bond.primaryReselect);
    message.put(IFLA_BOND_NUM_PEER_NOTIF, bond.notifications);
}

} // namespace

void parseBond(const nlmsghdr *message, Bonds &bonds)
{
    auto *header = const_cast<nlmsghdr *>(message); // libnl reads only
    Table<IFLA_MAX + 1> table{};
    Table<IFLA_INFO_MAX + 1> info{};
    if (header->nlmsg_type != RTM_NEWLINK ||
        nlmsg_parse(header, sizeof(ifinfomsg), table.data(), IFLA_MAX, nullptr) < 0 ||
        !within(table[IFLA_LINKINFO], info))
        return;
    const int index = static_cast<const ifinfomsg *>(nlmsg_data(header))->ifi_index;
    if (is(info[IFLA_INFO_KIND], "bond"))
        bonds.bonds[index] = parseBondData(info[IFLA_INFO_DATA]);
    if (is(info[IFLA_INFO_SLAVE_KIND], "bond"))
        bonds.slaves[index] = parseSlaveData(info[IFLA_INFO_SLAVE_DATA]);
}

io::Result<Bonds> bonds(Socket &socket)
{
    Bonds all;
    Message message(RTM_GETLINK, 0);
    message.header(ifinfomsg{});
    const auto done = socket.dump(
        message, "list of bonds", [&all](nlmsghdr *answer) { parseBond(answer, all); },
        [&all] { all = {}; });
    if (!done)
        return std::unexpected(done.error());
    return all;
}

io::Result<void> addBond(Socket &socket, const std::string &name, unsigned mtu, const Bond &bond)
{
    Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    message.header(ifinfomsg{});
    message.put(IFLA_IFNAME, name);
    message.put(IFLA_MTU, std::uint32_t{mtu});
    {
        const auto info = message.nest(IFLA_LINKINFO);
        message.put(IFLA_INFO_KIND, "bond");
        const auto data = message.nest(IFLA_INFO_DATA);
        message.put(IFLA_BOND_MODE, bond.mode);
        message.put(IFLA_BOND_FAIL_OVER_MAC, bond.failOverMac);
        putOptions(message, bond);
    }
    return socket.request(message, name);
}

io::Result<void> changeBond(Socket &socket, const Link &link, const Bond &bond)
{
    Message message(RTM_NEWLINK, 0);
    ifinfomsg fixed{};
    fixed.ifi_index = link.index;
    message.header(fixed);
    {
        const auto info = message.nest(IFLA_LINKINFO);
        message.put(IFLA_INFO_KIND, "bond");
        const auto data = message.nest(IFLA_INFO_DATA);
        putOptions(message, bond);
    }
    return socket.request(message, link.name + ": options");
}

} // namespace openipoib::netlink
