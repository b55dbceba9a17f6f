// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "link/receiver.hpp"

#include <algorithm>
#include <utility>

namespace openipoib::fabric
{

namespace
{

using namespace std::chrono_literals;

constexpr auto ackDelay = 5ms;
constexpr auto gapInterval = 20ms;
constexpr unsigned ackEvery = 16;

} // namespace

void Receiver::begin()
{
    held_.fill(std::nullopt);
    heldCount_ = 0;
    next_ = ready_ = 0;
    unacknowledged_ = 0;
    isAckWanted_ = false;
    reported_.reset();
}

void Receiver::onData(std::uint32_t seq, Data data, bool isAckWanted, Time now)
{
    const std::uint32_t ahead = seq - next_;
    if (ahead >= linkWindow) {
        ++(isBefore(next_, seq)        ? counters_.rxOverrun
           : next_ - seq <= linkWindow ? counters_.rxDup
                                       : counters_.rxWindow);
        isAckWanted_ = true;
        return;
    }
    auto &slot = held_[seq % linkWindow];
    if (slot) {
        ++counters_.rxDup;
        return;
    }
    slot = std::move(data);
    if (heldCount_++ == 0)
        holeSince_ = now;
    for (; ready_ - next_ < linkWindow && held_[ready_ % linkWindow]; ++ready_)
        held_[ready_ % linkWindow]->readySince = now;
    isAckWanted_ |= isAckWanted;
    if (ahead != 0)
        ++counters_.rxReorder;
    if (hasHole() && reported_ != next_)
        reportAt_ = now;
}

std::optional<Receiver::Data> Receiver::take(Time now)
{
    auto &slot = held_[next_ % linkWindow];
    if (!slot)
        return std::nullopt;
    auto data = std::exchange(slot, std::nullopt);
    --heldCount_;
    ++next_;
    holeSince_ = now;
    ++counters_.rxData;
    if (unacknowledged_++ == 0)
        ackAt_ = now + ackDelay;
    return data;
}

std::uint16_t Receiver::gap() const
{
    if (heldCount_ == 0)
        return 0;
    std::uint16_t missing = 0;
    while (missing < linkWindow && !held_[(next_ + missing) % linkWindow])
        ++missing;
    return missing;
}

io::Bytes Receiver::held() const
{
    io::Bytes map(linkWindow / 8);
    for (std::uint32_t i = 0; i < linkWindow; ++i)
        if (held_[(next_ + i) % linkWindow])
            map[i / 8] |= static_cast<std::uint8_t>(0x80U >> i % 8);
    return map;
}

bool Receiver::isGapDue(Time now) const
{
    return gap() != 0 && (reported_ != next_ || now >= reportAt_);
}

bool Receiver::isAckDue(bool atBatchEnd, Time now) const
{
    if (isGapDue(now) || (unacknowledged_ != 0 && now >= ackAt_))
        return true;
    return atBatchEnd && (isAckWanted_ || unacknowledged_ >= ackEvery);
}

void Receiver::acknowledged(bool withGap, Time now)
{
    unacknowledged_ = 0;
    isAckWanted_ = false;
    if (!withGap)
        return;
    reported_ = next_;
    reportAt_ = now + gapInterval;
    ++counters_.gapSent;
}

Time Receiver::deadline() const
{
    Time result = unacknowledged_ != 0 ? ackAt_ : Time::max();
    if (gap() != 0)
        result = std::min(result, reportAt_);
    return result;
}

} // namespace openipoib::fabric
