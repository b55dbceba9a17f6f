// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/report.hpp"

#include "diagnose/text.hpp"
#include "diagnose/walk.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace openipoib::diagnose
{

using Json = nlohmann::ordered_json;

namespace
{

constexpr unsigned version = 1;

const char *nameOf(Severity severity)
{
    return severity == Severity::wrong ? "wrong" : "note";
}

const char *nameOf(StepResult result)
{
    switch (result) {
    case StepResult::passed:
        return "passed";
    case StepResult::failed:
        return "failed";
    case StepResult::unknown:
        break;
    }
    return "unknown";
}

const char *nameOf(Verdict verdict)
{
    switch (verdict) {
    case Verdict::wrong:
        return "wrong";
    case Verdict::nothing:
        return "nothing";
    case Verdict::healthy:
        break;
    }
    return "healthy";
}

Json modeOf(const Interface &interface)
{
    if (!interface.connected)
        return nullptr;
    return *interface.connected ? "connected" : "datagram";
}

Json interfaceDocument(const Facts &facts, const Interface &interface)
{
    const Port *port = facts.portOf(interface);
    return {{"name", interface.name()},
            {"port", port ? port->name() : ""},
            {"pkey", interface.pkey ? Json(pkeyText(*interface.pkey)) : Json(nullptr)},
            {"mtu", interface.link.mtu},
            {"mode", modeOf(interface)},
            {"carrier", interface.link.isRunning()},
            {"master", interface.master},
            {"managers", facts.settersOf(interface)}};
}

template <typename T> Json orNull(const std::optional<T> &value)
{
    return value ? Json(*value) : Json(nullptr);
}

// Its GID: the prefix is that of the subnet, so that of the port's.
Json managerGid(const Port &port)
{
    const io::Bytes own = gidIn(port.shown.gid);
    if (!port.manager.guid || own.empty())
        return nullptr;
    return gidText(ib::makeGid(io::read<8>(own, 0), *port.manager.guid));
}

Json managerDocument(const Port &port)
{
    const auto &manager = port.manager;
    if (port.smLid == 0)
        return nullptr;
    return {{"lid", port.smLid},
            {"guid", manager.guid ? Json(fmt::format("{:016x}", *manager.guid)) : Json(nullptr)},
            {"gid", managerGid(port)},
            {"answer_ms", manager.heard ? Json(manager.heard->count()) : Json(nullptr)}};
}

Json portDocument(const Port &port)
{
    return {{"name", port.name()},
            {"state", port.shown.state},
            {"physical", port.shown.physical},
            {"lid", port.shown.lid},
            {"rate", port.shown.rate},
            {"manager", managerDocument(port)},
            {"highest_lid", orNull(port.lids)}};
}

Json peerDocument(const Facts &facts)
{
    if (!facts.peer)
        return nullptr;
    Json steps = Json::array();
    for (const auto &step : walk(facts))
        steps.push_back(
            {{"step", step.name}, {"result", nameOf(step.result)}, {"text", step.text}});
    return {{"address", facts.peer->address}, {"steps", std::move(steps)}};
}

std::string findingText(const Json &finding)
{
    const bool isNote = finding["severity"] == "note";
    return fmt::format("{}{}: {}\n  why: {}\n  cure: {}\n", isNote ? "note: " : "",
                       finding["on"].get<std::string>(), finding["what"].get<std::string>(),
                       finding["why"].get<std::string>(), finding["cure"].get<std::string>());
}

std::string stepText(const Json &step)
{
    const auto text =
        step["result"] == "unknown" ? "not looked at" : step["text"].get<std::string>();
    return fmt::format("  {:<17} {}{}\n", step["step"].get<std::string>(),
                       step["result"] == "failed" ? "FAILS: " : "", text);
}

std::string interfaceText(const Json &interface)
{
    std::string out = interface["name"].get<std::string>() + ":";
    if (interface["pkey"].is_string())
        out += fmt::format(" P_Key {},", interface["pkey"].get<std::string>());
    if (interface["mode"].is_string())
        out += fmt::format(" {} mode,", interface["mode"].get<std::string>());
    out += fmt::format(" MTU {}, {}", interface["mtu"].get<unsigned>(),
                       interface["carrier"].get<bool>() ? "carrier" : "no carrier");
    if (const auto master = interface["master"].get<std::string>(); !master.empty())
        out += ", in " + master;
    const auto managers = interface["managers"].get<std::vector<std::string>>();
    return out + (managers.empty() ? ", no manager\n"
                                   : fmt::format(", set up by {}\n", fmt::join(managers, " and ")));
}

std::string portText(const Json &port)
{
    const std::string most = port["highest_lid"].is_number()
                                 ? fmt::format(" of up to {}", port["highest_lid"].get<unsigned>())
                                 : "";
    std::string out = fmt::format("{}: {}, LID {}{}, {}", port["name"].get<std::string>(),
                                  port["state"].get<std::string>(), port["lid"].get<unsigned>(),
                                  most, port["rate"].get<std::string>());
    const Json &manager = port["manager"];
    if (manager.is_null())
        return out + ", no subnet manager\n";
    out += fmt::format(", subnet manager at LID {}", manager["lid"].get<unsigned>());
    if (manager["gid"].is_string())
        out += ", GID " + manager["gid"].get<std::string>();
    if (manager["answer_ms"].is_number())
        out += fmt::format(", heard just now, after {} ms", manager["answer_ms"].get<unsigned>());
    return out + "\n";
}

// What was looked at
std::string subjectsText(const Json &interfaces, const Json &ports)
{
    std::string out;
    for (const auto &interface : interfaces)
        out += "  " + interfaceText(interface);
    for (const auto &port : ports)
        out += "  " + portText(port);
    return out.empty() ? out : "looked at:\n" + out;
}

// "ib0 (mlx5_0 port 1), ib1"
std::string namesText(const Json &document)
{
    std::vector<std::string> names;
    for (const auto &interface : document["interfaces"])
        names.push_back(!interface["port"].get_ref<const std::string &>().empty()
                            ? fmt::format("{} ({})", interface["name"].get<std::string>(),
                                          interface["port"].get<std::string>())
                            : interface["name"].get<std::string>());
    return names.empty() ? "this machine" : fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

Verdict verdictOf(const Facts &facts, const std::vector<Finding> &findings)
{
    const bool isWrong = std::ranges::any_of(
        findings, [](const Finding &one) { return one.severity == Severity::wrong; });
    if (isWrong)
        return Verdict::wrong;
    return facts.interfaces.empty() ? Verdict::nothing : Verdict::healthy;
}

Json documentOf(const Facts &facts, const std::vector<Finding> &findings)
{
    Json out{{"version", version},        {"verdict", nameOf(verdictOf(facts, findings))},
             {"findings", Json::array()}, {"interfaces", Json::array()},
             {"ports", Json::array()},    {"peer", peerDocument(facts)},
             {"unseen", Json::array()}};
    for (const auto &finding : findings)
        out["findings"].push_back({{"rule", finding.rule},
                                   {"severity", nameOf(finding.severity)},
                                   {"on", finding.on},
                                   {"what", finding.what},
                                   {"why", finding.why},
                                   {"cure", finding.cure}});
    for (const auto &interface : facts.interfaces)
        out["interfaces"].push_back(interfaceDocument(facts, interface));
    for (const auto &port : facts.ports)
        out["ports"].push_back(portDocument(port));
    for (const auto &unseen : facts.unseen)
        out["unseen"].push_back({{"what", unseen.what}, {"why", unseen.why}});
    return out;
}

std::string printed(const Json &document)
{
    constexpr int indent = 2;
    return document.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string textOf(const Json &document)
{
    std::string out;
    if (document["verdict"] == "nothing")
        out += "no InfiniBand port and no IPoIB interface: nothing to look at\n";
    else if (document["verdict"] == "healthy")
        out += fmt::format("nothing wrong with {}\n", namesText(document));
    for (const auto &finding : document["findings"])
        out += findingText(finding);
    if (document["peer"].is_object()) {
        out += fmt::format("the way to {}:\n", document["peer"]["address"].get<std::string>());
        for (const auto &step : document["peer"]["steps"])
            out += stepText(step);
    }
    out += subjectsText(document["interfaces"], document["ports"]);
    for (const auto &unseen : document["unseen"])
        out += fmt::format("not looked at: {}: {}\n", unseen["what"].get<std::string>(),
                           unseen["why"].get<std::string>());
    return out;
}

} // namespace openipoib::diagnose
