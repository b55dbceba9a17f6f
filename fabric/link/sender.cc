// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "link/sender.hpp"

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

using namespace std::chrono_literals;

constexpr auto firstTimeout = 40ms;
constexpr unsigned maxBackoff = 4;
constexpr auto justSent = 8ms; // not sent again for a gap report
constexpr unsigned maxBurst = 32;

} // namespace

void Sender::begin(std::uint32_t window)
{
    sent_.clear();
    first_ = next_ = resent_ = recoverUntil_ = 0;
    edge_ = window;
    backoff_ = burst_ = 0;
}

void Sender::sent(Frame frame, Time now)
{
    if (sent_.empty()) {
        progressAt_ = now;
        resendAt_ = now + firstTimeout;
    }
    sent_.push_back({std::move(frame), now});
    ++next_;
    ++counters_.txData;
}

void Sender::resend(std::size_t index, std::vector<Frame> &out, Time now)
{
    sent_[index].sentAt = now;
    out.push_back(sent_[index].frame);
    ++counters_.retransmit;
}

std::vector<Frame> Sender::onAck(std::uint32_t ack, std::uint16_t window, std::uint16_t gap,
                                 Time now)
{
    std::vector<Frame> out;
    if (isBefore(next_, ack)) {
        ++counters_.rxWindow;
        return out;
    }
    if (isBefore(ack, first_))
        return out;
    const std::uint32_t edge = ack + window;
    if (isBefore(edge_, edge))
        edge_ = edge;
    if (ack != first_) {
        sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(ack - first_));
        first_ = ack;
        progressAt_ = now;
        backoff_ = 0;
        resendAt_ = now + firstTimeout;
        recover(out, now);
    }
    if (gap != 0)
        ++counters_.gapRcvd;
    const std::size_t missing = std::min<std::size_t>(gap, sent_.size());
    for (std::size_t i = 0; i < missing; ++i)
        if (now - sent_[i].sentAt >= justSent)
            resend(i, out, now);
    return out;
}

// There was a timeout, and now there is progress: what was in flight then may
// be lost as well, and the peer has nothing to notice it by.
void Sender::recover(std::vector<Frame> &out, Time now)
{
    if (burst_ == 0)
        return;
    if (!isBefore(first_, recoverUntil_)) {
        burst_ = 0;
        return;
    }
    if (isBefore(resent_, first_))
        resent_ = first_;
    for (unsigned i = 0; i < burst_ && isBefore(resent_, recoverUntil_); ++i, ++resent_)
        resend(resent_ - first_, out, now);
    burst_ = std::min(burst_ * 2, maxBurst);
}

std::vector<Frame> Sender::onTime(Time now)
{
    std::vector<Frame> out;
    if (sent_.empty() || now < resendAt_)
        return out;
    resend(0, out, now);
    ++counters_.rto;
    backoff_ = std::min(backoff_ + 1, maxBackoff);
    resendAt_ = now + firstTimeout * (1U << backoff_);
    if (burst_ == 0 || !isBefore(first_, recoverUntil_)) {
        recoverUntil_ = next_;
        resent_ = first_ + 1;
    }
    burst_ = 2;
    return out;
}

Time Sender::deadline() const
{
    return sent_.empty() ? Time::max() : resendAt_;
}

} // namespace openipoib::fabric
