// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One BFD session in asynchronous mode (RFC 5880, section 6). Pure: it is told packets and the
// time, and says what to send and when.
//
// Two things are stricter than the RFC, since whoever is in the partition may send any
// datagram: while a session is up, packets have to name its discriminator, which is random and
// known to the peer alone. A peer that has restarted is heard when the detection time
// is over. So that a peer that does the same learns of a fault that goes one way, its
// discriminator is kept for one detection time longer.
#pragma once

#include "ha-daemon/core/bfd_packet.hpp"
#include "ha-daemon/core/item.hpp"

#include <functional>
#include <optional>

namespace openipoib::ha
{

struct SessionTimes {
    Time every = std::chrono::milliseconds(100);
    std::uint8_t multiplier = 3; // packets missed until a session is down

    bool operator==(const SessionTimes &) const = default;
};

using Random = std::function<std::uint32_t()>;

class Session
{
  public:
    // @mine: its discriminator, not 0
    Session(SessionTimes times, std::uint32_t mine, Random random);

    // Whether the packet, which is right in itself and came from the peer, was believed.
    [[nodiscard]] bool receive(const BfdPacket &packet, Time now);
    // The detection time has passed, perhaps; to be called when all that has come is received.
    void expire(Time now);
    // The packet that is due, and counts as sent; to be called until there is none.
    [[nodiscard]] std::optional<BfdPacket> due(Time now);
    // When something has to be done next.
    [[nodiscard]] Time next() const;
    // The last packet of this end.
    [[nodiscard]] BfdPacket farewell() const;
    // From the beginning, as for an interface that is new.
    void reset(Time now);
    // This end is not where the identity is.
    void standBy(bool standing);

    [[nodiscard]] BfdState state() const { return state_; }
    [[nodiscard]] bool up() const { return state_ == BfdState::up; }
    // Up, and the identity of the peer is at the other end.
    [[nodiscard]] bool serves() const
    {
        return up() && remote_.diag != BfdDiag::concatenatedPathDown;
    }
    // What the peer has said last
    [[nodiscard]] const BfdPacket &remote() const { return remote_; }
    // Why it went down last
    [[nodiscard]] BfdDiag diag() const { return diag_; }
    [[nodiscard]] std::uint32_t mine() const { return mine_; }
    [[nodiscard]] Time detection() const;
    [[nodiscard]] Time sendEvery() const;
    [[nodiscard]] Time hearEvery() const;

  private:
    void become(BfdState state, BfdDiag diag);
    void step(BfdState heard);
    void schedule(Time from);
    [[nodiscard]] bool isSilent() const;
    [[nodiscard]] BfdPacket packet(bool final) const;

    SessionTimes times_;
    std::uint32_t mine_;
    Random random_;
    BfdState state_ = BfdState::down;
    BfdDiag diag_ = BfdDiag::none;
    BfdPacket remote_{}; // with the sender's discriminator 0: nobody is known
    Time heardAt_{};
    Time sentAt_{};
    Time sendAt_{};
    bool standing_ = false;
    bool poll_ = false;   // an answer to it is waited for
    bool final_ = false;  // an answer to a poll is due
    bool urgent_ = false; // something has changed that the peer should hear at once
};

} // namespace openipoib::ha
