// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/commands.hpp"

#include "bonding/document.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace openipoib::bonding
{

namespace
{

bool isThere(const State &state, const std::string &bond)
{
    const Interface *interface = state.interface(bond);
    return (interface && interface->bond) || state.record(bond);
}

std::vector<Step> stepsOf(const Plan &plan)
{
    std::vector<Step> steps;
    steps.reserve(plan.changes.size());
    for (const auto &change : plan.changes)
        steps.push_back(change.step);
    return steps;
}

} // namespace

Exit Commands::unreadable(const io::Error &error)
{
    err_ << "ib-bond: " << error.text() << '\n';
    return Exit::failed;
}

Exit Commands::noBond(const std::string &bond)
{
    err_ << "ib-bond: there is no bond " << bond << '\n';
    return Exit::noBond;
}

Exit Commands::refuse(const std::string &bond, const Plan &plan, bool json)
{
    if (json)
        out_ << outcomeDocument(bond, {}, {}, plan).dump(2) << '\n';
    for (const auto &reason : plan.refusals)
        err_ << "ib-bond: refused: " << reason << '\n';
    return Exit::refused;
}

// Do what is planned, or say it, and say what has become of it.
Exit Commands::perform(const std::string &bond, const Plan &plan, const Invocation &invocation,
                       OnFailure onFailure)
{
    const auto steps = stepsOf(plan);
    const Outcome outcome = invocation.dryRun ? Outcome{} : run(system_, plan.changes, onFailure);
    if (invocation.json)
        out_ << outcomeDocument(bond, invocation.dryRun ? steps : outcome.done, outcome, plan)
                    .dump(2)
             << '\n';
    else if (invocation.dryRun)
        for (const auto &step : steps)
            out_ << command(step) << '\n';
    for (const auto &note : plan.notes)
        err_ << "ib-bond: " << note << '\n';
    if (outcome.failure.empty())
        return Exit::done;
    for (const auto &step : outcome.notUndone)
        err_ << "ib-bond: could not be undone: " << step << '\n';
    const bool undone = onFailure == OnFailure::undo && outcome.notUndone.empty();
    // In one line, the last: openib shows that.
    err_ << "ib-bond: failed: " << outcome.failure
         << (undone ? "; everything is as it was before" : "") << '\n';
    return Exit::failed;
}

Exit Commands::up(const Invocation &invocation, const State &state)
{
    const Plan plan = planUp(invocation.request, state);
    const std::string &bond = invocation.request.bond;
    if (!plan.refusals.empty())
        return refuse(bond, plan, invocation.json);
    const Exit exit = perform(bond, plan, invocation, OnFailure::undo);
    if (exit != Exit::done || invocation.dryRun)
        return exit;
    const auto after = system_.read();
    if (!after)
        return unreadable(after.error());
    const auto left = planUp(invocation.request, *after);
    for (const auto &change : left.changes)
        err_ << "ib-bond: without effect: " << command(change.step) << '\n';
    for (const auto &reason : left.refusals)
        err_ << "ib-bond: and now: " << reason << '\n';
    if (!left.changes.empty() || !left.refusals.empty())
        return Exit::degraded;
    if (!invocation.json)
        out_ << statusText(statusDocument(*after, bond));
    return Exit::done;
}

Exit Commands::check(const Invocation &invocation, const State &state)
{
    const Plan plan = planUp(invocation.request, state);
    if (!plan.refusals.empty())
        return refuse(invocation.request.bond, plan, invocation.json);
    Invocation dry = invocation;
    dry.dryRun = true;
    const Exit exit = perform(invocation.request.bond, plan, dry, OnFailure::undo);
    return exit == Exit::done && !plan.changes.empty() ? Exit::degraded : exit;
}

Exit Commands::down(const std::string &bond, const Invocation &invocation, const State &state)
{
    const Plan plan = planDown(bond, state);
    if (!plan.refusals.empty())
        return refuse(bond, plan, invocation.json);
    if (plan.changes.empty())
        return noBond(bond);
    return perform(bond, plan, invocation, OnFailure::stop);
}

// A slave that was taken from one bond to another goes back to the first only
// while that is there; so each is planned again.
Exit Commands::downAll(const Invocation &invocation, State state)
{
    Exit worst = Exit::done;
    for (const auto &bond : ourBonds(state)) {
        worst = std::max(worst, down(bond, invocation, state));
        auto after = system_.read();
        if (!after)
            return unreadable(after.error());
        state = std::move(*after);
    }
    return worst;
}

Exit Commands::status(const Invocation &invocation, const State &state)
{
    const std::string &bond = invocation.request.bond;
    if (!isThere(state, bond))
        return noBond(bond);
    const Json document = statusDocument(state, bond);
    out_ << (invocation.json ? document.dump(2) + "\n" : statusText(document));
    return document["problems"].empty() ? Exit::done : Exit::degraded;
}

Exit Commands::statusAll(const Invocation &invocation, const State &state)
{
    Json all = Json::array();
    for (const auto &bond : ourBonds(state))
        all.push_back(statusDocument(state, bond));
    Exit exit = all.empty() ? Exit::noBond : Exit::done;
    for (const auto &document : all) {
        if (!invocation.json)
            out_ << statusText(document);
        if (!document["problems"].empty())
            exit = Exit::degraded;
    }
    if (invocation.json)
        out_ << all.dump(2) << '\n';
    else if (all.empty())
        out_ << "no bond of IPoIB interfaces\n";
    return exit;
}

Exit Commands::execute(const Invocation &invocation)
{
    auto state = system_.read();
    if (!state)
        return unreadable(state.error());
    switch (invocation.action) {
    case Action::up:
        return up(invocation, *state);
    case Action::check:
        return check(invocation, *state);
    case Action::down:
        return down(invocation.request.bond, invocation, *state);
    case Action::downAll:
        return downAll(invocation, std::move(*state));
    case Action::status:
        return status(invocation, *state);
    case Action::statusAll:
        break;
    }
    return statusAll(invocation, *state);
}

} // namespace openipoib::bonding
