// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the daemon answers to those who ask.
#include "ha-daemon/daemon.hpp"
#include "ha-daemon/document.hpp"
#include "ha-daemon/linux/priority.hpp"
#include "ha-daemon/session_document.hpp"

#include <nlohmann/json.hpp>

namespace openipoib::ha
{

io::Result<void> Daemon::listen()
{
    auto control = ControlServer::open(
        events_, options_.runFolder + "/" + controlName,
        {.answer = [this](const auto &question) { return answer(question); },
         .now = [this] { return now(); },
         .fail = [this](const io::Error &error) { sayAll(Severity::warning, error.text()); }});
    if (!control)
        return std::unexpected(control.error());
    control_ = std::move(*control);
    return {};
}

// With @mayLook what the interfaces got a moment ago is seen first, which takes time that only
// root may have of this process.
std::map<std::string, nlohmann::json> Daemon::switchPairs(const Request &request, bool mayLook)
{
    for (auto &one : pairs_)
        one.look = one.look || mayLook;
    lookWhereAsked();
    std::map<std::string, nlohmann::json> outcomes;
    for (auto &one : pairs_) {
        if (!request.concerns(nameOf(one.names), one.roster.names()))
            continue;
        const Pair &pair = one.roster.pair();
        outcomes[one.file()] = switchOutcome(one.roster.name(other(pair.active())),
                                             pair.whyNotSwitched(), request.dryRun);
        if (!request.dryRun)
            deliver(one, SwitchAsked{});
    }
    return outcomes;
}

std::optional<std::string> Daemon::answer(const ControlServer::Question &question)
{
    const Leisure leisure;
    at_ = now();
    const auto refuse = [](const std::string &why) { return lineOf({{"error", why}}); };
    const auto request = readRequest(question.command);
    if (!request)
        return refuse(request.error().context);
    if (request->command == "switch" && !request->dryRun && !question.mayChange)
        return refuse("only root can switch");
    if (request->command == "monitor")
        return std::nullopt;
    std::map<std::string, nlohmann::json> switched;
    if (request->command == "switch")
        switched = switchPairs(*request, question.mayChange);
    if (request->command == "switch" && switched.empty())
        return refuse("there is no pair with '" + request->pair + "'");
    nlohmann::json pairs = nlohmann::json::array();
    for (const auto &one : pairs_) {
        std::size_t groups = 0;
        for (const auto &[child, memberships] : one.memberships)
            groups += memberships.count();
        auto pair = describeAll(one.roster.pair(), now(), groups, switched[one.file()]);
        addSpares(pair, one.roster, nameOf(one.names), now());
        if (one.sessions)
            pair["sessions"] =
                describe(one.sessions->report(), one.sessions->policy(), one.sides());
        pairs.push_back(std::move(pair));
    }
    return lineOf(answerOf(std::move(pairs)));
}

} // namespace openipoib::ha
