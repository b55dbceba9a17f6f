// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What works, and could be faster. Notes only.
#include "diagnose/hardware.hpp"
#include "diagnose/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace openipoib::diagnose
{

namespace
{

// An interface that the adapter accelerates takes no connections, and this driver says so in its
// hardware address.
void accelerated(const Facts &facts, Findings &findings)
{
    for (const auto &interface : facts.interfaces) {
        const auto &address = interface.link.address;
        if (!facts.isOurs || address.empty() || takesConnections(address) || !interface.connected)
            continue;
        findings.add({.rule = "accelerated",
                      .severity = Severity::note,
                      .on = interface.name(),
                      .what = "it has no connected mode, and no MTU beyond that of a datagram",
                      .why = "the adapter accelerates it, or has no shared receive queues",
                      .cure = fmt::format("if long packets are worth more: IPOIB_OWN_QUEUES={} in "
                                          "openib.conf, and openib restart",
                                          interface.hca)});
    }
}

void queues(const Facts &facts, Findings &findings)
{
    constexpr unsigned most = 8;
    for (const auto &interface : facts.interfaces) {
        const Port *port = facts.portOf(interface);
        unsigned could = std::min(most, facts.processors);
        // A queue without a completion vector of its own is no gain.
        if (port && port->vectors)
            could = std::min(could, *port->vectors);
        if (!facts.isOurs || interface.isBond() || !interface.queues || *interface.queues >= could)
            continue;
        findings.add({.rule = "queues",
                      .severity = Severity::note,
                      .on = interface.name(),
                      .what = fmt::format("it has {} transmit queues for {} processors",
                                          *interface.queues, facts.processors),
                      .why = port && port->vectors
                                 ? fmt::format("somebody has set it: the adapter has {} completion "
                                               "vectors",
                                               *port->vectors)
                                 : "the adapter has no more completion vectors, or somebody has "
                                   "set it",
                      .cure = fmt::format("ethtool -L {} tx {}", interface.name(), could)});
    }
}

// Of completions, as far as their names tell; those that have come
bool isOfCompletions(const Interrupt &interrupt)
{
    constexpr std::array<std::string_view, 5> others{"async", "pages", "ctrl", "cmd", "general"};
    return interrupt.count > 0 && std::ranges::none_of(others, [&](std::string_view word) {
               return interrupt.name.contains(word);
           });
}

// Several completion vectors whose interrupts all go to one processor
void interrupts(const Facts &facts, Findings &findings)
{
    for (const auto &[hca, all] : facts.interrupts) {
        std::vector<const Interrupt *> used;
        for (const auto &one : all)
            if (isOfCompletions(one))
                used.push_back(&one);
        if (facts.processors < 2 || used.size() < 2)
            continue;
        const std::string &where = used.front()->processors;
        const bool isOne = !where.empty() && where.find_first_of(",-") == std::string::npos;
        if (!isOne || !std::ranges::all_of(
                          used, [&](const Interrupt *one) { return one->processors == where; }))
            continue;
        findings.add({.rule = "interrupts",
                      .severity = Severity::note,
                      .on = hca,
                      .what = fmt::format("{} interrupts of completions go to processor {}, all of "
                                          "them",
                                          used.size(), where),
                      .why = "one processor does the work of all queues",
                      .cure = fmt::format("start irqbalance, or echo N > /proc/irq/{}/"
                                          "smp_affinity_list, and so on",
                                          used.front()->number)});
    }
}

// What the adapter could do, and somebody has switched off.
void offloads(const Facts &facts, Findings &findings)
{
    constexpr std::array<std::string_view, 6> worthwhile{
        "rx-gro",           "rx-checksum",       "tx-checksum-ipv4",
        "tx-checksum-ipv6", "tx-scatter-gather", "tx-tcp-segmentation",
    };
    for (const auto &interface : facts.interfaces) {
        std::vector<std::string> off;
        for (const auto &feature : interface.features)
            if (feature.available && !feature.active &&
                std::ranges::find(worthwhile, feature.name) != worthwhile.end())
                off.push_back(feature.name);
        // Connections cut no segments, and have checksums of their own.
        if (off.empty() || interface.isBond() || interface.connected.value_or(false))
            continue;
        findings.add(
            {.rule = "offloads",
             .severity = Severity::note,
             .on = interface.name(),
             .what = fmt::format("these offloads are off: {}", fmt::join(off, ", ")),
             .why = "the adapter could do that work, and the processor does it",
             .cure = fmt::format("ethtool -K {} {} on", interface.name(), fmt::join(off, " on "))});
    }
}

constexpr auto rules = std::to_array<Rule>({
    accelerated,
    queues,
    interrupts,
    offloads,
});

} // namespace

std::span<const Rule> performanceRules()
{
    return rules;
}

} // namespace openipoib::diagnose
