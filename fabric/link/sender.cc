// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "link/sender.hpp"

#include <algorithm>
#include <iterator>

namespace openipoib::fabric
{

namespace
{

using namespace std::chrono_literals;

constexpr auto firstTimeout = 40ms;
constexpr auto mostTimeout = 640ms;
constexpr auto mostPatience = 250ms; // the peer may hold acknowledgements back
constexpr unsigned maxBackoff = 4;
constexpr auto justSent = 8ms; // not sent again for a gap report, nor before it could be answered
constexpr unsigned maxBurst = 32;

} // namespace

void Sender::begin(std::uint32_t window)
{
    sent_.clear();
    first_ = next_ = resent_ = recoverUntil_ = 0;
    edge_ = window;
    backoff_ = burst_ = 0;
    roundTrip_ = deviation_ = Time::duration::zero();
}

// How long to wait for an acknowledgement: 40 ms, or what they have taken lately.
Time::duration Sender::patience() const
{
    const Time::duration wanted = roundTrip_ + 4 * deviation_;
    const Time::duration most = mostPatience, least = firstTimeout;
    return std::min<Time::duration>(std::clamp(wanted, least, most) * (1U << backoff_),
                                    mostTimeout);
}

// As RFC 6298 has it; of frames that were sent once, since nobody knows which of two has come.
void Sender::measure(std::size_t acknowledged, Time now)
{
    const auto last = sent_.begin() + static_cast<std::ptrdiff_t>(acknowledged);
    const auto newest = std::find_if(std::reverse_iterator(last), sent_.rend(),
                                     [](const Entry &entry) { return !entry.isResent; });
    if (newest == sent_.rend())
        return; // it is still not known whether that was patient enough
    const Time::duration taken = now - newest->sentAt;
    if (roundTrip_ == Time::duration::zero()) {
        roundTrip_ = taken;
        deviation_ = taken / 2;
    } else {
        deviation_ += (std::chrono::abs(taken - roundTrip_) - deviation_) / 4;
        roundTrip_ += (taken - roundTrip_) / 8;
    }
    backoff_ = 0;
}

void Sender::sent(Frame frame, Time now)
{
    if (sent_.empty()) {
        progressAt_ = now;
        resendAt_ = now + patience();
    }
    sent_.push_back({std::move(frame), now, false});
    ++next_;
    ++counters_.txData;
}

void Sender::resend(std::size_t index, std::vector<Frame> &out, Time now)
{
    sent_[index].sentAt = now;
    sent_[index].isResent = true;
    out.push_back(sent_[index].frame);
    ++counters_.retransmit;
}

// What the peer lacks before the last frame that it holds; one that was sent so lately that
// the peer could not know of it may be on its way.
void Sender::fillGaps(std::size_t gap, io::View held, std::vector<Frame> &out, Time now)
{
    const auto isHeld = [held](std::size_t index) {
        return index / 8 < held.size() && (held[index / 8] << index % 8 & 0x80) != 0;
    };
    std::size_t end = std::min<std::size_t>(held.size() * 8, linkWindow);
    while (end > gap && !isHeld(end - 1))
        --end;
    end = std::min(std::max(end, gap), sent_.size());
    for (std::size_t i = 0; i < end; ++i)
        if ((i < gap || !isHeld(i)) &&
            now - sent_[i].sentAt >= std::max<Time::duration>(justSent, roundTrip_))
            resend(i, out, now);
}

std::vector<Frame> Sender::onAck(std::uint32_t ack, std::uint16_t window, std::uint16_t gap,
                                 io::View held, Time now)
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
        measure(ack - first_, now);
        sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(ack - first_));
        first_ = ack;
        progressAt_ = now;
        resendAt_ = now + patience();
        recover(out, now);
    }
    if (gap != 0) {
        ++counters_.gapRcvd;
        fillGaps(gap, held, out, now);
    }
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
    resendAt_ = now + patience();
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
