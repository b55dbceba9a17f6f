// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The broadcast group of a partition, which makes the link that IP sees (RFC 4391, section 4).
#include "diagnose/rules.hpp"
#include "diagnose/text.hpp"

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace openipoib::diagnose
{

namespace
{

// An interface whose port can be in a group, as far as is known before groups are looked at. A bond
// joins by its slaves.
const Port *joiningPort(const Facts &facts, const Interface &interface, const Findings &findings)
{
    const Port *port = facts.portOf(interface);
    return port && port->isActive() && !interface.isBond() &&
                   !findings.has("partition-missing", interface.name())
               ? port
               : nullptr;
}

void groupMissing(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces)
        if (interface.broadcast.isMissing() && joiningPort(facts, interface, findings))
            findings.add(
                {.rule = "group-missing",
                 .on = interface.name(),
                 .what = "there is no broadcast group in its partition",
                 .why = "the subnet manager has not made it; without it there is no carrier",
                 .cure = fmt::format("have the subnet manager make it: the word ipoib in "
                                     "the line of the partition {} in opensm's "
                                     "partitions.conf, and SIGHUP to opensm",
                                     pkeyText(interface.partition()))});
}

void groupRate(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const Port *port = joiningPort(facts, interface, findings);
        if (!port || !interface.broadcast.record)
            continue;
        const unsigned own = rateIn(port->shown.rate);
        const unsigned group = rateOf(interface.broadcast.record->rate);
        if (own == 0 || group <= own)
            continue;
        findings.add({.rule = "group-rate",
                      .on = interface.name(),
                      .what = fmt::format("the rate of its broadcast group, {}, is more than that "
                                          "of {}, {}",
                                          rateText(group), port->name(), rateText(own)),
                      .why = "the subnet manager lets no slower port join (status -22 in the "
                             "kernel's log)",
                      .cure = "a lower rate in the line of the partition in opensm's "
                              "partitions.conf (rate=3 is 10 Gb/s), and start opensm again; or "
                              "find out why the link is slow"});
    }
}

void groupMtu(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const Port *port = joiningPort(facts, interface, findings);
        if (!port || port->mtu.value_or(0) == 0 || !interface.broadcast.record)
            continue;
        const unsigned group = mtuOf(interface.broadcast.record->mtu);
        if (group <= *port->mtu)
            continue;
        findings.add(
            {.rule = "group-mtu",
             .on = interface.name(),
             .what = fmt::format("the MTU of its broadcast group, {}, is more than that of "
                                 "{}, {}",
                                 group, port->name(), *port->mtu),
             .why = "the subnet manager lets no port with less join (status -22 in the "
                    "kernel's log)",
             .cure = "mtu=4 (2048) in the line of the partition in opensm's "
                     "partitions.conf, and start opensm again; or give the port more, if "
                     "the adapter can"});
    }
}

void groupKey(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const auto &broadcast = interface.broadcast.record;
        const auto &allNodes = interface.allNodes.record;
        if (interface.isBond() || !broadcast || !allNodes || broadcast->qkey == allNodes->qkey)
            continue;
        findings.add({.rule = "group-key",
                      .on = interface.name(),
                      .what = fmt::format("the Q_Key of its broadcast group is 0x{:x}, that of the "
                                          "group of all IPv6 nodes 0x{:x}",
                                          broadcast->qkey, allNodes->qkey),
                      .why = "the subnet manager has another Q_Key than when hosts joined; hosts "
                             "with the old one do not hear those with the new one",
                      .cure = fmt::format("have all hosts of the partition join once more: ip link "
                                          "set {0} down && ip link set {0} up on each",
                                          interface.name())});
    }
}

void keyViolations(const Facts &facts, Findings &findings)
{
    for (const auto &port : facts.ports)
        if (const auto by = port.counters.grown("qkey_violations"); by > 0)
            findings.add(
                {.rule = "key-violations",
                 .severity = severityOf(by),
                 .on = port.name(),
                 .what = "datagrams with another Q_Key are dropped",
                 .why = fmt::format("while this was looked at, {} have come: some host has "
                                    "another Q_Key of the broadcast group",
                                    by),
                 .cure = "compare the Q_Key (saquery -g), and have all hosts of the "
                         "partition join once more"});
}

void groupLane(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const Port *port = joiningPort(facts, interface, findings);
        const auto &record = interface.broadcast.record;
        if (!port || !record || !port->hasNoLane(record->sl))
            continue;
        findings.add(
            {.rule = "group-lane",
             .on = interface.name(),
             .what = fmt::format("{} drops what it is to send at service level {}, that of "
                                 "its broadcast group",
                                 port->name(), record->sl),
             .why = fmt::format("its table gives that level the virtual lane {}, which it "
                                "does not have for data",
                                port->lanes->at(record->sl)),
             .cure = "sl=0 in the line of the partition in opensm's partitions.conf, or "
                     "another qos_ca_sl2vl in opensm.conf; smpquery sl2vl shows the table"});
    }
}

// Whether the kernel has IPv6 on it, and has had it for longer than duplicate address detection
// takes: it has joined the group by then.
bool hasIpv6(const Interface &interface)
{
    return std::ranges::any_of(interface.addresses, [](const netlink::Address &address) {
        return address.family == AF_INET6 && !(address.flags & IFA_F_TENTATIVE);
    });
}

void groupIpv6(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces)
        if (interface.allNodes.isMissing() && interface.broadcast.record &&
            interface.link.isRunning() && hasIpv6(interface))
            findings.add({.rule = "group-ipv6",
                          .on = interface.name(),
                          .what = "the group of all IPv6 nodes is not there",
                          .why = "the interface has IPv6 addresses, and could not join it or make "
                                 "it; IPv6 does not work",
                          .cure = "the kernel's log (dmesg) and opensm's say why; may hosts make "
                                  "groups there?"});
}

void noCarrier(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const Port *port = joiningPort(facts, interface, findings);
        if (!interface.link.isUp() || interface.link.isRunning() || !port ||
            findings.isExplained(interface.name(), {"group-missing", "group-rate", "group-mtu"}) ||
            findings.isExplained(port->name(),
                                 {"manager-missing", "lid-conflict", "manager-silent"}))
            continue;
        findings.add({.rule = "no-carrier",
                      .on = interface.name(),
                      .what = fmt::format("it has no carrier, though {} is ACTIVE", port->name()),
                      .why = interface.broadcast.record
                                 ? "its broadcast group is there, and it has not joined it yet"
                                 : "it has not joined its broadcast group",
                      .cure = "the kernel's log (dmesg) says what the subnet manager answers; a "
                              "join that fails is tried every 16 seconds"});
    }
}

void mtuBelowGroup(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const auto &record = interface.broadcast.record;
        if (!record || interface.isBond() || interface.connected.value_or(false) ||
            !interface.link.isRunning())
            continue;
        const unsigned most = ipMtuOf(record->mtu);
        if (interface.link.mtu >= most)
            continue;
        findings.add({.rule = "mtu-below-group",
                      .severity = Severity::note,
                      .on = interface.name(),
                      .what = fmt::format("its MTU is {}, its broadcast group allows {}",
                                          interface.link.mtu, most),
                      .why = "somebody has set it; hosts of one link are to have one MTU",
                      .cure = fmt::format("ip link set {} mtu {}", interface.name(), most)});
    }
}

constexpr auto rules = std::to_array<Rule>({
    groupMissing,
    groupRate,
    groupMtu,
    groupLane,
    groupKey,
    keyViolations,
    noCarrier,
    groupIpv6,
    mtuBelowGroup,
});

} // namespace

std::span<const Rule> groupRules()
{
    return rules;
}

} // namespace openipoib::diagnose
