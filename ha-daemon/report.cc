// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/report.hpp"

#include "ha-daemon/configuration.hpp"
#include "ha-daemon/document.hpp"

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>
#include <syslog.h>

#include <algorithm>
#include <cctype>

namespace openipoib::ha
{

// Made once, at random, and never changed: others look for them.
std::string_view messageId(Topic topic)
{
    switch (topic) {
    case Topic::other:
        return {};
    case Topic::started:
        return "1798de4f72684d90974caa4009d47330";
    case Topic::failed:
        return "31fedb4981d34621ad6ce75642955fc3";
    case Topic::works:
        return "2b2370f4f18e4aa787516a93b934ecbd";
    case Topic::moving:
        return "513302167f1b4f7792527ccf1e9f441e";
    case Topic::moved:
        return "56888ad8acbc45e08419293d71dd2f6d";
    case Topic::stays:
        return "ac3856070a6849a797c432ce776d17be";
    case Topic::unswitched:
        return "ed48914c97994df8a40cfb52deaea1c0";
    case Topic::replaced:
        return "bbccd4d4e24e4a589aa5d5db0738ba50";
    case Topic::managed:
        return "bb33972d7aef4f1087fae52033d50224";
    case Topic::refused:
        return "438d2005477a43218e94c2c01f22e81a";
    }
    return {};
}

std::string_view eventOf(Topic topic)
{
    switch (topic) {
    case Topic::other:
        break;
    case Topic::started:
        return "started";
    case Topic::failed:
        return "failed";
    case Topic::works:
        return "works";
    case Topic::moving:
        return "moving";
    case Topic::moved:
        return "moved";
    case Topic::stays:
        return "stays";
    case Topic::unswitched:
        return "unswitched";
    case Topic::replaced:
        return "replaced";
    case Topic::managed:
        return "managed";
    case Topic::refused:
        return "refused";
    }
    return "other";
}

std::string_view textOf(Severity severity)
{
    switch (severity) {
    case Severity::debug:
        return "debug";
    case Severity::info:
        break;
    case Severity::notice:
        return "notice";
    case Severity::warning:
        return "warning";
    }
    return "info";
}

int priorityOf(Severity severity)
{
    switch (severity) {
    case Severity::debug:
        return LOG_DEBUG;
    case Severity::info:
        return LOG_INFO;
    case Severity::notice:
        return LOG_NOTICE;
    case Severity::warning:
        return LOG_WARNING;
    }
    return LOG_INFO;
}

std::string reportLine(const Both<std::string> &names, const Say &what)
{
    return nameOf(names) + ": " + what.text;
}

std::vector<std::string> reportFields(const Both<std::string> &names, const Say &what)
{
    std::vector<std::string> fields{"MESSAGE=" + reportLine(names, what),
                                    fmt::format("PRIORITY={}", priorityOf(what.severity)),
                                    "SYSLOG_IDENTIFIER=ipoib-ha",
                                    fmt::format("SYSLOG_FACILITY={}", LOG_DAEMON >> 3),
                                    "PAIR=" + nameOf(names),
                                    "PRIMARY=" + names[Side::primary],
                                    "SECONDARY=" + names[Side::secondary]};
    if (const auto id = messageId(what.topic); !id.empty())
        fields.push_back(fmt::format("MESSAGE_ID={}", id));
    for (const auto &[name, value] : what.facts)
        fields.push_back(fmt::format("{}={}", name, value));
    return fields;
}

nlohmann::json reportDocument(const Both<std::string> &names, const Say &what,
                              std::chrono::system_clock::time_point at)
{
    using namespace std::chrono;
    const auto second = floor<seconds>(at);
    const auto part = floor<milliseconds>(at - second);
    nlohmann::json facts = nlohmann::json::object();
    for (auto [name, value] : what.facts) {
        std::ranges::transform(name, name.begin(),
                               [](unsigned char letter) { return std::tolower(letter); });
        facts[name] = value;
    }
    return {{"version", documentVersion},
            {"time", fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(system_clock::to_time_t(second)),
                                 part.count())},
            {"severity", textOf(what.severity)},
            {"event", eventOf(what.topic)},
            {"pair", nameOf(names)},
            {"primary", names[Side::primary]},
            {"secondary", names[Side::secondary]},
            {"text", what.text},
            {"facts", std::move(facts)}};
}

} // namespace openipoib::ha
