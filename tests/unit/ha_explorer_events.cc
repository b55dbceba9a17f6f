// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha_explorer_state.hpp"

namespace openipoib::ha
{

namespace
{

constexpr unsigned longest = 16; // steps that one event may lead to
constexpr unsigned announcements = 7;

const Item another = item(Kind::address4, "10.0.0.2/24");
const Item added = item(Kind::address4, "10.0.0.3/24");

bool cut(State &state, Side side, bool linkSaysSo)
{
    FakeKernel &kernel = state.world.kernel;
    if (!kernel.good(side))
        return false;
    kernel.port[side] = "the port is down";
    kernel.side[side].carrier = !linkSaysSo;
    if (state.world.pair) {
        state.world.announcePort(side);
        if (linkSaysSo)
            state.world.announceLink(side);
    }
    return true;
}

bool mend(State &state, Side side)
{
    FakeKernel &kernel = state.world.kernel;
    if (kernel.port[side].empty() && kernel.side[side].carrier)
        return false;
    kernel.port[side] = "";
    kernel.side[side].carrier = kernel.side[side].index != 0;
    if (state.world.pair) {
        state.world.announcePort(side);
        state.world.announceLink(side);
    }
    return true;
}

bool unplug(State &state, Side side)
{
    if (state.ended || !state.world.kernel.side[side].index)
        return false;
    state.world.kernel.unplug(side);
    state.world.announceLink(side);
    return true;
}

bool plug(State &state, Side side)
{
    if (state.world.kernel.side[side].index)
        return false;
    state.world.kernel.plug(side);
    state.world.announceLink(side);
    return true;
}

// As systemd-networkd and NetworkManager do by default.
bool manageAway(State &state, Side side)
{
    FakeKernel &kernel = state.world.kernel;
    if (state.ended || !kernel.side[side].index || kernel.side[side].carrier ||
        std::ranges::none_of(kernel.side[side].items, &Item::isAddress))
        return false;
    const Items items = kernel.side[side].items;
    for (const auto &one : items)
        if (one.isAddress())
            kernel.take(side, one);
    state.took[side] = true;
    return true;
}

bool manageBack(State &state, Side side)
{
    if (!state.took[side] || !state.world.kernel.good(side))
        return false;
    state.took[side] = false;
    for (const auto &one : state.wanted)
        if (one.isAddress())
            state.world.kernel.give(side, one);
    return true;
}

// By an administrator who sees what is there, and whom nothing keeps from it
bool remove(State &state)
{
    if (!state.rests())
        return false;
    const Item gone = state.wanted[1];
    state.world.kernel.take(state.world.active(), gone);
    state.world.read();
    std::erase(state.wanted, gone);
    state.unwanted.push_back(gone);
    return true;
}

bool give(State &state)
{
    if (!state.rests())
        return false;
    state.world.kernel.give(state.world.active(), added);
    state.world.read();
    state.wanted.push_back(added);
    return true;
}

std::optional<Side> holderOf(const State &state)
{
    for (const Side side : {Side::primary, Side::secondary})
        if (has(state.world.kernel.side[side].items, firstIdentity()[0]) &&
            !has(state.world.kernel.side[other(side)].items, firstIdentity()[0]))
            return side;
    return std::nullopt;
}

// While nobody is in charge
bool moveByHand(State &state)
{
    const auto from = holderOf(state);
    if (!state.ended || !from)
        return false;
    for (const auto &one : state.wanted)
        state.world.kernel.take(*from, one);
    for (const auto &one : state.wanted)
        state.world.kernel.give(other(*from), one);
    return true;
}

// The driver is loaded again, and the interface gets another address.
bool makeAnother(State &state)
{
    const auto from = holderOf(state);
    if (!state.ended || !from)
        return false;
    state.world.kernel.unplug(*from);
    state.world.kernel.plug(*from);
    state.world.kernel.give(*from, another);
    state.unwanted.insert(state.unwanted.end(), state.wanted.begin(), state.wanted.end());
    state.wanted = {another};
    return true;
}

bool start(State &state)
{
    if (state.world.pair)
        return false;
    state.ended = false;
    state.world.start();
    return true;
}

bool stop(State &state)
{
    // Anything else is left to the next one.
    if (!state.rests())
        return false;
    state.world.stop();
    state.ended = true;
    return true;
}

bool deliver(State &state)
{
    if (!state.world.pair || state.world.pending().empty())
        return false;
    state.world.deliver();
    return true;
}

bool read(State &state)
{
    if (!state.world.pair)
        return false;
    state.world.read();
    return true;
}

bool wait(State &state)
{
    World &world = state.world;
    if (!world.pair || !world.pair->wake())
        return false;
    world.now = std::max(world.now, *world.pair->wake());
    world.tell(Tick{});
    return true;
}

bool kill(State &state)
{
    if (!state.world.pair)
        return false;
    state.world.kill();
    return true;
}

// What the daemon does, to its end or to any step of it
void addWork(std::vector<Possible> &all, const std::string &name, bool (*work)(State &))
{
    all.push_back({name, work});
    for (unsigned steps = 0; steps < longest; ++steps)
        all.push_back({name + "; killed after " + std::to_string(steps) + " steps",
                       [work, steps](State &state) {
                           if (!state.world.pair)
                               return false;
                           state.world.stepsUntilKill = static_cast<int>(steps);
                           return work(state) && !state.world.pair;
                       },
                       &Limits::kills});
}

} // namespace

std::vector<Possible> possibilities()
{
    std::vector<Possible> all{
        {"the daemon is started", start},
        {"the daemon is stopped", stop, &Limits::stops},
        {"the daemon is killed", kill, &Limits::kills},
        {"an administrator removes the IPv6 address", remove, &Limits::changes},
        {"an administrator adds an address", give, &Limits::changes},
        {"an administrator moves the identity to the other interface", moveByHand,
         &Limits::changes},
        {"the active interface is made again, with another address", makeAnother, &Limits::changes},
    };
    for (const unsigned lost : {1U, announcements - 1})
        all.push_back({"the peer will not hear " + std::to_string(lost) + " announcements",
                       [lost](State &state) {
                           state.world.deaf = lost;
                           return true;
                       },
                       &Limits::deafness});
    addWork(all, "a message is delivered", deliver);
    addWork(all, "everything is read", read);
    addWork(all, "the next timer", wait);
    for (const Side side : {Side::primary, Side::secondary}) {
        const std::string name = interfaceNames[side];
        all.push_back({name + " loses its port and carrier",
                       [side](State &state) { return cut(state, side, true); }, &Limits::faults});
        all.push_back({name + " loses its port, with its carrier on",
                       [side](State &state) { return cut(state, side, false); }, &Limits::faults});
        all.push_back({name + " works again", [side](State &state) { return mend(state, side); }});
        all.push_back({name + " is unplugged", [side](State &state) { return unplug(state, side); },
                       &Limits::unplugged});
        all.push_back(
            {name + " is plugged in", [side](State &state) { return plug(state, side); }});
        all.push_back({"the manager of " + name + " takes its addresses away",
                       [side](State &state) { return manageAway(state, side); }, &Limits::changes});
        all.push_back({"the manager of " + name + " gives its addresses back",
                       [side](State &state) { return manageBack(state, side); }});
    }
    return all;
}

} // namespace openipoib::ha
