// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha_explorer_state.hpp"

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
            pair.held_, pair.followed_, pair.waiting_, pair.untold_, pair.telling_,
            pair.announcements_, !!pair.announceAt_, !!pair.decideAt_, pair.guards_.size(),
            pair.preferred_, pair.journal_.has_value());
        // Which of them comes first; one that is not set comes first, too.
        add(pair.announceAt_ < pair.decideAt_, pair.announceAt_ < pair.lookAt_,
            pair.decideAt_ < pair.lookAt_);
        for (const Side side : {Side::primary, Side::secondary})
            add(pair.health_[side].good(), now - pair.health_[side].since() < 1s,
                std::min(pair.health_[side].failures(), 2u), pair.port_[side], pair.reach_[side],
                static_cast<int>(pair.met_[side]));
        for (const auto &[key, attempts] : pair.attempts_)
            add(key.text(), std::min(attempts.count, 3u), attempts.error.empty(),
                now < attempts.next);
        for (const auto &indexes : {pair.woken_, pair.managed_})
            for (const int index : indexes)
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

std::string textOf(const Event &event)
{
    if (const auto *link = std::get_if<LinkChanged>(&event))
        return "L" + std::to_string(static_cast<int>(link->side)) + std::to_string(link->index) +
               (link->up ? "u" : "") + (link->carrier ? "c" : "");
    const auto &port = std::get<PortChanged>(event);
    return "P" + std::to_string(static_cast<int>(port.side)) + port.why;
}

} // namespace

const Items &firstIdentity()
{
    static const Items items{item(Kind::address4, "10.0.0.1/24"),
                             item(Kind::address6, "fd00::1/64"), item(Kind::route4, "default")};
    return items;
}

std::string State::print() const
{
    std::string out = PairProbe::of(wanted) + PairProbe::of(unwanted) + world.saved;
    for (const Side side : {Side::primary, Side::secondary})
        out += PairProbe::of(world.kernel.side[side]) + world.kernel.port[side] +
               (took[side] ? "t" : "");
    for (const auto &[key, side] : world.believed)
        out += side == Side::primary ? "p" : "s";
    for (const auto &event : world.pending())
        out += textOf(event);
    for (const unsigned count : {left.faults, left.kills, left.stops, left.changes, left.unplugged,
                                 left.deafness, world.deaf})
        out += std::to_string(count) + ".";
    out += world.isLost() ? "l" : "";
    out += world.isLooking() ? "r" : "";
    out += ended ? "e" : "";
    return out + (world.pair ? PairProbe::of(*world.pair, world.now) : "dead");
}

bool State::rests() const
{
    return world.pair && world.pending().empty() && !world.isLooking() && !world.isLost() &&
           world.pair->phase() == Phase::guarding && !world.pair->lanes().at(0).restoring &&
           world.kernel.good(world.active()) && std::ranges::all_of(wanted, [&](const Item &one) {
               return has(world.kernel.side[world.active()].items, one) &&
                      world.kernel.holders(one) == 1;
           });
}

} // namespace openipoib::ha
