// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Ports and their cables.
#include "diagnose/rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace openipoib::diagnose
{

namespace
{

// What a port counts when its cable, or what it is plugged into, is bad; as sysfs calls it
constexpr std::array<std::string_view, 6> errorCounters{
    "symbol_error",    "link_error_recovery",         "link_downed",
    "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors",
};

// "symbol_error by 12, port_rcv_errors by 3"; "": none has grown
template <std::size_t N>
std::string growth(const Counted &counters, const std::array<std::string_view, N> &names)
{
    std::vector<std::string> grown;
    for (const auto name : names)
        if (const auto by = counters.grown(name); by > 0)
            grown.push_back(fmt::format("{} by {}", name, by));
    return fmt::format("{}", fmt::join(grown, ", "));
}

void portPhysical(const Facts &facts, Findings &findings)
{
    for (const auto &port : facts.ports) {
        if (!port.isInfiniband() || port.shown.state != "DOWN")
            continue;
        Finding finding{
            .rule = "port-physical",
            .on = port.name(),
            .what = fmt::format("the port is down, its physical state is {}", port.shown.physical)};
        if (port.shown.physical == "Disabled") {
            finding.why = "somebody has disabled the port";
            finding.cure = "ibportstate -D 0 PORT enable; a switch's port likewise";
        } else if (port.shown.physical == "Sleep") {
            finding.why = "the port is to sleep when its link is down";
            finding.cure = "set LinkDownDefaultState to Polling (the adapter's or the subnet "
                           "manager's configuration)";
        } else {
            finding.why = "it hears nothing from the other end of the cable";
            finding.cure = "plug the cable in, try another one; is the switch on, and its port "
                           "enabled (ibportstate)?";
        }
        findings.add(std::move(finding));
    }
}

// A port is to be set up by a subnet manager that does not know its key.
void managementKey(const Facts &facts, Findings &findings)
{
    for (const auto &port : facts.ports) {
        if (!port.isInfiniband() || port.isActive() ||
            findings.isExplained(port.name(), {"port-physical"}))
            continue;
        const bool isSilent = port.asked.reply == Reply::silent;
        // With protection the key itself is not told. Violations say nothing: the key that they
        // were counted for may have gone.
        const bool hasKey = port.info && (port.info->mkey != 0 || port.info->mkeyProtection != 0);
        if (!isSilent && !hasKey)
            continue;
        findings.add({.rule = "management-key",
                      .on = port.name(),
                      .what = isSilent ? "the port does not answer a question about itself"
                                       : "the port has an M_Key, and no subnet manager has it",
                      .why = "without the M_Key a subnet manager cannot set the port up, which "
                             "stays " +
                             port.shown.state,
                      .cure = "give the subnet manager that key (m_key of opensm.conf), or load "
                              "the adapter's driver again"});
    }
}

void portState(const Facts &facts, Findings &findings)
{
    for (const auto &port : facts.ports) {
        if (!port.isInfiniband() || findings.isExplained(port.name(), {"management-key"}))
            continue;
        const bool isInit = port.shown.state == "INIT";
        if (!isInit && port.shown.state != "ARMED")
            continue;
        findings.add(
            {.rule = "port-state",
             .on = port.name(),
             .what = fmt::format("the port is {}: no subnet manager has {}", port.shown.state,
                                 isInit ? "set it up" : "made it ACTIVE"),
             .why = isInit ? "the link is there, and no subnet manager runs in the subnet, or it "
                             "cannot set this port up"
                           : "a subnet manager has begun, and stopped half-way",
             .cure = "start one subnet manager (opensm, or that of a managed switch); its log "
                     "says what it does not like"});
    }
}

// The most of what both ends may use
unsigned best(unsigned enabled, unsigned others)
{
    return std::bit_floor(enabled & others);
}

void linkDegraded(const Facts &facts, Findings &findings)
{
    // Of a port that uses a speed beyond QDR these fields say QDR.
    for (const auto &port : facts.ports) {
        if (!port.isActive() || !port.info || !port.far || !port.far->info)
            continue;
        const PortInfo &own = *port.info;
        const PortInfo &other = *port.far->info;
        // 2x has the highest bit, and fewer lanes than 4x.
        constexpr unsigned widths = 0xF;
        const bool isNarrow = (own.widthActive & widths) != 0 &&
                              own.widthActive < best(own.widthEnabled & widths, other.widthEnabled);
        const bool isSlow = own.speedActive < best(own.speedEnabled, other.speedEnabled);
        if (isNarrow || isSlow)
            findings.add({.rule = "link-degraded",
                          .on = port.name(),
                          .what = fmt::format("the link has trained to {} only", port.shown.rate),
                          .why = fmt::format("it and {} could do with more {}",
                                             port.far->description, isNarrow ? "lanes" : "speed"),
                          .cure = "clean or exchange the cable; pull it and plug it in, so that "
                                  "the link trains again"});
    }
}

void linkErrors(const Facts &facts, Findings &findings)
{
    for (const auto &port : facts.ports) {
        const std::string own = growth(port.counters, errorCounters);
        const std::string others = port.far ? growth(port.far->counters, errorCounters) : "";
        if (own.empty() && others.empty())
            continue;
        const std::string &at = own.empty() ? port.far->description : port.name();
        findings.add({.rule = "link-errors",
                      .on = port.name(),
                      .what = "the cable has errors",
                      .why = fmt::format("while this was looked at, counters of {} have grown: {}",
                                         at, own.empty() ? others : own),
                      .cure = "clean or exchange the cable, or the transceivers; try another port "
                              "of the switch"});
    }
}

void linkDiscards(const Facts &facts, Findings &findings)
{
    constexpr std::array<std::string_view, 2> names{"port_xmit_discards", "VL15_dropped"};
    for (const auto &port : facts.ports)
        if (const auto grown = growth(port.counters, names); !grown.empty())
            findings.add({.rule = "link-discards",
                          .severity = severityOf(port.counters.grown(names[0]) +
                                                 port.counters.grown(names[1])),
                          .on = port.name(),
                          .what = "the port throws packets away that it is to send",
                          .why = "while this was looked at, counters have grown: " + grown,
                          .cure = "look for congestion (perfquery of the switches, PortXmitWait), "
                                  "and for a host that does not take what it gets"});
}

constexpr auto rules = std::to_array<Rule>({
    portPhysical,
    managementKey,
    portState,
    linkDegraded,
    linkErrors,
    linkDiscards,
});

} // namespace

std::span<const Rule> portRules()
{
    return rules;
}

} // namespace openipoib::diagnose
