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
    // Whether more should be put on it.
    [[nodiscard]] bool takesMore(Time now) const { return bytes_ <= most && busyUntil_ <= now; }
    [[nodiscard]] bool isEmpty() const { return packets_.empty(); }
    [[nodiscard]] bool isIdle(Time now) const { return packets_.empty() && busyUntil_ <= now; }
    // When the next one arrives; Time::max() if there is none.
    [[nodiscard]] Time due() const
    {
        return packets_.empty() ? Time::max() : packets_.begin()->first;
    }
    // When something changes; Time::max() if nothing does. Needs rest() once it has.
    [[nodiscard]] Time wake() const
    {
        return busyUntil_ == idle ? due() : std::min(due(), busyUntil_);
    }
    void rest(Time now)
    {
        if (busyUntil_ <= now)
            busyUntil_ = idle;
    }
    [[nodiscard]] const Packet &front() const { return packets_.begin()->second; }

    // When the last bit of a packet has been sent that comes now. 0 bits a second: no limit.
    [[nodiscard]] Time send(std::size_t bytes, std::uint64_t bitsPerSecond, Time now)
    {
        if (bitsPerSecond == 0)
            return now;
        const std::chrono::nanoseconds time(bytes * 8 * nanosecondsPerSecond / bitsPerSecond);
        busyUntil_ = std::max(now, busyUntil_) + time;
        return busyUntil_;
    }
    // When a packet of this kind arrives that is to be there at @time: not before
    // its predecessors.
    [[nodiscard]] Time arrival(PacketKind kind, Time time) const
    {
        return isEmpty() ? time : std::max(time, last_[static_cast<std::size_t>(kind)]);
    }
    void put(PacketKind kind, Time due, Packet packet)
    {
        last_[static_cast<std::size_t>(kind)] = due;
        putAside(due, std::move(packet));
    }
    // Those that come later may arrive before it.
    void putAside(Time due, Packet packet)
    {
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
        busyUntil_ = idle;
    }

  private:
    static constexpr std::size_t most = 1 << 20; // bytes
    static constexpr std::uint64_t nanosecondsPerSecond = 1'000'000'000;
    static constexpr Time idle = Time::min();

    std::multimap<Time, Packet> packets_; // of equal times, the first put comes first
    std::array<Time, static_cast<std::size_t>(PacketKind::count)> last_{};
    std::size_t bytes_ = 0;
    Time busyUntil_ = idle; // sending, at a limited rate
};

} // namespace openipoib::fabric
