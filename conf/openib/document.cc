// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/document.hpp"

#include "conf/openib/stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace openipoib::openib
{

namespace
{

std::string modeName(conf::Mode mode)
{
    switch (mode) {
    case conf::Mode::connected:
        return "connected";
    case conf::Mode::automatic:
        return "auto";
    case conf::Mode::datagram:
        break;
    }
    return "datagram";
}

std::string hexadecimal(std::uint16_t pkey)
{
    return fmt::format("0x{:04x}", pkey);
}

Json hcaDocument(const Hca &hca)
{
    Json ports = Json::array();
    for (const auto &port : hca.ports)
        ports.push_back({{"port", port.number},
                         {"state", port.state},
                         {"physical", port.physical},
                         {"layer", port.layer},
                         {"lid", port.lid},
                         {"rate", port.rate},
                         {"gid", port.gid}});
    return {{"name", hca.name}, {"description", hca.description}, {"ports", std::move(ports)}};
}

Json interfaceDocument(const Interface &interface)
{
    Json out{{"name", interface.name},     {"mode", nullptr},
             {"mtu", interface.mtu},       {"pkey", hexadecimal(interface.pkey)},
             {"up", interface.up},         {"running", interface.running},
             {"hca", interface.hca},       {"port", interface.port},
             {"parent", interface.parent}, {"master", interface.master}};
    if (interface.connected)
        out["mode"] = *interface.connected ? "connected" : "datagram";
    return out;
}

std::string textOf(const conf::HaTarget &target)
{
    return target.interface.empty() ? target.address : target.address + "%" + target.interface;
}

Json haDocument(const conf::Ha &ha)
{
    Json out{{"failback", ha.failback ? Json(*ha.failback) : Json("never")},
             {"multicast", ha.multicast}};
    for (const auto &pair : ha.pairs)
        out["pairs"].push_back({{"primary", pair.primary}, {"secondary", pair.secondary()}});
    for (const auto &target : ha.targets)
        out["targets"].push_back(textOf(target));
    if (!ha.targets.empty()) {
        out["target_interval"] = ha.targetInterval;
        out["target_misses"] = ha.targetMisses;
    }
    for (const auto &probe : ha.probes)
        out["probes"].push_back(textOf(probe));
    if (!ha.probes.empty()) {
        out["probe_interval"] = ha.probeInterval;
        out["probe_misses"] = ha.probeMisses;
    }
    if (!ha.notify.empty())
        out["notify"] = ha.notify;
    return out;
}

Json buildDocument(const Build &build)
{
    const auto orNull = [](const std::string &text) {
        return text.empty() ? Json(nullptr) : Json(text);
    };
    return {{"version", orNull(build.version)}, {"srcversion", orNull(build.source)}};
}

Json staleDocument(const Stale &stale)
{
    Json installed = buildDocument(stale.installed.build);
    installed["file"] = stale.installed.file;
    // Adapters of sib are made by hand, and openib unloads no adapter's driver that others need.
    const char *cure = stale.module == ipoibModule
                           ? "openib restart"
                           : "modprobe -r sib and modprobe sib, and make its adapters again";
    return {{"module", stale.module},
            {"loaded", buildDocument(stale.loaded)},
            {"installed", std::move(installed)},
            {"cure", cure}};
}

Json texts(const std::vector<Step> &steps)
{
    Json out = Json::array();
    for (const auto &step : steps)
        out.push_back(text(step));
    return out;
}

std::string interfaceText(const Json &interface)
{
    std::string line =
        fmt::format("{:<12} {:<10} MTU {:<6} P_Key {}  {}", interface["name"].get<std::string>(),
                    interface["mode"].is_string() ? interface["mode"].get<std::string>() : "-",
                    interface["mtu"].get<unsigned>(), interface["pkey"].get<std::string>(),
                    !interface["up"].get<bool>()       ? "down"
                    : interface["running"].get<bool>() ? "up"
                                                       : "up, no carrier");
    if (const auto hca = interface["hca"].get<std::string>(); !hca.empty())
        line += fmt::format("  {} port {}", hca, interface["port"].get<unsigned>());
    if (const auto master = interface["master"].get<std::string>(); !master.empty())
        line += "  in " + master;
    return line;
}

std::string buildText(const Json &build)
{
    const auto text = [&](const char *key) {
        return build[key].is_string() ? build[key].get<std::string>() : std::string();
    };
    const std::string version = text("version");
    const std::string source = text("srcversion");
    if (version.empty() && source.empty())
        return "without a version";
    return source.empty() ? version : fmt::format("{} ({})", version, source);
}

} // namespace

Json statusDocument(const State &state, const Plan &missing, const std::vector<Stale> &stale)
{
    Json out{
        {"hcas", Json::array()}, {"interfaces", Json::array()},     {"bonds", Json::object()},
        {"ha", state.haRunning}, {"modules", Json::array()},        {"stale", Json::array()},
        {"users", state.users},  {"missing", texts(missing.steps)}, {"problems", missing.problems}};
    for (const auto &hca : state.hcas)
        out["hcas"].push_back(hcaDocument(hca));
    for (const auto &interface : state.interfaces)
        out["interfaces"].push_back(interfaceDocument(interface));
    for (const auto &[name, slaves] : state.bonds)
        out["bonds"][name] = slaves;
    for (const auto &[name, module] : state.modules)
        out["modules"].push_back(name);
    for (const auto &one : stale)
        out["stale"].push_back(staleDocument(one));
    return out;
}

std::string statusText(const Json &status)
{
    std::string out;
    for (const auto &hca : status["hcas"]) {
        out += fmt::format("{}  \"{}\"\n", hca["name"].get<std::string>(),
                           hca["description"].get<std::string>());
        for (const auto &port : hca["ports"])
            out += fmt::format("  port {}  {}  {}  LID {}  {}  {}\n", port["port"].get<unsigned>(),
                               port["state"].get<std::string>(),
                               port["physical"].get<std::string>(), port["lid"].get<unsigned>(),
                               port["rate"].get<std::string>(), port["layer"].get<std::string>());
    }
    if (status["hcas"].empty())
        out += "no InfiniBand adapter\n";
    for (const auto &interface : status["interfaces"])
        out += interfaceText(interface) + "\n";
    for (const auto &[name, slaves] : status["bonds"].items())
        if (!slaves.empty())
            out += fmt::format("{:<12} bond of {}\n", name,
                               fmt::join(slaves.get<std::vector<std::string>>(), ", "));
    out += fmt::format("ipoib-ha     {}\n", status["ha"].get<bool>() ? "runs" : "does not run");
    const auto modules = status["modules"].get<std::vector<std::string>>();
    out += fmt::format("modules      {}\n",
                       modules.empty() ? "none" : fmt::format("{}", fmt::join(modules, " ")));
    for (const auto &stale : status["stale"])
        out += fmt::format("not current  {} that is loaded is {}, {} is {}; cure: {}\n",
                           stale["module"].get<std::string>(), buildText(stale["loaded"]),
                           stale["installed"]["file"].get<std::string>(),
                           buildText(stale["installed"]), stale["cure"].get<std::string>());
    for (const auto &user : status["users"])
        out += "in use       " + user.get<std::string>() + "\n";
    for (const auto &step : status["missing"])
        out += "not done     " + step.get<std::string>() + "\n";
    for (const auto &problem : status["problems"])
        out += "problem      " + problem.get<std::string>() + "\n";
    return out;
}

Json settingsDocument(const conf::Settings &settings)
{
    Json out{{"ONBOOT", settings.onBoot},
             {"ALLOW_STOP", settings.allowStop},
             {"IPOIB_LOAD", settings.ipoib},
             {"RUN_SYSCTL", settings.runSysctl}};
    for (const auto &[key, set] : settings.load)
        out[key] = set;
    if (settings.ownQueues)
        out["IPOIB_OWN_QUEUES"] = settings.ownQueues->empty()
                                      ? "none"
                                      : fmt::format("{}", fmt::join(*settings.ownQueues, ","));
    if (settings.nodeDescription)
        out["NODE_DESC"] = *settings.nodeDescription;
    if (settings.mode)
        out["SET_IPOIB_CM"] = modeName(*settings.mode);
    if (settings.mtu)
        out["IPOIB_MTU"] = *settings.mtu;
    for (const auto &[name, mode] : settings.modeOf)
        out["SET_IPOIB_CM_" + name] = modeName(mode);
    for (const auto &[name, mtu] : settings.mtuOf)
        out["IPOIB_MTU_" + name] = mtu;
    for (const auto &[name, pkeys] : settings.childrenOf)
        for (const auto pkey : pkeys)
            out["IPOIB_CHILDREN_" + name].push_back(hexadecimal(pkey));
    if (settings.ha)
        out["ha"] = haDocument(*settings.ha);
    for (const auto &bond : settings.bonds)
        out["bonds"][bond.name] = {{"addresses", bond.addresses}, {"slaves", bond.slaves}};
    return out;
}

std::string settingsText(const Json &settings)
{
    std::string out;
    for (const auto &[key, value] : settings.items()) {
        if (value.is_boolean())
            out += fmt::format("{}={}\n", key, value.get<bool>() ? "yes" : "no");
        else if (value.is_string())
            out += fmt::format("{}={}\n", key, value.get<std::string>());
        else
            out += fmt::format("{}={}\n", key, value.dump());
    }
    return out;
}

Json diagnosticsDocument(const conf::Diagnostics &diagnostics, const std::string &file)
{
    Json out = Json::array();
    for (const auto &one : diagnostics)
        out.push_back({{"file", file},
                       {"line", one.place.line},
                       {"column", one.place.column},
                       {"severity", conf::name(one.severity)},
                       {"key", conf::printable(one.key)},
                       {"what", one.what},
                       {"cure", one.cure}});
    return out;
}

Json outcomeDocument(const Outcome &outcome, std::string_view action)
{
    return {{"action", action},
            {"done", texts(outcome.done)},
            {"notes", outcome.notes},
            {"failures", outcome.failures},
            {"problems", outcome.problems},
            {"exit", static_cast<int>(outcome.exit())}};
}

} // namespace openipoib::openib
