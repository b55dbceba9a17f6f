// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Packets that are late, on their way in one direction of a link. Those of a kind
// stay in order.
#pragma once

#include "core/fault.hpp"
#include "node/packet.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace openipoib::fabric
{

class Wire
{
  public:
    // Whether no more should be put on it.
    [[nodiscard]] bool isFull() const { return bytes_ > most; }
    [[nodiscard]] bool isEmpty() const { return packets_.empty(); }
    // When the next one arrives; Time::max() if there is none.
    [[nodiscard]] Time due() const
    {
        return packets_.empty() ? Time::max() : packets_.begin()->first;
    }
    [[nodiscard]] const Packet &front() const { return packets_.begin()->second; }

    // When a packet of this kind arrives that is to be there at @time: not before
    // its predecessors.
    [[nodiscard]] Time arrival(PacketKind kind, Time time) const
    {
        return isEmpty() ? time : std::max(time, last_[static_cast<std::size_t>(kind)]);
    }
    void put(PacketKind kind, Time due, Packet packet)
    {
        last_[static_cast<std::size_t>(kind)] = due;
        bytes_ += packet.bytes.size();
        packets_.emplace(due, std::move(packet));
    }
    [[nodiscard]] Packet take()
    {
        Packet packet = std::move(packets_.extract(packets_.begin()).mapped());
        bytes_ -= packet.bytes.size();
        return packet;
    }
    void clear()
    {
        packets_.clear();
        bytes_ = 0;
    }

  private:
    static constexpr std::size_t most = 1 << 20; // bytes

    std::multimap<Time, Packet> packets_; // of equal times, the first put comes first
    std::array<Time, static_cast<std::size_t>(PacketKind::count)> last_{};
    std::size_t bytes_ = 0;
};

} // namespace openipoib::fabric
