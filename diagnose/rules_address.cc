// SPDX-License-Identifier: GPL-2.0-only OR MIT
// IP addresses, ARP and the tables of neighbours, and RDMA CM, which goes by addresses.
#include "diagnose/rules.hpp"
#include "diagnose/text.hpp"

#include <fmt/format.h>
#include <linux/if_addr.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>

namespace openipoib::diagnose
{

namespace
{

// One that others stand on, or that has given its addresses to a bond or bridge
bool isBelow(const Interface &interface)
{
    return interface.hasChildren || interface.isIn("bond") || interface.isIn("bridge");
}

void noAddress(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const bool hasAddress =
            std::ranges::any_of(interface.addresses,
                                [](const netlink::Address &address) { return !isNarrow(address); });
        if (!interface.link.isRunning() || hasAddress || isBelow(interface) ||
            facts.isOfHa(interface.name()).value_or(true)) // which may have given them away
            continue;
        findings.add(
            {.rule = "no-address",
             // Who asks about it wants it to work; others may be left without on purpose.
             .severity = interface.name() == facts.wanted ? Severity::wrong : Severity::note,
             .on = interface.name(),
             .what = "it has no IP address",
             .why = "it works, and nobody has given it one",
             .cure = fmt::format("ip address add ADDRESS/LENGTH dev {}, or what manages it",
                                 interface.name())});
    }
}

void addressFailed(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces)
        for (const auto &address : interface.addresses)
            if (address.flags & IFA_F_DADFAILED)
                findings.add(
                    {.rule = "address-duplicate",
                     .on = interface.name(),
                     .what = fmt::format("another host has its address {}", address.text()),
                     .why = "duplicate address detection has found that, and the kernel "
                            "does not use the address",
                     .cure = "give one of both another address, and set this one once more"});
}

bool isSameNetwork(const netlink::Address &one, const netlink::Address &other)
{
    if (one.family != other.family || one.prefix != other.prefix || isNarrow(one) ||
        isNarrow(other))
        return false;
    const std::size_t whole = one.prefix / 8U;
    const unsigned rest = one.prefix % 8U;
    if (!std::ranges::equal(io::View(one.local).first(whole), io::View(other.local).first(whole)))
        return false;
    return rest == 0 || one.local[whole] >> (8U - rest) == other.local[whole] >> (8U - rest);
}

const netlink::Link *otherLink(const Facts &facts, int index)
{
    const auto found = std::ranges::find(facts.others, index, &netlink::Link::index);
    return found == facts.others.end() ? nullptr : &*found;
}

// The VRF that an interface with this master is in, 0: none
int vrfOf(const Facts &facts, int master)
{
    const netlink::Link *link = otherLink(facts, master);
    return link && link->kind == "vrf" ? master : 0;
}

// RDMA CM and the routes go by addresses. Two VRFs may have the same ones.
void addressElsewhere(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces)
        for (const auto &address : interface.addresses)
            for (const auto &other : facts.otherAddresses) {
                const netlink::Link *link = otherLink(facts, other.index);
                const bool isSame = address.local == other.local && !isNarrow(address);
                if (!link || link->name == interface.master ||
                    vrfOf(facts, link->master) != vrfOf(facts, interface.link.master) ||
                    findings.has("address-elsewhere", interface.name()) ||
                    (!isSame && !(isSameNetwork(address, other) && link->isUp())))
                    continue;
                findings.add(
                    {.rule = "address-elsewhere",
                     .on = interface.name(),
                     .what = fmt::format("{} has {} {}, too", link->name,
                                         isSame ? "its address" : "an address of its subnet,",
                                         isSame ? address.text() : other.text()),
                     .why = "routes and RDMA CM go by addresses, and may take the wrong "
                            "one of both",
                     .cure = fmt::format("an IP subnet for each: give {} an address of another "
                                         "one, on all hosts of its link; {} may be what this "
                                         "machine is reached by",
                                         interface.name(), link->name)});
            }
}

bool isOnOneLink(const Facts &facts, const Interface &one, const Interface &other)
{
    const Port *port = facts.portOf(one);
    const Port *second = facts.portOf(other);
    if (!port || !second || one.link.broadcast != other.link.broadcast)
        return false;
    if (port == second)
        return true;
    const auto &guid = port->manager.guid;
    // Two subnets may have one prefix, and the same LIDs.
    return guid && second->manager.guid && *guid == *second->manager.guid &&
           port->shown.lid != second->shown.lid;
}

bool hasIpv4(const Interface &interface)
{
    return interface.link.isRunning() &&
           std::ranges::any_of(interface.addresses, [](const netlink::Address &address) {
               return address.family == AF_INET;
           });
}

void arpFlux(const Facts &facts, Findings &findings)
{
    for (auto one = facts.interfaces.begin(); one != facts.interfaces.end(); ++one)
        for (auto other = std::next(one); other != facts.interfaces.end(); ++other) {
            const auto answersForBoth = [](const Interface &interface) {
                return interface.arpIgnore == 0 && interface.arpFilter == 0;
            };
            if (!hasIpv4(*one) || !hasIpv4(*other) || !isOnOneLink(facts, *one, *other) ||
                (!answersForBoth(*one) && !answersForBoth(*other)))
                continue;
            findings.add({.rule = "arp-flux",
                          .on = one->name(),
                          .what = fmt::format("it and {} answer ARP for each other's addresses",
                                              other->name()),
                          .why = "both are in one partition, and arp_ignore and arp_filter are 0: "
                                 "peers may send to the wrong one",
                          .cure = "sysctl -w net.ipv4.conf.all.arp_ignore=1 "
                                  "net.ipv4.conf.all.arp_announce=2"});
        }
}

void addressAnswered(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces)
        for (const auto &address : interface.duplicates)
            findings.add({.rule = "address-duplicate",
                          .on = interface.name(),
                          .what = fmt::format("another host has its address {}", address),
                          .why = "it was asked for by ARP, and somebody else has answered",
                          .cure = "find it (arping -I and the address shows its hardware "
                                  "address), and give one of both another address"});
}

void neighbourLimit(const Facts &facts, Findings &findings)
{
    for (const auto &table : facts.tables) {
        const bool isFull = table.counters.grown("table_fulls") > 0 ||
                            (table.most > 0 && table.entries >= table.most);
        const bool isNearly = table.most > 0 && table.entries * 10 >= table.most * 9;
        if (!isFull && !isNearly)
            continue;
        findings.add(
            {.rule = "neighbour-limit",
             .severity = isFull ? Severity::wrong : Severity::note,
             .on = table.family,
             .what = fmt::format("the table of neighbours is {}full: {} entries, gc_thresh3 "
                                 "is {}",
                                 isFull ? "" : "nearly ", table.entries, table.most),
             .why = "for what does not fit, packets are dropped (\"neighbour table "
                    "overflow\" in the kernel's log)",
             .cure = fmt::format("sysctl -w net.{0}.neigh.default.gc_thresh3={1} "
                                 "net.{0}.neigh.default.gc_thresh2={2}",
                                 table.family, std::max<std::uint64_t>(8192, table.most * 4),
                                 std::max<std::uint64_t>(4096, table.most * 2))});
    }
}

// What will be full if this host speaks with all others
void neighbourRoom(const Facts &facts, Findings &findings)
{
    // Each port has at least one LID, of which there are no gaps as a rule.
    std::size_t hosts = 0;
    for (const auto &port : facts.ports)
        hosts = std::max<std::size_t>(hosts, port.lids.value_or(0) >> port.lmc);
    for (const auto &table : facts.tables) {
        if (table.most == 0 || hosts <= table.most || findings.has("neighbour-limit", table.family))
            continue;
        const auto enough = std::bit_ceil(hosts) * 2;
        findings.add(
            {.rule = "neighbour-room",
             .severity = Severity::note,
             .on = table.family,
             .what = fmt::format("the table of neighbours holds {} at most, and the subnet "
                                 "has up to {} ports",
                                 table.most, hosts),
             .why = "gc_thresh3; once this host speaks with more, packets are dropped",
             .cure = fmt::format("sysctl -w net.{0}.neigh.default.gc_thresh3={1} "
                                 "net.{0}.neigh.default.gc_thresh2={2}",
                                 table.family, enough, enough / 2)});
    }
}

void vrf(const Facts &facts, Findings &findings)
{
    constexpr std::pair<unsigned, unsigned> mended{6, 18};
    for (const auto &interface : facts.interfaces) {
        if (!interface.isIn("vrf"))
            continue;
        const bool isRefused = !facts.isOurs && facts.kernel < mended;
        findings.add({.rule = "vrf",
                      .severity = isRefused ? Severity::wrong : Severity::note,
                      .on = interface.name(),
                      .what = fmt::format("it is in the VRF {}{}", interface.master,
                                          isRefused ? ", where RDMA CM does not find it" : ""),
                      .why = isRefused ? "the ib_ipoib of kernels before 6.18 does not look into "
                                         "the tables of VRFs"
                                       : "programs outside of the VRF do not reach its peers",
                      .cure = isRefused
                                  ? fmt::format("openipoib-dkms, a newer kernel, or ip link set {} "
                                                "nomaster",
                                                interface.name())
                                  : fmt::format("ip vrf exec {} PROGRAM", interface.master)});
    }
}

void rdmaCm(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces)
        for (const auto &binding : interface.bindings) {
            const bool isElsewhere =
                binding.error == 0 && !interface.hca.empty() && binding.device != interface.hca;
            if ((binding.error == 0 && !isElsewhere) ||
                findings.isExplained(interface.name(),
                                     {"subnet-prefix", "address-elsewhere", "vrf", "rdma-cm"}))
                continue;
            findings.add(
                {.rule = "rdma-cm",
                 .on = interface.name(),
                 .what = fmt::format("RDMA CM does not find it by its address {}", binding.address),
                 .why = isElsewhere
                            ? fmt::format("it finds {}, and not {}",
                                          binding.device.empty() ? "no adapter" : binding.device,
                                          interface.hca)
                            : fmt::format("to bind to it: {}", errorText(binding.error)),
                 .cure = "has another interface this address? Are interface and RDMA "
                         "device in one network namespace (rdma system show)?"});
        }
}

constexpr auto rules = std::to_array<Rule>({
    noAddress,
    addressElsewhere,
    arpFlux,
    addressFailed,
    addressAnswered,
    neighbourLimit,
    neighbourRoom,
    vrf,
    rdmaCm,
});

} // namespace

std::span<const Rule> addressRules()
{
    return rules;
}

} // namespace openipoib::diagnose
