// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/session_document.hpp"

#include "ha-daemon/linux/attributes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

#include <cstring>

namespace openipoib::ha
{

namespace
{

using nlohmann::json;

double milliseconds(Time time)
{
    return std::chrono::duration<double, std::milli>(time).count();
}

std::string reason(BfdDiag diag)
{
    switch (diag) {
    case BfdDiag::none:
        return "";
    case BfdDiag::timeExpired:
        return "nothing was heard";
    case BfdDiag::neighborDown:
        return "the peer says so";
    case BfdDiag::concatenatedPathDown:
        return "the peer stands by";
    case BfdDiag::administrative:
        return "switched off";
    }
    return fmt::format("diagnostic {}", static_cast<unsigned>(diag));
}

json session(const SessionLine &line, const SessionPolicy &policy, const Both<std::string> &names)
{
    return {
        {"interface", names[line.side]},
        {"peer", addressText(AF_INET6, policy.peers.at(line.peer))},
        {"state", text(line.state)},
        {"remote_state", text(line.remote)},
        {"serves", line.serves},
        {"why", reason(line.state == BfdState::up && !line.serves ? line.remoteDiag : line.diag)},
        {"send_every_ms", milliseconds(line.sendEvery)},
        {"hear_every_ms", milliseconds(line.hearEvery)},
        {"detection_ms", milliseconds(line.detection)},
        {"sent", line.counts.sent},
        {"received", line.counts.received},
        {"missed", line.counts.missed},
        {"downs", line.counts.downs},
        {"longest_silence_ms", milliseconds(line.counts.longest)}};
}

} // namespace

json describe(const SessionsReport &report, const SessionPolicy &policy,
              const Both<std::string> &names)
{
    json out = {{"all", json::array()},
                {"errors", json::array()},
                {"drops",
                 {{"malformed", report.drops.malformed},
                  {"routed", report.drops.routed},
                  {"strangers", report.drops.strangers},
                  {"unbelieved", report.drops.unbelieved}}},
                {"stalls", report.stalls}};
    for (std::size_t i = 0; i < report.count; ++i)
        out["all"].push_back(session(report.lines[i], policy, names));
    for (const Side side : {Side::primary, Side::secondary})
        if (const int error = report.errors[side])
            out["errors"].push_back(fmt::format("{}: {}", names[side], std::strerror(error)));
    return out;
}

std::vector<std::string> changes(const SessionsReport &before, const SessionsReport &now,
                                 const SessionPolicy &policy, const Both<std::string> &names)
{
    std::vector<std::string> out;
    for (std::size_t i = 0; i < now.count; ++i) {
        const SessionLine &line = now.lines[i];
        const bool is = line.state == BfdState::up;
        const bool was = i < before.count && before.lines[i].state == BfdState::up;
        if (is == was)
            continue;
        const std::string why = is ? "" : reason(line.diag);
        out.push_back(fmt::format("BFD session of {} with {} is {}{}{}", names[line.side],
                                  addressText(AF_INET6, policy.peers.at(line.peer)),
                                  text(line.state), why.empty() ? "" : ": ", why));
    }
    for (const Side side : {Side::primary, Side::secondary})
        if (now.errors[side] && now.errors[side] != before.errors[side])
            out.push_back(
                fmt::format("BFD by {}: {}", names[side], std::strerror(now.errors[side])));
    return out;
}

std::string sessionsText(const json &pair)
{
    if (!pair.contains("sessions"))
        return {};
    std::string out;
    for (const auto &one : pair["sessions"]["all"]) {
        const auto why = one["why"].get<std::string>();
        out += fmt::format("  BFD {} with {}: {}{}{}, every {:.0f} ms, detection {:.0f} ms, missed "
                           "{}, longest silence {:.0f} ms\n",
                           one["interface"].get<std::string>(), one["peer"].get<std::string>(),
                           one["state"].get<std::string>(), why.empty() ? "" : ", ", why,
                           one["hear_every_ms"].get<double>(), one["detection_ms"].get<double>(),
                           one["missed"].get<std::uint64_t>(),
                           one["longest_silence_ms"].get<double>());
    }
    for (const auto &error : pair["sessions"]["errors"])
        out += fmt::format("  BFD by {}\n", error.get<std::string>());
    return out;
}

} // namespace openipoib::ha
