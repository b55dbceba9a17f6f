// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha_explorer_state.hpp"

namespace openipoib::ha
{

using namespace std::chrono_literals;

namespace
{

constexpr Time known = 5s; // until the peer knows, if it hears the last announcement

// What `status` and `switch --dry-run` say of the standby, against what it is. All that the
// daemon has to do there is done by then, so that nothing but its health can be wrong.
std::string wrongStatus(const World &world)
{
    const Side standby = other(world.active());
    const auto lacks = world.pair->standbyLacks();
    if (world.kernel.good(standby) && !lacks.empty())
        return std::string(interfaceNames[standby]) +
               " works, and is said to lack: " + lacks.front();
    if (!world.kernel.good(standby) && lacks.empty())
        return std::string(interfaceNames[standby]) + " fails, and is said to lack nothing";
    if (const auto why = world.pair->whyNotSwitched(); world.kernel.good(standby) == !why.empty())
        return "a switch to " + std::string(interfaceNames[standby]) + " would " +
               (why.empty() ? "be done, and it fails" : "not be done: " + why);
    return {};
}

// Once the world has been quiet for a while
std::string wrongPlace(const State &state)
{
    const World &world = state.world;
    const Side active = world.active();
    for (const Side side : {Side::primary, Side::secondary})
        if (world.pair->health(side).good() != world.kernel.good(side))
            return std::string(interfaceNames[side]) + " is said to " +
                   (world.kernel.good(side) ? "fail, and works" : "work, and fails");
    for (const auto &one : state.unwanted)
        if (world.kernel.holders(one))
            return one.key + " is back, though it was given up";
    if (!world.kernel.good(Side::primary) && !world.kernel.good(Side::secondary))
        return {};
    if (!world.kernel.good(active))
        return std::string(interfaceNames[active]) + " is active, and does not work";
    for (const auto &one : state.wanted) {
        if (!has(world.kernel.side[active].items, one))
            return one.key + " is not on " + interfaceNames[active] + ", which is active";
        if (world.kernel.holders(one) != 1)
            return one.key + " is on both interfaces";
    }
    if (!world.pair->failing().empty())
        return "it still tries: " + world.pair->failing().begin()->first.text();
    return wrongStatus(world);
}

std::string wrongBelief(const State &state)
{
    const World &world = state.world;
    const Side active = world.active();
    if (!world.kernel.good(active))
        return world.kernel.good(other(active))
                   ? std::string(interfaceNames[active]) + " does not work, and is active still"
                   : "";
    for (const auto &one : state.wanted)
        if (world.believed.contains(one.key) && world.believed.at(one.key) != active)
            return "the peer looks for " + one.key + " at " + interfaceNames[other(active)];
    return {};
}

} // namespace

// At any time: an identity that is nowhere is known at least.
std::string wrongNow(const State &state)
{
    const World &world = state.world;
    if (!world.wrong.empty())
        return world.wrong;
    Journal journal;
    if (world.pair)
        journal = world.pair->journal(false);
    else if (const auto saved = readJournal(world.saved))
        journal = *saved;
    for (const auto &one : state.wanted)
        if (!world.kernel.holders(one) &&
            std::ranges::none_of(journal.lanes, [&](const Journal::Entry &entry) {
                return has(entry.identity, one);
            }))
            return one.key + " is nowhere, not even in the journal";
    return {};
}

std::string wrongAtRest(State state)
{
    World &world = state.world;
    world.readsLate = false;
    if (!world.pair)
        world.start();
    world.deliverAll();
    world.pass(known);
    if (const auto wrong = wrongBelief(state); !wrong.empty())
        return wrong;
    for (int round = 0; round < 2; ++round) {
        world.deliverAll();
        world.pass(25s);
    }
    if (!world.wrong.empty())
        return world.wrong;
    if (const auto wrong = wrongPlace(state); !wrong.empty())
        return wrong;
    std::map<std::string, unsigned> times;
    for (const auto &step : world.done)
        if (step.find("announce") == std::string::npos && ++times[step] > 3)
            return "it does again and again: " + step;
    return {};
}

} // namespace openipoib::ha
