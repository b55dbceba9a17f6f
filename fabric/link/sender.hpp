// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The sending half of a station (docs/sib-link.md, 4.1, 4.4, 4.5): numbers DATA
// frames, keeps them until they are acknowledged, and says which to send again.
#pragma once

#include "io/bytes.hpp"
#include "link/counters.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace openipoib::fabric
{

using Time = std::chrono::steady_clock::time_point;
using Frame = std::shared_ptr<const io::Bytes>; // link frame without Ethernet header

inline constexpr std::uint16_t linkWindow = 128;

// a before b, both modulo 2^32
[[nodiscard]] inline bool isBefore(std::uint32_t a, std::uint32_t b)
{
    return static_cast<std::int32_t>(a - b) < 0;
}

class Sender
{
  public:
    explicit Sender(LinkCounters &counters) : counters_(counters) {}

    // A new pair of sessions: forget everything; the peer takes this many.
    void begin(std::uint32_t window);

    [[nodiscard]] bool canSend() const
    {
        return sent_.size() < linkWindow && isBefore(next_, edge_);
    }
    [[nodiscard]] std::uint32_t next() const { return next_; }
    [[nodiscard]] std::size_t unacknowledged() const { return sent_.size(); }
    // Whether the frame to be sent fills the window by a further quarter.
    [[nodiscard]] bool wantsAck() const { return (sent_.size() + 1) % (linkWindow / 4) == 0; }

    // Number next() has been sent.
    void sent(Frame frame, Time now);

    // ack, window and (of an ACK frame) gap and the payload have arrived; the result is to
    // be sent again.
    [[nodiscard]] std::vector<Frame> onAck(std::uint32_t ack, std::uint16_t window,
                                           std::uint16_t gap, io::View held, Time now);
    [[nodiscard]] std::vector<Frame> onTime(Time now);
    [[nodiscard]] Time deadline() const;

    // Nothing has been acknowledged for so long although something waits.
    [[nodiscard]] bool isStalled(Time now, std::chrono::milliseconds limit) const
    {
        return !sent_.empty() && now - progressAt_ >= limit;
    }

  private:
    struct Entry {
        Frame frame;
        Time sentAt;
        bool isResent;
    };

    [[nodiscard]] Time::duration patience() const;
    void measure(std::size_t acknowledged, Time now);
    void resend(std::size_t index, std::vector<Frame> &out, Time now);
    void fillGaps(std::size_t gap, io::View held, std::vector<Frame> &out, Time now);
    void recover(std::vector<Frame> &out, Time now);

    LinkCounters &counters_;
    std::deque<Entry> sent_; // first_ .. next_ - 1
    std::uint32_t first_ = 0;
    std::uint32_t next_ = 0;
    std::uint32_t edge_ = 0; // first number the peer does not take
    Time progressAt_{};
    Time resendAt_{};
    unsigned backoff_ = 0;
    Time::duration roundTrip_{}; // of frames and their acknowledgements; 0: not known
    Time::duration deviation_{};
    // After a timeout: until this number is acknowledged, progress sends
    // burst_ more frames again, from resent_ on.
    std::uint32_t recoverUntil_ = 0;
    std::uint32_t resent_ = 0;
    unsigned burst_ = 0;
};

} // namespace openipoib::fabric
