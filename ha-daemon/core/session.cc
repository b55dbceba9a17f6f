// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/session.hpp"

#include <algorithm>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr Time slow = 1s;       // while it is not up (section 6.8.3)
constexpr Time soonest = 1ms;   // between two packets, whatever a peer asks for
constexpr Time longest = 1h;    // that a peer may ask for: no arithmetic overflows
constexpr unsigned jitter = 25; // percent that an interval may be shorter (section 6.8.7)

std::uint32_t number(Time time)
{
    return static_cast<std::uint32_t>(time.count());
}

} // namespace

Session::Session(SessionTimes times, std::uint32_t mine, Random random)
    : times_(times), mine_(mine), random_(std::move(random))
{
}

Time Session::sendEvery() const
{
    return std::clamp(Time(remote_.minRx), up() ? times_.every : std::max(times_.every, slow),
                      longest);
}

Time Session::hearEvery() const
{
    return std::clamp(Time(remote_.minTx), times_.every, longest);
}

Time Session::detection() const
{
    return remote_.multiplier * hearEvery();
}

void Session::become(BfdState state, BfdDiag diag)
{
    if (state == state_)
        return;
    // Going up makes the intervals shorter, which takes a poll (section 6.8.3).
    poll_ = state == BfdState::up;
    state_ = state;
    diag_ = diag;
    urgent_ = true;
}

// Section 6.8.6
void Session::step(BfdState heard)
{
    if (heard == BfdState::adminDown) {
        become(BfdState::down, BfdDiag::neighborDown);
        return;
    }
    switch (state_) {
    case BfdState::down:
        if (heard == BfdState::down)
            become(BfdState::init, diag_);
        else if (heard == BfdState::init)
            become(BfdState::up, BfdDiag::none);
        break;
    case BfdState::init:
        if (heard != BfdState::down)
            become(BfdState::up, BfdDiag::none);
        break;
    case BfdState::up:
        if (heard == BfdState::down)
            become(BfdState::down, BfdDiag::neighborDown);
        break;
    case BfdState::adminDown:
        break;
    }
}

bool Session::receive(const BfdPacket &packet, Time now)
{
    if (packet.yours ? packet.yours != mine_ : up())
        return false;
    if (up() && packet.mine != remote_.mine)
        return false;
    const Time every = sendEvery();
    remote_ = packet;
    heardAt_ = now;
    if (packet.final)
        poll_ = false;
    final_ = final_ || packet.poll;
    step(packet.state);
    if (sendEvery() < every) // in force at once
        schedule(sentAt_);
    return true;
}

void Session::expire(Time now)
{
    const Time after = detection();
    if ((state_ == BfdState::init || up()) && now >= heardAt_ + after)
        become(BfdState::down, BfdDiag::timeExpired);
    if (remote_.mine && now >= heardAt_ + 2 * after)
        remote_ = {};
}

void Session::schedule(Time from)
{
    const Time most = sendEvery();
    // With a multiplier of 1 the peer must not wait for a packet as long as that.
    const std::uint32_t least = times_.multiplier == 1 ? 10 : 0;
    const std::uint32_t less = least + random_() % (jitter - least + 1);
    sendAt_ = from + most - most * less / 100;
}

// The peer wants nothing but answers.
bool Session::isSilent() const
{
    return remote_.mine &&
           (!remote_.minRx || (remote_.demand && up() && remote_.state == BfdState::up && !poll_));
}

BfdPacket Session::packet(bool final) const
{
    return {.diag = standing_ && state_ != BfdState::down ? BfdDiag::concatenatedPathDown : diag_,
            .state = state_,
            .poll = poll_ && !final,
            .final = final,
            .multiplier = times_.multiplier,
            .mine = mine_,
            .yours = remote_.mine,
            .minTx = number(up() ? times_.every : std::max(times_.every, slow)),
            .minRx = number(times_.every)};
}

std::optional<BfdPacket> Session::due(Time now)
{
    const bool wanted = final_ || urgent_ || (!isSilent() && now >= sendAt_);
    if (!wanted || now < sentAt_ + soonest)
        return std::nullopt;
    const BfdPacket out = packet(final_);
    final_ = urgent_ = false;
    sentAt_ = now;
    schedule(now);
    return out;
}

Time Session::next() const
{
    Time first = heardAt_ + longest;
    if (final_ || urgent_)
        first = sentAt_ + soonest;
    else if (!isSilent())
        first = std::max(sendAt_, sentAt_ + soonest);
    if (!remote_.mine)
        return first;
    return std::min(first, heardAt_ + (state_ == BfdState::down ? 2 : 1) * detection());
}

BfdPacket Session::farewell() const
{
    BfdPacket out = packet(false);
    out.state = BfdState::adminDown;
    out.diag = BfdDiag::administrative;
    out.poll = false;
    return out;
}

void Session::reset(Time now)
{
    remote_ = {};
    state_ = BfdState::down;
    diag_ = BfdDiag::none;
    poll_ = final_ = false;
    urgent_ = true;
    heardAt_ = now;
    sentAt_ = now - soonest;
}

void Session::standBy(bool standing)
{
    if (standing == standing_)
        return;
    standing_ = standing;
    urgent_ = urgent_ || state_ != BfdState::down;
}

} // namespace openipoib::ha
