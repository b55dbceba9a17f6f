// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Interfaces by netlink and sysfs.
#include "conf/openib/linux_state.hpp"
#include "diagnose/gather.hpp"
#include "diagnose/gather_parts.hpp"
#include "diagnose/hardware.hpp"
#include "diagnose/text.hpp"
#include "io/file.hpp"
#include "io/unique_fd.hpp"
#include "netlink/ethtool.hpp"
#include "netlink/ipoib_link.hpp"
#include "netlink/manager.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>
#include <thread>

namespace openipoib::diagnose
{

namespace
{

using netlink::Link;

// The subnet prefix in its hardware address may be an old one: a port is known by its GUID.
void findPort(const openib::State &state, Interface &interface)
{
    const io::Bytes gid = interface.link.gid();
    if (gid.size() != sizeof(ib::Gid))
        return;
    std::string guid;
    for (const auto byte : io::View(gid).subspan(prefixBytes))
        guid += fmt::format("{:02x}", byte);
    for (const auto &hca : state.hcas)
        for (const auto &port : hca.ports)
            if (port.gid.ends_with(guid)) {
                interface.hca = hca.name;
                interface.port = port.number;
            }
}

// ifupdown notes "ib0=ib0" for each that it has set up.
bool isIfupdowns(const std::string &run, const std::string &name)
{
    const auto text = io::readFile(run + "/network/ifstate").value_or("");
    return ("\n" + text).find("\n" + name + "=") != std::string::npos;
}

unsigned arpSetting(const openib::Roots &roots, const std::string &name, const char *setting)
{
    const auto value = [&](const std::string &of) {
        return numberIn(fmt::format("{}/sys/net/ipv4/conf/{}/{}", roots.proc, of, setting));
    };
    return static_cast<unsigned>(std::max(value("all"), value(name)));
}

const Link *linkOf(const std::vector<Link> &links, int index)
{
    const auto found = std::ranges::find(links, index, &Link::index);
    return index && found != links.end() ? &*found : nullptr;
}

Interface describe(const openib::Roots &roots, const openib::State &state,
                   const std::vector<Link> &links, const Link &link)
{
    Interface interface;
    interface.link = link;
    const auto ipoib = netlink::readIpoibLink(roots.sys, link, links);
    interface.pkey = ipoib.pkey;
    interface.connected = ipoib.connected;
    interface.parent = ipoib.parent;
    interface.hasChildren = std::ranges::find(links, link.index, &Link::parent) != links.end();
    findPort(state, interface);
    interface.managers = netlink::managersOf("/run", link.index);
    if (isIfupdowns("/run", link.name))
        interface.managers.emplace_back("ifupdown");
    if (const Link *master = linkOf(links, link.master)) {
        interface.master = master->name;
        interface.masterKind = master->kind;
    }
    interface.arpIgnore = arpSetting(roots, link.name, "arp_ignore");
    interface.arpFilter = arpSetting(roots, link.name, "arp_filter");
    return interface;
}

void readBonds(netlink::Socket &socket, const std::vector<Link> &links, Facts &facts)
{
    const auto bonds = netlink::bonds(socket);
    if (!bonds)
        return;
    for (const auto &[index, bond] : bonds->bonds)
        if (const Link *link = linkOf(links, index))
            facts.bonds[link->name] = bond;
}

void readQueues(std::vector<Interface> &interfaces)
{
    const auto ethtool = netlink::Ethtool::open();
    if (!ethtool)
        return;
    for (auto &interface : interfaces) {
        if (const auto queues = ethtool->queues(interface.name()))
            interface.queues = *queues;
        interface.features = ethtool->features(interface.name()).value_or(interface.features);
    }
}

// The name of an IPoIB interface in that namespace, of @wanted if it is not empty; "": there is
// none, or this process may not look.
std::string interfaceIn(const std::string &path, const std::string &wanted)
{
    std::string found;
    // A thread may be in another network namespace than the process.
    std::thread([&] {
        const io::UniqueFd space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (!space || ::setns(space.get(), CLONE_NEWNET) < 0)
            return;
        auto socket = netlink::Socket::open();
        const auto links = socket ? netlink::links(*socket)
                                  : io::Result<std::vector<Link>>(std::unexpected(socket.error()));
        if (!links)
            return;
        for (const auto &link : *links)
            if (link.isInfiniband() && (wanted.empty() || link.name == wanted))
                found = link.name;
    }).join();
    return found;
}

} // namespace

std::vector<Interface> subjectsOf(std::vector<Interface> all, const std::string &wanted)
{
    std::set<std::string> names{wanted};
    for (const auto &interface : all) {
        const bool isUsed =
            interface.link.isUp() || !interface.addresses.empty() || !interface.master.empty();
        if (wanted.empty() ? isUsed : interface.master == wanted)
            names.insert(interface.name());
        if (interface.name() == wanted) {
            names.insert(interface.parent);
            names.insert(interface.master);
        }
    }
    if (wanted.empty() && names.size() == 1)
        return all;
    std::erase_if(all, [&](const Interface &one) { return !names.contains(one.name()); });
    return all;
}

io::Result<void> readInterfaces(netlink::Socket &socket, const openib::Roots &roots,
                                const std::string &wanted, Facts &facts)
{
    const auto links = netlink::links(socket);
    if (!links)
        return std::unexpected(links.error());
    const auto addresses = netlink::addresses(socket);
    if (!addresses)
        return std::unexpected(addresses.error());
    std::vector<Interface> all;
    for (const auto &link : *links) {
        if (!link.isInfiniband()) {
            facts.others.push_back(link);
            continue;
        }
        facts.hardware.push_back(link.address);
        Interface interface = describe(roots, facts.state, *links, link);
        for (const auto &address : *addresses)
            if (address.index == link.index)
                interface.addresses.push_back(address);
        all.push_back(std::move(interface));
    }
    for (const auto &address : *addresses)
        if (linkOf(facts.others, address.index))
            facts.otherAddresses.push_back(address);
    std::ranges::sort(all, {}, &Interface::name);
    facts.interfaces = subjectsOf(std::move(all), wanted);
    readQueues(facts.interfaces);
    readBonds(socket, *links, facts);
    return {};
}

std::string findElsewhere(const std::string &wanted)
{
    const std::string folder = "/run/netns/";
    for (const auto &name : io::folder(folder))
        if (!interfaceIn(folder + name, wanted).empty())
            return name;
    return {};
}

void noteReply(int index, io::View address, io::View hardware, Facts &facts)
{
    if (hardware.empty() || std::ranges::any_of(facts.hardware, [&](const io::Bytes &own) {
            return own.size() == hardware.size() &&
                   std::ranges::equal(io::View(own).subspan(1), hardware.subspan(1));
        }))
        return;
    for (auto &interface : facts.interfaces)
        for (const auto &own : interface.addresses)
            if (interface.link.index == index && std::ranges::equal(own.local, address) &&
                std::ranges::find(interface.duplicates, addressText(address)) ==
                    interface.duplicates.end())
                interface.duplicates.push_back(addressText(address));
}

void readNeighbours(netlink::Socket &socket, const openib::Roots &roots, Facts &facts)
{
    const auto all = netlink::neighbours(socket);
    if (!all) {
        facts.unseen.push_back({"neighbours", all.error().text()});
        return;
    }
    for (auto &table : facts.tables) {
        const int family = table.family == "ipv4" ? AF_INET : AF_INET6;
        table.entries = static_cast<std::size_t>(
            std::ranges::count_if(*all, [&](const netlink::Neighbour &one) {
                return one.family == family && one.isLimited();
            }));
        // Network namespaces other than the first have no such file.
        table.most = numberIn(
            fmt::format("{}/sys/net/{}/neigh/default/gc_thresh3", roots.proc, table.family));
    }
    for (const auto &one : *all)
        for (const auto &interface : facts.interfaces)
            if (interface.link.index == one.index)
                facts.neighbours.push_back(one);
}

} // namespace openipoib::diagnose
