// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/if_addr.h>

namespace openipoib::bonding
{

namespace
{

std::string targets(const Options &options, bool ipv6)
{
    std::vector<std::string> chosen;
    for (const auto &target : options.arpTargets)
        if ((target.find(':') != std::string::npos) == ipv6)
            chosen.push_back(target);
    return chosen.empty() ? std::string()
                          : fmt::format(" {} {}", ipv6 ? "ns_ip6_target" : "arp_ip_target",
                                        fmt::join(chosen, ","));
}

std::string words(const Options &options)
{
    std::string out = options.arpInterval
                          ? fmt::format("arp_interval {}{}{}", options.arpInterval,
                                        targets(options, false), targets(options, true))
                          : fmt::format("miimon {}", options.miimon);
    if (!options.primary.empty())
        out += fmt::format(" primary {}", options.primary);
    return out + fmt::format(" primary_reselect {} num_grat_arp {}", options.primaryReselect,
                             options.notifications);
}

std::string withTimes(const netlink::Address &address)
{
    std::string out = address.text();
    if (!address.broadcast.empty())
        out += fmt::format(" broadcast {}.{}.{}.{}", address.broadcast[0], address.broadcast[1],
                           address.broadcast[2], address.broadcast[3]);
    if (address.metric)
        out += fmt::format(" metric {}", address.metric);
    if (address.protocol)
        out += fmt::format(" proto {}", address.protocol);
    if (address.scope == 253)
        out += " scope link";
    else if (address.scope == 254)
        out += " scope host";
    if (!address.label.empty())
        out += " label " + address.label;
    if (address.flags & IFA_F_NOPREFIXROUTE)
        out += " noprefixroute";
    if (address.valid != UINT32_MAX)
        out += fmt::format(" valid_lft {}", address.valid);
    if (address.preferred != UINT32_MAX)
        out += fmt::format(" preferred_lft {}", address.preferred);
    return out;
}

} // namespace

std::string command(const Step &step)
{
    switch (step.kind) {
    case StepKind::loadDriver:
        return "modprobe bonding max_bonds=0";
    case StepKind::keepRecord: {
        std::vector<std::string> names;
        names.reserve(step.record.size());
        for (const auto &[name, before] : step.record)
            names.push_back(name);
        return fmt::format("# keep what {} {} now for the end of {}", fmt::join(names, ", "),
                           names.size() == 1 ? "is" : "are", step.target);
    }
    case StepKind::dropRecord:
        return fmt::format("# forget what {} took", step.target);
    case StepKind::createBond:
        return fmt::format(
            "ip link add {} mtu {} type bond mode {}{}", step.target, step.mtu, step.value,
            step.value == activeBackup ? " fail_over_mac active " + words(step.options)
                                       : fmt::format(" miimon {}", step.options.miimon));
    case StepKind::setBond:
        return fmt::format("ip link set {} type bond {}", step.target, words(step.options));
    case StepKind::deleteBond:
        return fmt::format("ip link delete {}", step.target);
    case StepKind::setDown:
    case StepKind::setUp:
        return fmt::format("ip link set {} {}", step.target,
                           step.kind == StepKind::setUp ? "up" : "down");
    case StepKind::setMode:
        return fmt::format("echo {} > /sys/class/net/{}/mode", step.value, step.target);
    case StepKind::setMtu:
        return fmt::format("ip link set {} mtu {}", step.target, step.mtu);
    case StepKind::enslave:
        return fmt::format("ip link set {} master {}", step.target, step.value);
    case StepKind::release:
        return fmt::format("ip link set {} nomaster", step.target);
    case StepKind::addAddress:
        return fmt::format("ip address add {} dev {}", withTimes(step.address), step.target);
    case StepKind::removeAddress:
        return fmt::format("ip address delete {} dev {}", step.address.text(), step.target);
    }
    return {};
}

} // namespace openipoib::bonding
