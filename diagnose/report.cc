// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/report.hpp"

#include "diagnose/rules.hpp"
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

Json interfaceDocument(const Facts &facts, const Interface &interface)
{
    const Port *port = facts.portOf(interface);
    return {{"name", interface.name()},
            {"port", port ? port->name() : ""},
            {"pkey", interface.pkey ? Json(pkeyText(*interface.pkey)) : Json(nullptr)},
            {"mtu", interface.link.mtu},
            {"carrier", interface.link.isRunning()},
            {"managers", interface.managers}};
}

Json portDocument(const Port &port)
{
    Json manager = nullptr;
    if (port.smLid != 0)
        manager = {{"lid", port.smLid},
                   {"guid", port.manager.guid ? Json(fmt::format("{:016x}", *port.manager.guid))
                                              : Json(nullptr)}};
    return {{"name", port.name()},   {"state", port.shown.state}, {"physical", port.shown.physical},
            {"lid", port.shown.lid}, {"rate", port.shown.rate},   {"manager", std::move(manager)}};
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

// "ib0 (mlx5_0 port 1), ib1"
std::string subjectsText(const Json &document)
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
    return hasSubject(facts) ? Verdict::healthy : Verdict::nothing;
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

std::string textOf(const Json &document)
{
    std::string out;
    if (document["verdict"] == "nothing")
        out += "no InfiniBand port and no IPoIB interface: nothing to look at\n";
    else if (document["verdict"] == "healthy")
        out += fmt::format("nothing wrong with {}\n", subjectsText(document));
    for (const auto &finding : document["findings"])
        out += findingText(finding);
    if (document["peer"].is_object()) {
        out += fmt::format("the way to {}:\n", document["peer"]["address"].get<std::string>());
        for (const auto &step : document["peer"]["steps"])
            out += stepText(step);
    }
    for (const auto &unseen : document["unseen"])
        out += fmt::format("not looked at: {}: {}\n", unseen["what"].get<std::string>(),
                           unseen["why"].get<std::string>());
    return out;
}

} // namespace openipoib::diagnose
