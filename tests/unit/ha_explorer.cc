// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha_explorer.hpp"

#include "ha_world.hpp"

#include <functional>
#include <unordered_set>

namespace openipoib::ha
{

using namespace std::chrono_literals;

// What a pair will do from here on depends on this alone. Times are told apart only as far
// as the pair's own limits do.
struct PairProbe {
    static std::string of(const Pair &pair, Time now)
    {
        std::string out;
        const auto add = [&](const auto &...values) { ((out += text(values), out += ' '), ...); };
        add(static_cast<int>(pair.phase_), pair.active_, pair.busy_, pair.turns_, pair.addressed_,
            pair.held_, pair.waiting_, !!pair.announceAt_, !!pair.decideAt_, pair.guards_.size(),
            pair.journal_.has_value());
        for (const Side side : {Side::primary, Side::secondary})
            add(pair.health_[side].good(), now - pair.health_[side].since() < 1s,
                std::min(pair.health_[side].failures(), 2u), pair.port_[side], pair.reach_[side]);
        for (const auto &[key, attempts] : pair.attempts_)
            add(key.text(), std::min(attempts.count, 3u), attempts.error.empty(),
                now < attempts.next);
        for (const int index : pair.woken_)
            add(index);
        add(std::ranges::count_if(pair.moves_,
                                  [&](const Move &one) { return now - one.decided < 10s; }));
        for (const auto &[child, lane] : pair.lanes_) {
            add(child, lane.restoring, of(lane.identity), of(lane.own));
            for (const Side side : {Side::primary, Side::secondary})
                add(lane.index[side], of(lane.view.side[side]));
        }
        return out;
    }
    static std::string of(const Items &items)
    {
        std::string out = "[";
        for (const auto &one : items)
            out += std::to_string(static_cast<int>(one.kind)) + one.key + ",";
        return out + "]";
    }
    static std::string of(const Interface &one)
    {
        std::string out =
            text(one.index) + text(one.up) + text(one.carrier) + text(one.dormant) + of(one.items);
        for (const auto &[name, value] : one.settings)
            out += value;
        return out;
    }

  private:
    static std::string text(const std::string &value) { return value; }
    static std::string text(Side side) { return side == Side::primary ? "p" : "s"; }
    template <typename T>
    requires std::is_arithmetic_v<T>
    static std::string text(T value) { return std::to_string(value); }
};

namespace
{

constexpr Both<const char *> names{{"ib0", "ib1"}};
constexpr unsigned longest = 16; // steps that one event may lead to
constexpr unsigned announcements = 7;
constexpr Time known = 5s; // until the peer knows, if it hears the last announcement

const Items first{item(Kind::address4, "10.0.0.1/24"), item(Kind::address6, "fd00::1/64"),
                  item(Kind::route4, "default")};
const Item another = item(Kind::address4, "10.0.0.2/24");
const Item added = item(Kind::address4, "10.0.0.3/24");

struct State {
    World world;
    Limits left;
    Items wanted = first; // where the pair is active
    Items unwanted;       // given up: nowhere
    Both<bool> took{};    // whoever manages the interface has taken its addresses away
    bool ended = false;   // the daemon ended, so that nobody is in charge

    [[nodiscard]] std::string print() const
    {
        std::string out = PairProbe::of(wanted) + PairProbe::of(unwanted) + world.saved;
        for (const Side side : {Side::primary, Side::secondary})
            out += PairProbe::of(world.kernel.side[side]) + world.kernel.port[side] +
                   (took[side] ? "t" : "");
        for (const auto &[key, side] : world.believed)
            out += side == Side::primary ? "p" : "s";
        for (const auto &event : world.pending())
            out += print(event);
        for (const unsigned count : {left.faults, left.kills, left.stops, left.changes,
                                     left.unplugged, left.deafness, world.deaf})
            out += std::to_string(count) + ".";
        out += world.isLost() ? "l" : "";
        out += world.isLooking() ? "r" : "";
        out += world.isUnsaved() ? "u" : "";
        out += ended ? "e" : "";
        return out + (world.pair ? PairProbe::of(*world.pair, world.now) : "dead");
    }
    [[nodiscard]] static std::string print(const Event &event)
    {
        if (const auto *link = std::get_if<LinkChanged>(&event))
            return "L" + std::to_string(static_cast<int>(link->side)) +
                   std::to_string(link->index) + (link->up ? "u" : "") + (link->carrier ? "c" : "");
        const auto &port = std::get<PortChanged>(event);
        return "P" + std::to_string(static_cast<int>(port.side)) + port.why;
    }
    // Nothing is under way, and the identity is where it should be.
    [[nodiscard]] bool rests() const
    {
        return world.pair && world.pending().empty() && !world.isLooking() && !world.isLost() &&
               world.pair->phase() == Phase::guarding && !world.pair->lanes().at(0).restoring &&
               world.kernel.good(world.active()) &&
               std::ranges::all_of(wanted, [&](const Item &one) {
                   return has(world.kernel.side[world.active()].items, one) &&
                          world.kernel.holders(one) == 1;
               });
    }
};

// What can happen, and how often; false if it cannot happen now.
struct Possible {
    std::string name;
    std::function<bool(State &)> happen;
    unsigned Limits::*budget = nullptr;
};

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
        if (has(state.world.kernel.side[side].items, first[0]) &&
            !has(state.world.kernel.side[other(side)].items, first[0]))
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
        const std::string name = names[side];
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

// Once the world has been quiet for a while
std::string wrongPlace(const State &state)
{
    const World &world = state.world;
    const Side active = world.active();
    for (const Side side : {Side::primary, Side::secondary})
        if (world.pair->health(side).good() != world.kernel.good(side))
            return std::string(names[side]) + " is said to " +
                   (world.kernel.good(side) ? "fail, and works" : "work, and fails");
    for (const auto &one : state.unwanted)
        if (world.kernel.holders(one))
            return one.key + " is back, though it was given up";
    if (!world.kernel.good(Side::primary) && !world.kernel.good(Side::secondary))
        return {};
    if (!world.kernel.good(active))
        return std::string(names[active]) + " is active, and does not work";
    for (const auto &one : state.wanted) {
        if (!has(world.kernel.side[active].items, one))
            return one.key + " is not on " + names[active] + ", which is active";
        if (world.kernel.holders(one) != 1)
            return one.key + " is on both interfaces";
    }
    if (!world.pair->failing().empty())
        return "it still tries: " + world.pair->failing().begin()->first.text();
    return {};
}

std::string wrongBelief(const State &state)
{
    const World &world = state.world;
    const Side active = world.active();
    if (world.kernel.good(active))
        for (const auto &one : state.wanted)
            if (world.believed.contains(one.key) && world.believed.at(one.key) != active)
                return "the peer looks for " + one.key + " at " + names[other(active)];
    return {};
}

std::string wrongAtRest(State state)
{
    World &world = state.world;
    world.readsLate = false;
    if (!world.pair)
        start(state);
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

class Explorer
{
  public:
    explicit Explorer(const Limits &limits) : limits_(limits), possible_(possibilities()) {}

    Explored run()
    {
        State state;
        state.left = limits_;
        state.world.takes = Time(0);
        state.world.readsLate = true;
        for (const auto &one : first)
            state.world.kernel.give(Side::primary, one);
        for (const auto &one : first)
            if (one.isAddress())
                state.world.believed[one.key] = Side::primary;
        state.world.start();
        state.world.read();
        visit(std::move(state), 0, 0);
        while (!next_.empty() && !out_.finding && out_.depth < limits_.depth && !out_.tooMany) {
            ++out_.depth;
            for (auto &[from, number] : std::exchange(next_, {}))
                leave(from, number);
        }
        out_.exhausted = next_.empty();
        return std::move(out_);
    }

  private:
    struct Origin {
        std::size_t from;
        std::size_t event;
    };

    void leave(const State &from, std::size_t number)
    {
        for (std::size_t event = 0; event < possible_.size() && !out_.finding; ++event) {
            const auto budget = possible_[event].budget;
            if (budget && !(from.left.*budget))
                continue;
            State state = from;
            if (budget)
                --(state.left.*budget);
            if (!possible_[event].happen(state))
                continue;
            state.world.done.clear();
            state.world.said.clear();
            ++out_.transitions;
            visit(std::move(state), number, event);
        }
    }
    void visit(State state, std::size_t from, std::size_t event)
    {
        if (!known_.insert(std::hash<std::string>()(state.print())).second)
            return;
        const std::size_t number = origins_.size();
        origins_.push_back({from, event});
        out_.tooMany = ++out_.states >= limits_.states;
        std::string wrong = wrongNow(state);
        // Anything else comes to rest by events of its own.
        if (wrong.empty() && state.world.pending().empty() && !state.world.isLooking())
            wrong = wrongAtRest(state);
        if (!wrong.empty())
            out_.finding = {wrong, trace(number)};
        next_.emplace_back(std::move(state), number);
    }
    [[nodiscard]] std::vector<std::string> trace(std::size_t number) const
    {
        std::vector<std::string> out;
        for (; number; number = origins_[number].from)
            out.push_back(possible_[origins_[number].event].name);
        std::ranges::reverse(out);
        return out;
    }

    Limits limits_;
    std::vector<Possible> possible_;
    std::vector<std::pair<State, std::size_t>> next_; // with their numbers
    std::vector<Origin> origins_;
    std::unordered_set<std::size_t> known_;
    Explored out_;
};

} // namespace

Explored explore(const Limits &limits)
{
    return Explorer(limits).run();
}

std::string textOf(const Explored &explored)
{
    std::string out = std::to_string(explored.states) + " states, " +
                      std::to_string(explored.transitions) + " events, depth " +
                      std::to_string(explored.depth) +
                      (explored.exhausted ? ", nothing beyond"
                       : explored.tooMany ? ", ended by the limit of states"
                                          : "") +
                      "\n";
    if (!explored.finding)
        return out;
    out += "wrong: " + explored.finding->what + ", after:\n";
    for (const auto &event : explored.finding->trace)
        out += "  " + event + "\n";
    return out;
}

} // namespace openipoib::ha
