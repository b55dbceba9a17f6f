// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The subnet manager, and the partitions that a port is in.
#include "diagnose/hardware.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/text.hpp"

#include <fmt/format.h>
#include <linux/neighbour.h>

#include <algorithm>
#include <array>

namespace openipoib::diagnose
{

namespace
{

constexpr std::uint16_t fullMember = 0x8000;

void managerMissing(const Facts &facts, Findings &findings)
{
    for (const auto &port : facts.ports)
        if (port.isActive() && port.smLid == 0)
            findings.add({.rule = "manager-missing",
                          .on = port.name(),
                          .what = "the port knows of no subnet manager",
                          .why = "it is ACTIVE, and the LID of its subnet manager is 0",
                          .cure = "start one subnet manager (opensm) in the subnet"});
}

void managerSilent(const Facts &facts, Findings &findings)
{
    for (const auto &port : facts.ports) {
        const Reply reply = port.manager.administration.reply;
        if (!port.isActive() ||
            findings.isExplained(port.name(), {"manager-missing", "lid-conflict"}) ||
            (reply != Reply::silent && reply != Reply::refused) ||
            port.manager.administration.isBusy()) // which is there
            continue;
        findings.add(
            {.rule = "manager-silent",
             .on = port.name(),
             .what = fmt::format("no subnet manager answers at LID {}", port.smLid),
             .why = reply == Reply::silent
                        ? "the host with that LID says nothing: it is down, or cut off"
                        : fmt::format("the host with that LID runs none any more (status "
                                      "0x{:04x}); what is joined goes on, nothing else will",
                                      port.manager.administration.status),
             .cure =
                 "start a subnet manager (opensm, or that of a managed switch); if one runs, see "
                 "that no other port has the LID of this one"});
    }
}

// By the SA, or by the other end of the cable: a host whose answers go elsewhere does not hear the
// SA. A port whose GID the SA knows by this LID shares it, as virtual functions do.
std::string otherOwner(const Port &port)
{
    const std::uint64_t own = guidOf(gidIn(port.shown.gid));
    if (port.manager.administration.reply == Reply::answered) {
        const bool isOthers = port.lidOwner && own != 0 && port.lidOwner->portGuid != own &&
                              port.knownLid && (*port.knownLid ^ port.shown.lid) >> port.lmc != 0;
        return isOthers ? port.lidOwner->description : std::string();
    }
    const bool isFar = port.far && port.far->info && port.far->info->lid == port.shown.lid;
    return isFar && port.shown.lid != 0 ? port.far->description : std::string();
}

void lidConflict(const Facts &facts, Findings &findings)
{
    for (const auto &port : facts.ports) {
        const std::string other = otherOwner(port);
        if (!port.isActive() || other.empty())
            continue;
        findings.add({.rule = "lid-conflict",
                      .on = port.name(),
                      .what = fmt::format("its LID {} is that of {}, too", port.shown.lid, other),
                      .why = "somebody has set it by hand, or two subnet managers give LIDs in one "
                             "subnet; what is sent there reaches one of the two",
                      .cure =
                          "leave one master subnet manager (sminfo), and have it give new LIDs: "
                          "opensm -r, or pull the cable and plug it in"});
    }
}

// The subnet prefix has changed, and somebody still has the old one.
void subnetPrefix(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const Port *port = facts.portOf(interface);
        const io::Bytes own = interface.link.gid();
        if (port && !interface.isBond() && !isSamePrefix(own, gidIn(port->shown.gid)))
            findings.add(
                {.rule = "subnet-prefix",
                 .on = interface.name(),
                 .what = fmt::format("its hardware address has the GID {}, {} has {}", gidText(own),
                                     port->name(), gidText(gidIn(port->shown.gid))),
                 .why = "a subnet manager with another subnet prefix has taken over",
                 .cure = fmt::format("ip link set {0} down && ip link set {0} up; give all "
                                     "subnet managers one subnet_prefix",
                                     interface.name())});
    }
}

void neighbourPrefix(const Facts &facts, Findings &findings)
{
    for (const auto &neighbour : facts.neighbours) {
        const auto interface = std::ranges::find_if(facts.interfaces, [&](const Interface &one) {
            return one.link.index == neighbour.index;
        });
        const io::View gid = gidOf(neighbour.hardware);
        if (interface == facts.interfaces.end() || gid.empty() ||
            (neighbour.state & (NUD_NOARP | NUD_FAILED)))
            continue;
        const io::Bytes own = interface->link.gid();
        if (isSamePrefix(own, gid) || findings.has("neighbour-prefix", interface->name()))
            continue;
        findings.add({.rule = "neighbour-prefix",
                      .on = interface->name(),
                      .what = fmt::format("its neighbour {} has the GID {}, of another subnet",
                                          addressText(neighbour.address), gidText(gid)),
                      .why = fmt::format("its own GID is {}: one of both has the subnet prefix of "
                                         "another subnet manager",
                                         gidText(own)),
                      .cure = fmt::format("ip neigh flush dev {}; give all subnet managers of the "
                                          "subnet one subnet_prefix",
                                          interface->name())});
    }
}

void partitionMissing(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const Port *port = facts.portOf(interface);
        if (!port || !port->isActive() || !interface.pkey || port->pkeys.empty())
            continue;
        const auto isOurs = [&](std::uint16_t pkey) {
            return (pkey | fullMember) == (*interface.pkey | fullMember);
        };
        if (std::ranges::any_of(port->pkeys, isOurs))
            continue;
        findings.add({.rule = "partition-missing",
                      .on = interface.name(),
                      .what = fmt::format("its P_Key {} is not in the table of {}",
                                          pkeyText(*interface.pkey), port->name()),
                      .why = "the subnet manager has not made the port a member of the partition",
                      .cure = fmt::format("add the port to the partition, in opensm's "
                                          "partitions.conf \"name=0x{:x},ipoib:ALL=full;\", and "
                                          "send opensm SIGHUP",
                                          *interface.pkey & ~fullMember)});
    }
}

void partitionLimited(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const Port *port = facts.portOf(interface);
        if (!port || !port->isActive() || !interface.pkey)
            continue;
        const auto has = [&](int pkey) {
            return std::ranges::find(port->pkeys, pkey) != port->pkeys.end();
        };
        if (has(*interface.pkey | fullMember) || !has(*interface.pkey & ~fullMember))
            continue;
        findings.add({.rule = "partition-limited",
                      .on = interface.name(),
                      .what = fmt::format("{} is a limited member of the partition {}",
                                          port->name(), pkeyText(*interface.pkey)),
                      .why = "limited members hear full members alone, not each other",
                      .cure = "make it a full one, in opensm's partitions.conf "
                              "\"ALL=full\" or the port's GUID with \"=full\", and send opensm "
                              "SIGHUP"});
    }
}

void partitionViolations(const Facts &facts, Findings &findings)
{
    constexpr std::array<std::string_view, 3> names{"bad_pkey", "port_rcv_constraint_errors",
                                                    "port_xmit_constraint_errors"};
    for (const auto &port : facts.ports)
        for (const auto name : names)
            if (const auto by = port.counters.grown(name); by > 0)
                findings.add(
                    {.rule = "partition-violations",
                     .severity = severityOf(by),
                     .on = port.name(),
                     .what = "packets of a partition that the port is not in are dropped",
                     .why = fmt::format("while this was looked at, {} has grown by {}", name, by),
                     .cure = "compare the P_Key tables of both hosts "
                             "(smpquery pkeys), and the subnet manager's partitions"});
}

constexpr auto rules = std::to_array<Rule>({
    managerMissing,
    lidConflict,
    managerSilent,
    subnetPrefix,
    partitionMissing,
    partitionLimited,
    partitionViolations,
    neighbourPrefix,
});

} // namespace

std::span<const Rule> subnetRules()
{
    return rules;
}

} // namespace openipoib::diagnose
