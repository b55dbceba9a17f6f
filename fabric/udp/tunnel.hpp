// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One end of a `udp:` cable without I/O: frames become datagrams, and datagrams frames.
//
// Each end has an epoch, a number by chance. A datagram names the epoch of its sender and
// that of its receiver, which the sender has learnt by an answer to a greeting; so whoever
// names ours is alive now, and what was recorded before we began is of no use to anybody.
// Within an epoch datagrams are numbered, and each is taken once. An epoch of the peer's
// that is over does not come back.
#pragma once

#include "link/sender.hpp"
#include "udp/counters.hpp"
#include "udp/datagram.hpp"
#include "udp/mac.hpp"
#include "udp/reassembly.hpp"
#include "udp/replay.hpp"

#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace openipoib::fabric
{

class Tunnel
{
  public:
    using Random = std::function<std::uint32_t()>;
    struct Arrival {
        std::optional<io::Bytes> frame; // to be handed over
        std::optional<io::Bytes> reply; // to be sent to where it came from
        bool isNewest = false;          // of the peer, who is where it came from
    };

    // No frame is longer than mostFrame.
    Tunnel(io::View key, std::size_t mostFrame, Random random);
    Tunnel(const Tunnel &) = delete;
    Tunnel &operator=(const Tunnel &) = delete;
    Tunnel(Tunnel &&) = delete;
    Tunnel &operator=(Tunnel &&) = delete;
    ~Tunnel() = default;

    // A frame as datagrams of at most so many bytes. Without a peer that has answered, a
    // greeting in place of the frame, which is lost.
    [[nodiscard]] std::vector<io::Bytes> wrap(io::View frame, std::size_t mostDatagram, Time now);
    // isFromPeer: it came from where the peer was last.
    [[nodiscard]] Arrival onDatagram(io::View bytes, bool isFromPeer, Time now);

    [[nodiscard]] bool hasPeer() const { return theirs_ != 0; }
    [[nodiscard]] UdpCounters &counters() { return counters_; }
    [[nodiscard]] const UdpCounters &counters() const { return counters_; }
    [[nodiscard]] std::size_t partialFrames() const { return reassembly_.frames(); }

  private:
    void beginEpoch();
    [[nodiscard]] io::Bytes greeting(std::uint64_t to);
    [[nodiscard]] Arrival onStranger(std::uint64_t epoch, Time now);
    [[nodiscard]] bool adopt(const Datagram &datagram, bool isFromPeer, Time now);

    Mac mac_;
    Random random_;
    UdpCounters counters_;
    std::uint64_t ours_ = 0;
    std::uint64_t theirs_ = 0;     // 0: not known
    std::set<std::uint64_t> over_; // epochs that the peer has had in our one
    std::uint64_t seq_ = 0;        // of the last datagram
    ReplayWindow window_;
    Time heardAt_{};
    Time greetedAt_{};
    Reassembly reassembly_;
};

} // namespace openipoib::fabric
