// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/kernel.hpp"

#include "ha-daemon/linux/pieces.hpp"
#include "ha-daemon/linux/route.hpp"
#include "io/file.hpp"
#include "netlink/ipoib_link.hpp"
#include "netlink/manager.hpp"

#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>

namespace openipoib::ha
{

namespace
{

using netlink::Link;
using netlink::Message;

constexpr std::array<unsigned char, 2> families{AF_INET, AF_INET6};
constexpr std::array settings{"arp_accept",         "arp_announce", "arp_filter",
                              "arp_ignore",         "arp_notify",   "ignore_routes_with_linkdown",
                              "promote_secondaries"};

std::string folderOf(const std::string &interface)
{
    return "/sys/class/net/" + interface + "/";
}

std::string settingPath(const std::string &interface, const std::string &name)
{
    return name == "umcast" ? folderOf(interface) + name
                            : "/proc/sys/net/ipv4/conf/" + interface + "/" + name;
}

bool isItem(const Step &step)
{
    return step.act == Act::put || step.act == Act::drop;
}

// It is as it should be, though not by this step.
bool isDone(const Step &step, int code)
{
    if (step.act == Act::put)
        return code == EEXIST;
    return code == ESRCH || code == EADDRNOTAVAIL || code == ENOENT || code == ENODEV;
}

// What is given to an interface in one batch is taken from the one that it stands for.
Indexes movedBy(std::span<const Step> steps, const Indexes &others)
{
    Indexes moved;
    for (const auto &step : steps) {
        const auto from = others.find(step.index);
        if (step.act == Act::put && belongs(step.item) && from != others.end() && from->second)
            moved[from->second] = step.index;
    }
    return moved;
}

Message familyDump(int type, unsigned char family)
{
    Message message(type, 0);
    if (type == RTM_GETADDR) {
        ifaddrmsg fixed{};
        fixed.ifa_family = family;
        message.header(fixed);
    } else if (type == RTM_GETROUTE) {
        rtmsg fixed{};
        fixed.rtm_family = family;
        message.header(fixed);
    } else if (type == RTM_GETRULE) {
        fib_rule_hdr fixed{};
        fixed.family = family;
        message.header(fixed);
    } else {
        ndmsg fixed{};
        fixed.ndm_family = family;
        message.header(fixed);
    }
    return message;
}

} // namespace

io::Result<Kernel> Kernel::open()
{
    auto socket = netlink::Socket::open();
    if (!socket)
        return std::unexpected(socket.error());
    return Kernel(std::move(*socket));
}

const Link *Kernel::link(int index) const
{
    const auto found = std::ranges::find(links_, index, &Link::index);
    return found == links_.end() ? nullptr : &*found;
}

const Link *Kernel::vrfOf(const Link &link) const
{
    const Link *master = link.master ? this->link(link.master) : nullptr;
    return master && master->vrfTable ? master : nullptr;
}

Interface Kernel::describe(const Link &link) const
{
    Interface out;
    out.name = link.name;
    out.index = link.index;
    out.infiniband = link.isInfiniband();
    out.up = link.isUp();
    out.carrier = link.isRunning();
    out.dormant = out.carrier && link.operState == IF_OPER_DORMANT;
    out.mtu = link.mtu;
    const Link *vrf = vrfOf(link);
    out.enslaved = link.master && !vrf;
    out.vrf = vrf ? vrf->name : "";
    out.router = io::readLine("/proc/sys/net/ipv6/conf/" + link.name + "/forwarding") == "1";
    if (const auto managers = netlink::managersOf("/run", link.index); !managers.empty())
        out.manager = managers.front();
    out.hardware = link.address;
    const auto ipoib = netlink::readIpoibLink("/sys", link);
    out.pkey = ipoib.pkey.value_or(0);
    out.connected = ipoib.connected;
    if (ipoib.umcast)
        out.settings["umcast"] = *ipoib.umcast ? "1" : "0";
    for (const char *name : settings)
        if (const auto value = io::readLine(settingPath(link.name, name)); !value.empty())
            out.settings[name] = value;
    return out;
}

io::Result<std::vector<Row>> Kernel::see(const std::vector<std::string> &names, Time now)
{
    auto links = netlink::links(socket_);
    if (!links)
        return std::unexpected(links.error());
    links_ = std::move(*links);
    std::vector<Row> rows(1);
    for (const auto &name : names)
        rows[0].interfaces.push_back(absent(name));
    for (std::size_t place = 0; place < names.size(); ++place) {
        const auto own = std::ranges::find(links_, names[place], &Link::name);
        if (own == links_.end())
            continue;
        rows[0].interfaces[place] = describe(*own);
        addChildren(rows, place, own->index, names);
    }
    if (auto done = pieces(rows, now); !done)
        return std::unexpected(done.error());
    return rows;
}

void Kernel::addChildren(std::vector<Row> &rows, std::size_t place, int parent,
                         const std::vector<std::string> &names) const
{
    for (const auto &link : links_) {
        if (link.parent != parent || link.index == parent || !link.isInfiniband())
            continue;
        const std::uint16_t pkey = netlink::readIpoibLink("/sys", link).pkey.value_or(0);
        if (!pkey)
            continue;
        auto row = std::ranges::find(rows, pkey, &Row::child);
        if (row == rows.end()) {
            Row fresh{.child = pkey, .interfaces = {}};
            for (const auto &name : names)
                fresh.interfaces.push_back(absent(netlink::childName(name, pkey)));
            row = rows.insert(rows.end(), std::move(fresh));
        }
        row->interfaces[place] = describe(link);
    }
}

io::Result<void> Kernel::dump(const Message &request, std::vector<Row> &rows, Time now)
{
    struct Target {
        const Link *link;
        Items *items;
        std::size_t before;
    };
    std::vector<Target> targets;
    for (auto &row : rows)
        for (auto &interface : row.interfaces)
            if (const Link *one = link(interface.index))
                targets.push_back({one, &interface.items, interface.items.size()});
    return socket_.dump(
        request, "list of what interfaces have",
        [&](nlmsghdr *message) {
            for (auto &target : targets)
                if (auto item = readPiece(message, *target.link, now))
                    target.items->push_back(std::move(*item));
        },
        [&] {
            for (auto &target : targets)
                target.items->resize(target.before);
        });
}

io::Result<void> Kernel::pieces(std::vector<Row> &rows, Time now)
{
    for (const int type : {RTM_GETADDR, RTM_GETROUTE, RTM_GETRULE, RTM_GETNEIGH})
        for (const auto family : families) {
            const auto done = dump(familyDump(type, family), rows, now);
            // A kernel without IPv6 or without rules
            if (!done && done.error().code != EOPNOTSUPP && done.error().code != EAFNOSUPPORT)
                return done;
        }
    for (auto &row : rows)
        for (auto &interface : row.interfaces) {
            const Link *own = link(interface.index);
            const Link *vrf = own ? vrfOf(*own) : nullptr;
            interface.standIns = standInsFor(interface.items, vrf ? vrf->vrfTable : RT_TABLE_MAIN);
        }
    return {};
}

std::vector<Outcome> Kernel::execute(const Steps &steps, const Indexes &others, Time now)
{
    std::vector<Outcome> outcomes;
    for (auto from = steps.begin(); from != steps.end();) {
        const auto to = std::find_if_not(from, steps.end(), isItem);
        executeItems({from, to}, others, now, outcomes);
        from = to;
        if (from == steps.end())
            break;
        const auto done = change(*from);
        outcomes.push_back(
            {*from, done ? 0 : done.error().code, done ? std::string() : done.error().text()});
        ++from;
    }
    return outcomes;
}

void Kernel::executeItems(std::span<const Step> steps, const Indexes &others, Time now,
                          std::vector<Outcome> &outcomes)
{
    std::vector<Message> messages;
    messages.reserve(steps.size());
    const Indexes moved = movedBy(steps, others);
    for (const auto &step : steps)
        messages.push_back(step.act == Act::put
                               ? putMessage(step.item, step.index, step.interface, now, moved)
                               : dropMessage(step.item, step.index, step.interface));
    const auto answers = socket_.requestAll(messages);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        io::Error answer = answers ? (*answers)[i] : answers.error();
        if (isDone(steps[i], answer.code))
            answer.code = 0;
        std::string words = std::generic_category().message(answer.code);
        if (!answer.context.empty())
            words += " (" + answer.context + ")";
        outcomes.push_back({steps[i], answer.code, answer.code ? words : std::string()});
    }
}

io::Result<void> Kernel::change(const Step &step)
{
    const Link *known = link(step.index);
    if (!known)
        return io::fail(ENODEV, step.interface);
    switch (step.act) {
    case Act::up:
        return netlink::setUp(socket_, *known, true);
    case Act::mtu:
        return netlink::setMtu(socket_, *known, static_cast<unsigned>(std::stoul(step.value)));
    case Act::mode:
        return io::writeFile(folderOf(step.interface) + "mode", step.value + "\n");
    case Act::setting:
        return io::writeFile(settingPath(step.interface, step.name), step.value + "\n");
    case Act::turn:
        // Up to a second before it looks at the carrier itself, and then comes to "down".
        return netlink::setOperState(socket_, *known, IF_OPER_DORMANT);
    case Act::wake:
        return netlink::setOperState(socket_, *known, IF_OPER_UP);
    case Act::put:
    case Act::drop:
        break;
    }
    return io::fail(EINVAL, step.interface);
}

} // namespace openipoib::ha
