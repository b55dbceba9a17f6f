// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/greeter.hpp"

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr Time every = 5s;

bool isPeer(const Item &item)
{
    return item.kind == Kind::peer || item.kind == Kind::neighbour;
}

} // namespace

std::vector<Greeting> Greeter::due(const Pair &pair, Time now)
{
    std::vector<Greeting> out;
    std::map<Key, Time> kept;
    const Side active = pair.active();
    const Health &health = pair.health(other(active));
    // What a port has learnt of paths goes with it.
    if (health.since() != since_)
        greeted_.clear();
    since_ = health.since();
    for (const auto &[child, lane] : pair.lanes()) {
        const Interface &standby = lane.view.side[other(active)];
        if (!health.good() || !standby.index || !standby.carrier)
            continue;
        for (const auto &item : lane.view.side[active].items) {
            if (!isPeer(item))
                continue;
            Key key{standby.index, item.key, item.body};
            const auto last = greeted_.find(key);
            const bool early = last != greeted_.end() && now < last->second + every;
            if (!early)
                out.push_back({standby.index, item});
            kept.emplace(std::move(key), early ? last->second : now);
        }
    }
    greeted_ = std::move(kept);
    return out;
}

} // namespace openipoib::ha
