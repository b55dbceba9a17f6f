// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The receiving half of a station (docs/sib-link.md, 4.2 to 4.4): puts DATA
// frames into order and decides when to acknowledge and what to report missing.
//
// While nothing is taken, it keeps what arrives and acknowledges nothing of it:
// the peer's window closes, and no frame is lost.
#pragma once

#include "io/bytes.hpp"
#include "link/counters.hpp"
#include "link/sender.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace openipoib::fabric
{

class Receiver
{
  public:
    struct Data {
        io::Bytes payload;
        std::uint8_t count = 0;
        Time readySince{}; // when its turn had come
    };

    explicit Receiver(LinkCounters &counters) : counters_(counters) {}

    void begin();

    void onData(std::uint32_t seq, Data data, bool isAckWanted, Time now);
    // The next payload in order; nullopt if there is none.
    [[nodiscard]] std::optional<Data> take(Time now);
    // Since when it has been there; Time::max() if it has not come.
    [[nodiscard]] Time readySince() const
    {
        const auto &slot = held_[next_ % linkWindow];
        return slot ? slot->readySince : Time::max();
    }

    [[nodiscard]] std::uint32_t next() const { return next_; }
    // For the gap field: frames missing before the first one held.
    [[nodiscard]] std::uint16_t gap() const;
    // For the payload of such an ACK: a bit for each frame from next() on, set if it is held.
    [[nodiscard]] io::Bytes held() const;

    // Whether an ACK frame is due, at the end of a batch of frames and later.
    [[nodiscard]] bool isAckDue(bool atBatchEnd, Time now) const;
    // An ACK, or with DATA only the number, has gone out.
    void acknowledged(bool withGap, Time now);
    [[nodiscard]] Time deadline() const;

    // Frames have been held for so long without the one before them.
    [[nodiscard]] bool isStalled(Time now, std::chrono::milliseconds limit) const
    {
        return hasHole() && now - holeSince_ >= limit;
    }

  private:
    [[nodiscard]] bool hasHole() const { return heldCount_ != 0 && !held_[next_ % linkWindow]; }
    [[nodiscard]] bool isGapDue(Time now) const;

    LinkCounters &counters_;
    std::array<std::optional<Data>, linkWindow> held_; // by number modulo the window
    std::size_t heldCount_ = 0;
    std::uint32_t next_ = 0;
    std::uint32_t ready_ = 0;     // the first one that has not come
    Time holeSince_{};            // when hasHole()
    unsigned unacknowledged_ = 0; // delivered, and not said so
    Time ackAt_{};                // when unacknowledged_ is not 0
    bool isAckWanted_ = false;
    std::optional<std::uint32_t> reported_; // next_ of the last gap report
    Time reportAt_{};                       // when it may be repeated
};

} // namespace openipoib::fabric
