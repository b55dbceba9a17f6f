// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/linux_system.hpp"

#include "bonding/kernel_log.hpp"
#include "ib/ipoib_mode.hpp"
#include "io/process.hpp"
#include "netlink/ipoib_link.hpp"

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace openipoib::bonding
{

namespace
{

constexpr auto sys = "/sys";
constexpr auto driver = "/sys/module/bonding";

// In the kernel's order.
constexpr std::array<std::string_view, 7> modes{"balance-rr", activeBackup, "balance-xor",
                                                "broadcast",  "802.3ad",    "balance-tlb",
                                                "balance-alb"};
constexpr std::array<std::string_view, 3> reselections{"always", "better", "failure"};

template <std::size_t Size>
std::string nameOf(const std::array<std::string_view, Size> &names, std::uint8_t number)
{
    return number < Size ? std::string(names[number]) : std::to_string(number);
}

template <std::size_t Size>
std::uint8_t numberOf(const std::array<std::string_view, Size> &names, const std::string &name)
{
    return static_cast<std::uint8_t>(std::ranges::find(names, name) - names.begin());
}

using Names = std::map<int, std::string>;

std::string lookUp(const Names &names, int index)
{
    const auto found = names.find(index);
    return found == names.end() ? std::string() : found->second;
}

Bond bondOf(const netlink::Bond &raw, const Names &names)
{
    Bond bond;
    bond.mode = nameOf(modes, raw.mode);
    bond.active = lookUp(names, raw.active);
    bond.options = {raw.miimon,
                    raw.arpInterval,
                    {},
                    lookUp(names, raw.primary),
                    nameOf(reselections, raw.primaryReselect),
                    raw.notifications};
    if (!raw.arpInterval) // what is left of an ARP monitor that is off
        return bond;
    for (const auto &target : raw.targets) {
        netlink::Address address;
        address.family = target.size() == 4 ? AF_INET : AF_INET6;
        address.local = target;
        const std::string text = address.text();
        bond.options.arpTargets.push_back(text.substr(0, text.find('/')));
    }
    std::ranges::sort(bond.options.arpTargets);
    return bond;
}

Slave slaveOf(const netlink::BondSlave &raw)
{
    return {raw.linkUp, raw.failures};
}

Interface interfaceOf(const netlink::Link &link, const Names &names)
{
    Interface out;
    out.infiniband = link.isInfiniband();
    out.up = link.isUp();
    out.running = link.isRunning();
    out.mtu = link.mtu;
    out.master = lookUp(names, link.master);
    if (!out.infiniband)
        return out;
    const auto ipoib = netlink::readIpoibLink(sys, link);
    out.connected = ipoib.connected;
    out.pkey = ipoib.pkey.value_or(0xFFFF);
    for (const auto byte : link.gid())
        out.gid += fmt::format("{:02x}", byte);
    return out;
}

// What of an address can be given back, without what the kernel makes of it.
void addAddressTo(Interface &interface, const std::string &name, netlink::Address address)
{
    static constexpr std::uint32_t kept = IFA_F_NODAD | IFA_F_HOMEADDRESS | IFA_F_MANAGETEMPADDR |
                                          IFA_F_NOPREFIXROUTE | IFA_F_MCAUTOJOIN;
    if (address.family == AF_INET6 && address.scope == RT_SCOPE_LINK)
        return;
    address.index = 0;
    address.flags &= kept;
    if (address.label == name)
        address.label.clear();
    interface.addresses.push_back(std::move(address));
}

io::Result<void> loadDriver()
{
    return io::runChecked({"modprobe", "bonding", "max_bonds=0"});
}

} // namespace

io::Result<LinuxSystem> LinuxSystem::open()
{
    auto socket = netlink::Socket::open();
    if (!socket)
        return std::unexpected(socket.error());
    return LinuxSystem(std::move(*socket));
}

io::Result<State> LinuxSystem::read()
{
    const auto links = netlink::links(socket_);
    if (!links)
        return std::unexpected(links.error());
    const auto bonds = netlink::bonds(socket_);
    if (!bonds)
        return std::unexpected(bonds.error());
    const auto addresses = netlink::addresses(socket_);
    if (!addresses)
        return std::unexpected(addresses.error());
    auto records = store_.read();
    if (!records)
        return std::unexpected(records.error());
    State state;
    state.driver = ::access(driver, F_OK) == 0;
    state.records = std::move(*records);
    Names names;
    for (const auto &link : *links)
        names[link.index] = link.name;
    const auto changes = bonds->bonds.empty() ? std::map<std::string, unsigned>() : lastChanges();
    for (const auto &link : *links) {
        Interface interface = interfaceOf(link, names);
        if (const auto bond = bonds->bonds.find(link.index); bond != bonds->bonds.end()) {
            interface.bond = bondOf(bond->second, names);
            if (const auto change = changes.find(link.name); change != changes.end())
                interface.bond->lastChange = change->second;
        }
        if (const auto slave = bonds->slaves.find(link.index); slave != bonds->slaves.end())
            interface.slave = slaveOf(slave->second);
        for (const auto &address : *addresses)
            if (address.index == link.index)
                addAddressTo(interface, link.name, address);
        state.interfaces[link.name] = std::move(interface);
    }
    return state;
}

io::Result<netlink::Bond> LinuxSystem::bondFor(const Step &step)
{
    netlink::Bond bond;
    bond.mode = numberOf(modes, step.value);
    bond.failOverMac = step.value == activeBackup ? 1 : 0;
    bond.miimon = step.options.miimon;
    bond.arpInterval = step.options.arpInterval;
    for (const auto &target : step.options.arpTargets)
        if (const auto address = netlink::parseAddress(target))
            bond.targets.push_back(address->local);
    bond.primaryReselect = numberOf(reselections, step.options.primaryReselect);
    bond.notifications = static_cast<std::uint8_t>(step.options.notifications);
    if (step.options.primary.empty())
        return bond;
    const auto primary = netlink::findLink(socket_, step.options.primary);
    if (!primary)
        return std::unexpected(primary.error());
    bond.primary = primary->index;
    return bond;
}

io::Result<void> LinuxSystem::createBond(const Step &step)
{
    const auto bond = bondFor(step);
    if (!bond)
        return std::unexpected(bond.error());
    return netlink::addBond(socket_, step.target, step.mtu, *bond);
}

io::Result<void> LinuxSystem::enslave(const Step &step, const netlink::Link &link)
{
    const auto bond = netlink::findLink(socket_, step.value);
    if (!bond)
        return std::unexpected(bond.error());
    return netlink::setMaster(socket_, link, bond->index);
}

// Steps about an interface that is there.
io::Result<void> LinuxSystem::change(const Step &step, const netlink::Link &link)
{
    netlink::Address address = step.address;
    address.index = link.index;
    switch (step.kind) {
    case StepKind::setBond: {
        const auto bond = bondFor(step);
        if (!bond)
            return std::unexpected(bond.error());
        return netlink::changeBond(socket_, link, *bond);
    }
    case StepKind::deleteBond:
        return netlink::removeLink(socket_, link);
    case StepKind::setDown:
    case StepKind::setUp:
        return netlink::setUp(socket_, link, step.kind == StepKind::setUp);
    case StepKind::setMtu:
        return netlink::setMtu(socket_, link, step.mtu);
    case StepKind::enslave:
        return enslave(step, link);
    case StepKind::release:
        return netlink::setMaster(socket_, link, 0);
    case StepKind::addAddress:
        return netlink::addAddress(socket_, address);
    case StepKind::removeAddress:
        return netlink::removeAddress(socket_, address);
    default:
        return io::fail(EINVAL, "unknown step");
    }
}

io::Result<void> LinuxSystem::execute(const Step &step)
{
    switch (step.kind) {
    case StepKind::loadDriver:
        return loadDriver();
    case StepKind::keepRecord:
        return store_.keep(step.target, step.record);
    case StepKind::dropRecord:
        return store_.drop(step.target);
    case StepKind::createBond:
        return createBond(step);
    case StepKind::setMode:
        return ib::setMode(sys, step.target, step.value);
    default:
        break;
    }
    const auto link = netlink::findLink(socket_, step.target);
    if (!link)
        return std::unexpected(link.error());
    return change(step, *link);
}

} // namespace openipoib::bonding
