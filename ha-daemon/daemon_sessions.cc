// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the daemon has to do with BFD sessions.
#include "ha-daemon/daemon.hpp"
#include "ha-daemon/session_document.hpp"

namespace openipoib::ha
{

// Those of before end if they are others, or none. Errors: those of SessionRunner::start() and of
// the event loop; those of before go on.
io::Result<void> Daemon::startSessions(Managed &one, const SessionPolicy &policy)
{
    if (one.sessions && one.sessions->policy() == policy)
        return {};
    if (policy.peers.empty()) {
        one.sessionsSource = {};
        one.sessions.reset();
        return {};
    }
    auto runner = SessionRunner::start(policy);
    if (!runner)
        return std::unexpected(runner.error());
    auto source = watch((*runner)->fd(), [this, &one] { hearSessions(one); });
    if (!source)
        return std::unexpected(source.error());
    one.sessionsSource = std::move(*source);
    one.sessions = std::move(*runner);
    one.sessionsSource.hurry();
    return {};
}

void Daemon::hearSessions(Managed &one)
{
    const SessionsReport before = one.sessions->report();
    if (!one.sessions->receive()) {
        say(one, {Severity::warning, "the BFD sessions have ended; a reload starts them"});
        one.sessionsSource = {};
        one.sessions.reset();
        return;
    }
    if (!isNews(before, one.sessions->report()))
        return;
    notePorts(one);
    for (const auto &text :
         changes(before, one.sessions->report(), one.sessions->policy(), one.sides()))
        say(one, {Severity::info, text});
}

// To which interfaces they belong
void Daemon::tellSessions()
{
    for (auto &one : pairs_) {
        if (!one.sessions)
            continue;
        Both<int> interfaces;
        Side active = Side::primary;
        if (const Pair &pair = one.roster.pair(); pair.started()) {
            for (const Side side : {Side::primary, Side::secondary})
                interfaces[side] = pair.lanes().at(0).view.side[side].index;
            active = pair.active();
        }
        one.sessions->tell(interfaces, active);
    }
}

std::string Daemon::whyUnreached(const Managed &one, Side side) const
{
    std::string why = one.targets.whyBad(side);
    if (!one.sessions)
        return why;
    if (auto cutOff = whyCutOff(one.sessions->report(), side); !cutOff.empty())
        return cutOff;
    // Of targets that are gone from both sides nothing follows, and it must not hide the other.
    return one.targets.whyBad(other(side)).empty() ? why : std::string();
}

} // namespace openipoib::ha
