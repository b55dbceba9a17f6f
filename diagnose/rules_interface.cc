// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Interfaces: who sets them up, whether they are up, and what drops their packets.
#include "diagnose/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace openipoib::diagnose
{

namespace
{

constexpr std::uint8_t activeBackup = 1;

std::string unmanagedCure(const Interface &interface)
{
    return fmt::format("leave it to one of them: \"Unmanaged=yes\" in a .network file of "
                       "systemd-networkd, unmanaged-devices=interface-name:{0} for "
                       "NetworkManager, no \"iface {0}\" for ifupdown",
                       interface.name());
}

void managers(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces)
        if (interface.managers.size() > 1)
            findings.add({.rule = "two-managers",
                          .on = interface.name(),
                          .what = fmt::format("{} manage it at the same time",
                                              fmt::join(interface.managers, " and ")),
                          .why = "each takes away what the other one sets",
                          .cure = unmanagedCure(interface)});
        else if (!interface.managers.empty() && facts.isOfHa(interface.name()).value_or(false))
            findings.add(
                {.rule = "two-managers",
                 .severity = Severity::note,
                 .on = interface.name(),
                 .what = fmt::format("{} manages it beside ipoib-ha", interface.managers.front()),
                 .why = "it may take away addresses that ipoib-ha has moved",
                 .cure = unmanagedCure(interface)});
}

void down(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        if (interface.link.isUp())
            continue;
        const Interface *parent = facts.interface(interface.parent);
        const std::string &which =
            parent && !parent->link.isUp() ? parent->name() : interface.name();
        findings.add({.rule = "down",
                      .on = interface.name(),
                      .what = "it is down",
                      .why = which == interface.name() ? "somebody has set it down, or nobody up"
                                                       : fmt::format("so is {}, its parent", which),
                      .cure = fmt::format("ip link set {} up", which)});
    }
}

void highAvailability(const Facts &facts, Findings &findings)
{
    if (!facts.wantsHa || facts.state.haRunning || !facts.state.haWrong.empty())
        return;
    if (facts.haProcess > 0)
        findings.add({.rule = "ha-other",
                      .severity = Severity::note,
                      .on = "ipoib-ha",
                      .what = fmt::format("it runs as process {}, which openib has not started",
                                          facts.haProcess),
                      .why = "openib.conf has IPOIBHA_ENABLE=yes, and whoever has started that "
                             "process has to see that it goes on",
                      .cure = "if openib is to have it: end that process, and systemctl start "
                              "ipoib-ha"});
    else
        findings.add({.rule = "ha-dead",
                      .on = "ipoib-ha",
                      .what = "it does not run",
                      .why = "openib.conf has IPOIBHA_ENABLE=yes; a port that fails takes its "
                             "addresses with it",
                      .cure = "systemctl restart ipoib-ha, or openib start; its last words are in "
                              "the journal"});
}

void bondMode(const Facts &facts, Findings &findings)
{
    for (const auto &[name, bond] : facts.bonds) {
        const bool hasSlave = std::ranges::any_of(
            facts.interfaces, [&](const Interface &interface) { return interface.master == name; });
        const bool isWanted = std::ranges::find(facts.wantBonds, name) != facts.wantBonds.end();
        // The kernel refuses IPoIB slaves of others.
        if (bond.mode != activeBackup && (hasSlave || isWanted))
            findings.add({.rule = "bond-mode",
                          .on = name,
                          .what = fmt::format("its mode is {}, and not active-backup", bond.mode),
                          .why = "IPoIB interfaces can be in bonds of that mode alone",
                          .cure = fmt::format("ip link delete {0}, and make it with ib-bond, or "
                                              "with ip link add {0} type bond mode active-backup "
                                              "miimon 100",
                                              name)});
        else if (hasSlave && bond.miimon == 0 && bond.arpInterval == 0)
            findings.add({.rule = "bond-monitor",
                          .on = name,
                          .what = "nothing tells it that a slave has failed",
                          .why = "miimon and arp_interval are 0",
                          .cure = fmt::format("ip link set {} type bond miimon 100", name)});
        else if (hasSlave && bond.active == 0)
            findings.add(
                {.rule = "bond-inactive",
                 .on = name,
                 .what = "none of its slaves is active",
                 .why = "none has a carrier, or the bond is down",
                 .cure = fmt::format("ip link set {} up; see what is said of its slaves", name)});
    }
}

void stalls(const Facts &facts, Findings &findings)
{
    // The kernel counts since the interface was made.
    for (const auto &interface : facts.interfaces) {
        const auto ever = interface.statistics.now("tx_timeout");
        const auto by = interface.statistics.grown("tx_timeout");
        if (ever > 0)
            findings.add({.rule = "stalls",
                          .severity = by > 0 ? Severity::wrong : Severity::note,
                          .on = interface.name(),
                          .what = fmt::format("its transmit queues have stalled {} times, {} of "
                                              "them just now",
                                              ever, by),
                          .why = "the adapter did not tell in time that packets were sent; the "
                                 "kernel's log says when, and what was outstanding",
                          .cure = "look at the adapter's firmware and its interrupts "
                                  "(/proc/interrupts); if it goes on, load its driver again"});
    }
}

// "tx_too_long by 12, sends_refused by 3", of what the driver says more exactly than the kernel's
// counters of all interfaces do; "": nothing
std::string reasonsOf(const Interface &interface)
{
    constexpr std::array<std::string_view, 8> words{"drop",    "err",  "discard", "too_long",
                                                    "refused", "full", "lost",    "out_of_buffer"};
    std::vector<std::string> reasons;
    for (const auto &[name, now] : interface.reasons.after) {
        const auto isIn = [&](std::string_view word) { return name.contains(word); };
        const auto by = interface.reasons.grown(name);
        if (by > 0 && std::ranges::any_of(words, isIn))
            reasons.push_back(fmt::format("{} by {}", name, by));
    }
    return fmt::format("{}", fmt::join(reasons, ", "));
}

// One or two are lost on any network: to a host that has gone, or while a group is joined.
void drops(const Facts &facts, Findings &findings)
{
    constexpr std::uint64_t worthwhile = 10;
    constexpr std::uint64_t percent = 100;
    constexpr std::array<std::string_view, 5> names{"tx_dropped", "tx_errors", "rx_errors",
                                                    "rx_missed_errors", "rx_over_errors"};
    for (const auto &interface : facts.interfaces)
        for (const auto name : names) {
            const auto by = interface.statistics.grown(name);
            if (by < worthwhile || interface.isBond() ||
                findings.isExplained(interface.name(),
                                     {"subnet-prefix", "partition-missing", "partition-limited",
                                      "down", "stalls", "packets-dropped"}))
                continue;
            const bool isSent = name.starts_with("tx");
            const auto good = interface.statistics.grown(isSent ? "tx_packets" : "rx_packets");
            const std::string reasons = reasonsOf(interface);
            findings.add(
                {.rule = "packets-dropped",
                 .severity = by * percent >= good + by ? Severity::wrong : Severity::note,
                 .on = interface.name(),
                 .what = fmt::format("it drops packets{}", reasons.empty() ? "" : ": " + reasons),
                 .why = fmt::format("while this was looked at, {} has grown by {}; {} packets have "
                                    "been {}",
                                    name, by, good, isSent ? "sent" : "received"),
                 .cure = "perf trace -e skb:kfree_skb says of each packet why it is dropped; "
                         "ethtool -S what the driver counts"});
        }
}

std::string firewallCure(const Drop &drop)
{
    if (drop.program == "nft")
        return drop.isPolicy ? fmt::format("nft chain {} '{{ policy accept; }}'", drop.chain)
                             : fmt::format("nft -a list ruleset shows the rule and its handle; nft "
                                           "delete rule {} handle N",
                                           drop.chain);
    // "filter INPUT"
    const auto blank = std::min(drop.chain.find(' '), drop.chain.size());
    const std::string at =
        fmt::format("{} -t {}", drop.program, std::string_view(drop.chain).substr(0, blank));
    const std::string chain = drop.chain.substr(std::min(blank + 1, drop.chain.size()));
    return drop.isPolicy ? fmt::format("{} -P {} ACCEPT", at, chain)
                         : fmt::format("{0} -S {1} shows the rule; {0} -D {1} and the rest of it "
                                       "takes it away",
                                       at, chain);
}

// Whether packets of that family are wanted: those of a peer, or of an address that somebody has
// given it. The kernel gives each interface a link-local one of IPv6.
bool isUsed(const Facts &facts, const Interface &interface, const std::string &family)
{
    if (family.empty())
        return true;
    const bool isSix = family == "ipv6";
    if (facts.peer && facts.peer->address.contains(':') == isSix)
        return true;
    return std::ranges::any_of(interface.addresses, [&](const netlink::Address &address) {
        return (address.family == AF_INET6) == isSix && !isNarrow(address);
    });
}

const char *familyText(const std::string &family)
{
    return family.empty() ? "" : family == "ipv6" ? "IPv6 " : "IPv4 ";
}

void firewall(const Facts &facts, Findings &findings)
{
    for (const auto &drop : facts.drops)
        for (const auto &interface : facts.interfaces) {
            const bool isPeers = facts.peer && facts.peer->address == drop.address;
            if ((!drop.interface.empty() && drop.interface != interface.name()) ||
                (!drop.address.empty() && !isPeers) || !isUsed(facts, interface, drop.family) ||
                findings.has("firewall", interface.name()))
                continue;
            findings.add(
                {.rule = "firewall",
                 .on = interface.name(),
                 .what = fmt::format("a firewall drops its {}packets{}", familyText(drop.family),
                                     isPeers ? " from or to " + drop.address : ""),
                 .why = fmt::format("{} of the chain \"{}\" drops them all{}",
                                    drop.isPolicy ? "the policy" : "a rule", drop.chain,
                                    drop.program == "nft" ? "" : ", of " + drop.program),
                 .cure = firewallCure(drop)});
        }
}

constexpr auto rules = std::to_array<Rule>({
    managers,
    down,
    highAvailability,
    bondMode,
    stalls,
    drops,
    firewall,
});

} // namespace

std::span<const Rule> interfaceRules()
{
    return rules;
}

} // namespace openipoib::diagnose
