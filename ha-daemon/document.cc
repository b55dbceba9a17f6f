// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/document.hpp"

#include "ha-daemon/session_document.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace openipoib::ha
{

namespace
{

using nlohmann::json;

double seconds(Time time)
{
    return std::chrono::duration<double>(time).count();
}

double milliseconds(Time from, Time to)
{
    return to < from ? 0 : std::chrono::duration<double, std::milli>(to - from).count();
}

json interface(const Interface &seen, const Health &health, bool active, Time now)
{
    return {{"name", seen.name},
            {"active", active},
            {"works", health.good()},
            {"why_not", health.why()},
            {"since_s", seconds(now - health.since())},
            {"failures", health.failures()},
            {"mtu", seen.mtu},
            {"pkey", seen.pkey},
            {"manager", seen.manager},
            {"mode", !seen.connected   ? "unknown"
                     : *seen.connected ? "connected"
                                       : "datagram"}};
}

json move(const Move &one, Time now)
{
    return {{"to", one.to},
            {"cause", one.cause},
            {"event_s", seconds(one.event)},
            {"ago_s", seconds(now - one.event)},
            {"decided_ms", milliseconds(one.event, one.decided)},
            {"moved_ms", milliseconds(one.event, one.moved)},
            {"announced_ms", milliseconds(one.event, one.announced)},
            {"turned_ms", milliseconds(one.event, one.turned)},
            {"changes", one.steps},
            {"failed", one.failed}};
}

std::string ago(double time)
{
    if (time < 120)
        return fmt::format("{:.0f} s ago", time);
    return time < 7200 ? fmt::format("{:.0f} min ago", time / 60)
                       : fmt::format("{:.0f} h ago", time / 3600);
}

void addFailing(json &out, const std::map<StepKey, Attempts> &failing)
{
    for (const auto &[step, attempts] : failing)
        if (!attempts.error.empty())
            out["failing"].push_back({{"step", step.text()}, {"error", attempts.error}});
}

std::string interfaceText(const json &one, const char *part)
{
    const bool works = one["works"].get<bool>();
    std::string out = fmt::format(
        "{:<12} {:<8} {}, {} MTU {}, P_Key 0x{:04x}\n", one["name"].get<std::string>(), part,
        works ? "works" : "fails: " + one["why_not"].get<std::string>(),
        one["mode"].get<std::string>(), one["mtu"].get<unsigned>(), one["pkey"].get<unsigned>());
    if (const auto manager = one.value("manager", std::string()); !manager.empty())
        out += fmt::format("  managed by {}, too\n", manager);
    return out;
}

std::string pairText(const json &pair)
{
    std::string out;
    for (const auto &one : pair["interfaces"])
        out += interfaceText(one, one["active"].get<bool>() ? "active" : "standby");
    for (const auto &one : pair.value("spares", json::array()))
        out += interfaceText(one, "spare");
    for (const auto &lack : pair["standby_lacks"])
        out += fmt::format("  standby: {}\n", lack.get<std::string>());
    for (const auto &address : pair["addresses"])
        out += fmt::format("  address {}\n", address.get<std::string>());
    for (const auto &failing : pair["failing"])
        out += fmt::format("  failing: {}: {}\n", failing["step"].get<std::string>(),
                           failing["error"].get<std::string>());
    out += sessionsText(pair);
    for (const auto &one : pair["moves"])
        out +=
            fmt::format("  moved to {} {}: {}; decided {:.2f}, announced {:.2f}, moved {:.2f} ms\n",
                        one["to"].get<std::string>(), ago(one["ago_s"].get<double>()),
                        one["cause"].get<std::string>(), one["decided_ms"].get<double>(),
                        one["announced_ms"].get<double>(), one["moved_ms"].get<double>());
    return out;
}

} // namespace

json describe(const Pair &pair, Time now)
{
    json out = {{"started", pair.started()},      {"move_count", pair.moveCount()},
                {"interfaces", json::array()},    {"addresses", json::array()},
                {"standby_lacks", json::array()}, {"failing", json::array()},
                {"moves", json::array()},         {"identity", json::array()}};
    if (!pair.started())
        return out;
    for (const Side side : {pair.preferred(), other(pair.preferred())})
        out["interfaces"].push_back(interface(pair.lanes().at(0).view.side[side], pair.health(side),
                                              side == pair.active(), now));
    out["standby_lacks"] = pair.standbyLacks();
    for (const auto &[child, lane] : pair.lanes())
        for (const auto &item : lane.identity)
            out[item.isAddress() ? "addresses" : "identity"].push_back(item.key);
    addFailing(out, pair.failing());
    for (const auto &one : pair.moves())
        out["moves"].push_back(move(one, now));
    return out;
}

json decisions(const Pair &pair, Time now)
{
    json out = json::array();
    for (const auto &one : pair.decisions())
        out.push_back({{"ago_s", seconds(now - one.at)}, {"text", one.text}});
    return out;
}

json answerOf(json pairs)
{
    return {{"version", documentVersion}, {"pairs", std::move(pairs)}};
}

json describeAll(const Pair &pair, Time now, std::size_t groups, const json &outcome)
{
    json out = describe(pair, now);
    out["decisions"] = decisions(pair, now);
    out["groups"] = groups;
    if (!outcome.is_null())
        out["switch"] = outcome;
    return out;
}

void addSpares(json &out, const Roster &roster, const std::string &name, Time now)
{
    if (roster.names().size() == 2)
        return;
    out["name"] = name;
    out["spares"] = json::array();
    if (!roster.pair().started())
        return;
    for (const std::size_t place : roster.spares())
        out["spares"].push_back(
            interface(roster.interface(place), roster.health(place), false, now));
    addFailing(out, roster.failing());
}

json switchOutcome(const std::string &to, const std::string &whyNot, bool dryRun)
{
    return {{"to", to}, {"why_not", whyNot}, {"dry_run", dryRun}};
}

std::string statusText(const json &document)
{
    std::string out;
    for (const auto &pair : document["pairs"])
        out += pairText(pair);
    return out;
}

std::string explainText(const json &document)
{
    std::string out;
    for (const auto &pair : document["pairs"])
        for (const auto &one : pair["decisions"])
            out += fmt::format("{:>12}  {}\n", ago(one["ago_s"].get<double>()),
                               one["text"].get<std::string>());
    return out;
}

std::string switchText(const json &document)
{
    std::string out;
    for (const auto &pair : document["pairs"]) {
        if (!pair.contains("switch"))
            continue;
        const auto &one = pair["switch"];
        const auto to = one["to"].get<std::string>();
        const auto why = one["why_not"].get<std::string>();
        const bool dry = one["dry_run"].get<bool>();
        out += !why.empty() ? fmt::format("not switched to {}: {}\n", to, why)
               : dry        ? fmt::format("would switch to {}\n", to)
                            : fmt::format("switched to {}\n", to);
    }
    return out;
}

bool isRefused(const json &document)
{
    return std::ranges::any_of(document["pairs"], [](const json &pair) {
        return pair.contains("switch") && !pair["switch"]["why_not"].get<std::string>().empty();
    });
}

bool isHealthyPair(const json &pair)
{
    const auto works = [](const json &one) { return one["works"].get<bool>(); };
    return pair["started"].get<bool>() && pair["standby_lacks"].empty() &&
           pair["failing"].empty() && std::ranges::all_of(pair["interfaces"], works) &&
           std::ranges::all_of(pair.value("spares", json::array()), works);
}

bool isHealthy(const json &document)
{
    return !document["pairs"].empty() && std::ranges::all_of(document["pairs"], isHealthyPair);
}

std::string lineOf(const json &document)
{
    return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace openipoib::ha
