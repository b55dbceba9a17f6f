// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/session_report.hpp"

#include <algorithm>
#include <span>

namespace openipoib::ha
{

SessionsReport reportOf(const Sessions &sessions)
{
    SessionsReport out;
    for (const auto &one : sessions.all()) {
        if (out.count == out.lines.size())
            break;
        const Session &session = one.session;
        out.lines[out.count++] = {.side = one.side,
                                  .peer = static_cast<std::uint8_t>(one.peer),
                                  .state = session.state(),
                                  .remote = session.remote().state,
                                  .serves = session.serves(),
                                  .diag = session.diag(),
                                  .remoteDiag = session.remote().diag,
                                  .sendEvery = session.sendEvery(),
                                  .hearEvery = session.hearEvery(),
                                  .detection = session.detection(),
                                  .counts = one.counts};
    }
    for (const Side side : {Side::primary, Side::secondary})
        out.cutOff[side] = sessions.isCutOff(side);
    out.drops = sessions.drops();
    out.stalls = sessions.stalls();
    return out;
}

bool isNews(const SessionsReport &before, const SessionsReport &now)
{
    const auto differs = [](const SessionLine &one, const SessionLine &two) {
        return one.state != two.state || one.serves != two.serves;
    };
    return before.count != now.count || before.cutOff != now.cutOff ||
           before.errors != now.errors ||
           !std::equal(now.lines.begin(), now.lines.begin() + now.count, before.lines.begin(),
                       [&](const auto &one, const auto &two) { return !differs(one, two); });
}

Met metBy(const SessionsReport &report, Side side)
{
    Met met = Met::nobody;
    for (const auto &one : std::span(report.lines.begin(), report.count))
        if (one.side == side && one.state == BfdState::up)
            met = std::max(met, one.serves ? Met::somebody : Met::standbys);
    return met;
}

std::string whyCutOff(const SessionsReport &report, Side side)
{
    if (!report.cutOff[side])
        return {};
    return metBy(report, side) == Met::standbys ? "only standby ports answer by BFD"
                                                : "nobody answers by BFD";
}

} // namespace openipoib::ha
