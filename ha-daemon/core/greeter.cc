// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/greeter.hpp"

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr Time every = 5s;
constexpr Time atMost = 100ms; // even if the port comes and goes

bool isPeer(const Item &item)
{
    return item.kind == Kind::peer || item.kind == Kind::neighbour;
}

// What a port has learnt of paths goes with it.
Time again(Time last, const Health &health)
{
    return last + (last < health.since() ? atMost : every);
}

} // namespace

std::vector<Greeting> Greeter::due(const Pair &pair, Time now)
{
    std::vector<Greeting> out;
    const Side active = pair.active();
    const Health &health = pair.health(other(active));
    std::erase_if(greeted_, [&](const auto &one) { return now >= again(one.second, health); });
    if (!health.good())
        return out;
    for (const auto &[child, lane] : pair.lanes()) {
        const Interface &standby = lane.view.side[other(active)];
        if (!standby.index || !standby.carrier)
            continue;
        for (const auto &item : lane.view.side[active].items)
            if (isPeer(item) &&
                greeted_.try_emplace({standby.index, item.key, item.body}, now).second)
                out.push_back({standby.index, item});
    }
    return out;
}

} // namespace openipoib::ha
