// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/sessions.hpp"

#include <algorithm>
#include <utility>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr int bfdHops = 255; // no router was between (RFC 5881, section 5)

// For a side that was not seen to work together with the other: its sessions begin anew with a
// packet a second.
constexpr Time grace = 3s;

} // namespace

Sessions::Sessions(const SessionPolicy &policy, const Random &random) : policy_(policy)
{
    for (const Side side : {Side::primary, Side::secondary})
        for (std::size_t peer = 0; peer < policy.peers.size(); ++peer) {
            std::uint32_t mine = 0;
            while (!mine || std::ranges::any_of(sessions_, [mine](const One &one) {
                return one.session.mine() == mine;
            }))
                mine = random();
            sessions_.push_back({.side = side,
                                 .peer = peer,
                                 .session = Session(policy.times, mine, random),
                                 .counts = {}});
        }
    setActive(Side::primary);
}

void Sessions::watch(const Both<int> &interfaces, Time now)
{
    for (const Side side : {Side::primary, Side::secondary}) {
        if (interfaces[side] == sides_[side].interface)
            continue;
        sides_[side] = {.interface = interfaces[side], .quiet = -grace};
        for (auto &one : sessions_)
            if (one.side == side) {
                one.session.reset(now);
                one.isOff = false;
                one.lost = 0;
            }
    }
}

void Sessions::setActive(Side active)
{
    for (auto &one : sessions_)
        one.session.standBy(one.side != active);
}

// Peers have not heard this host for so long that their sessions may be down, some of them a
// little before the others.
void Sessions::noteStall(Time now)
{
    const auto expected = std::exchange(expected_, std::nullopt);
    if (!expected || now <= *expected + policy_.times.every)
        return;
    ++stalls_;
    Time longest{};
    for (const auto &one : sessions_)
        if (one.session.up())
            longest = std::max(longest, policy_.times.multiplier * one.session.sendEvery());
    blindUntil_ = now + std::min(longest, grace);
    for (auto &side : sides_.values)
        side.quiet = std::min(side.quiet, Time{});
}

void Sessions::receive(Side side, io::View from, int hops, io::View payload, Time now)
{
    noteStall(now);
    if (hops != bfdHops) {
        ++drops_.routed;
        return;
    }
    const auto found = std::ranges::find_if(sessions_, [&](const One &one) {
        return one.side == side && sides_[side].interface &&
               std::ranges::equal(policy_.peers[one.peer], from);
    });
    if (found == sessions_.end()) {
        ++drops_.strangers;
        return;
    }
    const auto packet = readBfdPacket(payload);
    if (!packet) {
        ++drops_.malformed;
        return;
    }
    One &one = *found;
    const bool wasUp = one.session.up();
    const bool served = one.session.serves();
    if (!one.session.receive(*packet, now)) {
        ++drops_.unbelieved;
        return;
    }
    one.isOff = packet->state == BfdState::adminDown;
    noteHeard(one, wasUp, served, now);
    if (served && !one.session.up())
        noteLost(one, true, now);
}

void Sessions::noteHeard(One &one, bool wasUp, bool served, Time now)
{
    ++one.counts.received;
    const Time every = one.session.hearEvery();
    if (wasUp) {
        const Time silence = now - one.heardAt;
        one.counts.longest = std::max(one.counts.longest, silence);
        // Jitter makes an interval shorter by a quarter at most, so this much is lateness.
        if (silence > every + every / 4)
            one.counts.missed += static_cast<std::uint64_t>((silence - every / 4) / every);
        one.counts.downs += !one.session.up();
    }
    one.heardAt = now;
    if (!one.session.serves())
        return;
    one.lost = 0;
    State &here = sides_[one.side];
    State &there = sides_[other(one.side)];
    // What comes back says nothing of the time before.
    if (served && now >= blindUntil_)
        there.quiet += std::clamp(now - std::max(here.servedAt, there.servedAt), Time{}, every);
    here.servedAt = now;
    here.quiet = {};
}

// @told: by the peer, which has not heard this end for a detection time
void Sessions::noteLost(One &one, bool told, Time now)
{
    one.lost = one.session.remote().mine;
    // It has waited already. But it may say the same of the other side, up to an interval later.
    const Time waited = alone(one.side) - policy_.times.every * 3 / 2;
    if (told && !one.isOff && now >= blindUntil_ && !anyServes(one.side))
        sides_[one.side].quiet = std::max(sides_[one.side].quiet, waited);
}

void Sessions::advance(Time now, const Send &send)
{
    noteStall(now);
    for (auto &one : sessions_) {
        if (!sides_[one.side].interface)
            continue;
        const bool wasUp = one.session.up();
        const bool served = one.session.serves();
        one.session.expire(now);
        if (wasUp && !one.session.up()) {
            ++one.counts.downs;
            one.counts.longest = std::max(one.counts.longest, now - one.heardAt);
        }
        if (served && !one.session.up())
            noteLost(one, false, now);
        if (const auto packet = one.session.due(now)) {
            ++one.counts.sent;
            send(one, *packet);
        }
    }
    judge();
    expected_ = next();
}

void Sessions::farewell(const Send &send)
{
    for (const auto &one : sessions_)
        if (sides_[one.side].interface)
            send(one, one.session.farewell());
}

std::optional<Time> Sessions::next() const
{
    std::optional<Time> first;
    for (const auto &one : sessions_)
        if (sides_[one.side].interface)
            first = std::min(first.value_or(Time::max()), one.session.next());
    return first;
}

void Sessions::judge()
{
    const Both<bool> were{{sides_[Side::primary].serves, sides_[Side::secondary].serves}};
    for (const Side side : {Side::primary, Side::secondary})
        sides_[side].serves = anyServes(side);
    for (const Side side : {Side::primary, Side::secondary}) {
        State &here = sides_[side];
        const State &there = sides_[other(side)];
        // What is not seen beside the other is not compared with it.
        if (there.serves && !were[other(side)] && !here.serves && !were[side])
            here.quiet = -grace;
        const bool alone = here.interface && !here.serves && there.serves && !allOff(side);
        here.cutOff = alone && (here.cutOff || here.quiet >= patience(side));
    }
}

bool Sessions::anyServes(Side side) const
{
    return std::ranges::any_of(
        sessions_, [=](const One &one) { return one.side == side && one.session.serves(); });
}

bool Sessions::allOff(Side side) const
{
    // Who was never heard says nothing beside one that is off.
    bool anyOff = false;
    for (const auto &one : sessions_) {
        if (one.side != side)
            continue;
        anyOff = anyOff || one.isOff;
        if (!one.isOff && one.counts.received)
            return false;
    }
    return anyOff;
}

// When switches lose each other, two hosts may each have a port beside the standby of the other,
// and only one of them must move: both know the discriminators of the session that they have
// lost.
bool Sessions::yields(Side side) const
{
    bool hearsStandby = false;
    bool isLower = false;
    for (const auto &one : sessions_) {
        if (one.side != side)
            continue;
        hearsStandby = hearsStandby || (one.session.up() && !one.session.serves());
        isLower = isLower || one.session.mine() < one.lost;
    }
    return hearsStandby && isLower;
}

// How long the other side alone has to be heard, but for one who yields
Time Sessions::alone(Side side) const
{
    Time longest = policy_.times.multiplier * policy_.times.every;
    for (const auto &one : sessions_)
        if (one.side == other(side) && one.session.serves())
            longest = std::max(longest, one.session.detection());
    return longest;
}

Time Sessions::patience(Side side) const
{
    return yields(side) ? 3 * alone(side) : alone(side);
}

} // namespace openipoib::ha
