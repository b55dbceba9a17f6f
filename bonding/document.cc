// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/document.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <set>

namespace openipoib::bonding
{

namespace
{

using Lines = std::vector<std::string>;

Json modeOf(const Interface &interface)
{
    if (!interface.connected)
        return nullptr;
    return *interface.connected ? "connected" : "datagram";
}

Json slaveDocument(const std::string &name, const Interface &interface, const std::string &active)
{
    const Slave slave = interface.slave.value_or(Slave{});
    return {{"name", name},         {"active", name == active},
            {"link", slave.linkUp}, {"mode", modeOf(interface)},
            {"mtu", interface.mtu}, {"pkey", fmt::format("0x{:04x}", interface.pkey)},
            {"gid", interface.gid}, {"failures", slave.failures}};
}

// What is wrong about a bond that is there.
Lines problems(const State &state, const std::string &name, const Interface &bond)
{
    Lines out;
    std::set<std::string> modes;
    const auto slaves = state.slavesOf(name);
    for (const auto &slave : slaves) {
        const Interface &interface = *state.interface(slave);
        modes.insert(modeOf(interface).dump());
        if (!interface.slave.value_or(Slave{}).linkUp)
            out.push_back(slave + " has no link");
        // A larger one, as the driver finds it in the partition, does no harm.
        if (interface.mtu < bond.mtu)
            out.push_back(fmt::format("the MTU of {} is smaller than that of {}", slave, name));
    }
    if (!bond.up)
        out.push_back(name + " is down");
    if (bond.bond->active.empty())
        out.emplace_back("no slave is active");
    if (slaves.size() == 1)
        out.push_back("there is no second slave to take over from " + slaves.front());
    if (modes.size() > 1)
        out.emplace_back("the slaves are in different modes");
    if (bond.bond->mode != activeBackup)
        out.push_back("mode " + bond.bond->mode + " does not work with IPoIB");
    if (bond.bond->options.notifications == 0)
        out.emplace_back("a failover is not announced");
    const Record *record = state.record(name);
    for (const auto &[slave, before] : record ? *record : Record())
        if (const Interface *interface = state.interface(slave); !interface)
            out.push_back(slave + " has gone");
        else if (interface->master != name)
            out.push_back(fmt::format("{} is not in {} any more", slave, name));
    return out;
}

Json monitorDocument(const Options &options)
{
    if (options.arpInterval)
        return {
            {"kind", "arp"}, {"interval", options.arpInterval}, {"targets", options.arpTargets}};
    return {{"kind", "carrier"}, {"interval", options.miimon}, {"targets", Json::array()}};
}

std::string ago(unsigned seconds)
{
    if (seconds < 120)
        return fmt::format("{} s ago", seconds);
    if (seconds < 7200)
        return fmt::format("{} min ago", seconds / 60);
    return seconds < 172800 ? fmt::format("{} h ago", seconds / 3600)
                            : fmt::format("{} days ago", seconds / 86400);
}

std::string slaveText(const Json &slave)
{
    const auto failures = slave["failures"].get<unsigned>();
    return fmt::format(
        "  {:<15} {:<7} {:<8} {:<9}  MTU {:<6} P_Key {}  GID {}  {} link failure{}\n",
        slave["name"].get<std::string>(), slave["active"].get<bool>() ? "active" : "backup",
        slave["link"].get<bool>() ? "link" : "no link",
        slave["mode"].is_string() ? slave["mode"].get<std::string>() : "-",
        slave["mtu"].get<unsigned>(), slave["pkey"].get<std::string>(),
        slave["gid"].get<std::string>(), failures, failures == 1 ? "" : "s");
}

} // namespace

Json statusDocument(const State &state, const std::string &name)
{
    const Interface *bond = state.interface(name);
    if (!bond || !bond->bond)
        return {
            {"name", name},
            {"exists", false},
            {"slaves", Json::array()},
            {"problems", Lines{"it has gone; its slaves were unplugged, or somebody removed it"}}};
    Json out{{"name", name},
             {"exists", true},
             {"up", bond->up},
             {"carrier", bond->running},
             {"mode", bond->bond->mode},
             {"mtu", bond->mtu},
             {"addresses", Json::array()},
             {"active", bond->bond->active},
             {"primary", bond->bond->options.primary},
             {"reselect", bond->bond->options.primaryReselect},
             {"monitor", monitorDocument(bond->bond->options)},
             {"announcements", bond->bond->options.notifications},
             {"last_change", nullptr},
             {"slaves", Json::array()},
             {"problems", problems(state, name, *bond)}};
    if (bond->bond->lastChange)
        out["last_change"] = *bond->bond->lastChange;
    for (const auto &address : bond->addresses)
        out["addresses"].push_back(address.text());
    for (const auto &slave : state.slavesOf(name))
        out["slaves"].push_back(slaveDocument(slave, *state.interface(slave), bond->bond->active));
    return out;
}

std::string statusText(const Json &status)
{
    std::string out = status["name"].get<std::string>();
    if (status["exists"].get<bool>()) {
        const auto active = status["active"].get<std::string>();
        const auto primary = status["primary"].get<std::string>();
        const auto announcements = status["announcements"].get<unsigned>();
        const Json &monitor = status["monitor"];
        out += fmt::format("  {}  {}  MTU {}  {}\n",
                           !status["up"].get<bool>()       ? "down"
                           : status["carrier"].get<bool>() ? "up"
                                                           : "up, no carrier",
                           status["mode"].get<std::string>(), status["mtu"].get<unsigned>(),
                           fmt::join(status["addresses"].get<Lines>(), " "));
        out += fmt::format("  active {}", active.empty() ? "none" : active);
        if (!status["last_change"].is_null())
            out += ", last change " + ago(status["last_change"].get<unsigned>());
        if (!primary.empty())
            out += fmt::format(", primary {} ({})", primary, status["reselect"].get<std::string>());
        out += fmt::format(
            "\n  {} every {} ms{}{}, {}\n",
            monitor["kind"] == "arp" ? "targets asked" : "carriers looked at",
            monitor["interval"].get<unsigned>(), monitor["kind"] == "arp" ? ": " : "",
            fmt::join(monitor["targets"].get<Lines>(), " "),
            announcements == 0   ? "failovers are not announced"
            : announcements == 1 ? "failovers are announced once"
                                 : fmt::format("failovers are announced {} times", announcements));
    } else {
        out += "\n";
    }
    for (const auto &slave : status["slaves"])
        out += slaveText(slave);
    for (const auto &problem : status["problems"])
        out += "  problem: " + problem.get<std::string>() + "\n";
    return out;
}

Json outcomeDocument(const std::string &bond, const std::vector<Step> &steps,
                     const Outcome &outcome, const Plan &plan)
{
    Json commands = Json::array();
    for (const auto &step : steps)
        commands.push_back(command(step));
    return {{"bond", bond},
            {"commands", std::move(commands)},
            {"refusals", plan.refusals},
            {"notes", plan.notes},
            {"failure", outcome.failure},
            {"not_undone", outcome.notUndone}};
}

} // namespace openipoib::bonding
