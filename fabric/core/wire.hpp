// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Packets that are late, on their way in one direction of a link. Those of a kind
// stay in order, unless the other end takes those of one lane and not of another.
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
    // Lanes of which more should be put on it.
    [[nodiscard]] Lanes openLanes(Time now) const { return busyUntil_ <= now ? open_ : Lanes{}; }
    // When more may be put on it, or when to look again; not after now if it may be now.
    [[nodiscard]] Time opens() const { return std::max(busyUntil_, open_.all() ? idle : due()); }
    [[nodiscard]] bool isEmpty() const { return packets_.empty(); }
    [[nodiscard]] bool isIdle(Time now) const { return packets_.empty() && busyUntil_ <= now; }
    // When the next one of these lanes arrives; Time::max() if there is none.
    [[nodiscard]] Time due(Lanes lanes = allLanes) const
    {
        const auto next = find(lanes);
        return next == packets_.end() ? Time::max() : next->first;
    }
    // When something changes for them; Time::max() if nothing does. Needs rest() once it has.
    [[nodiscard]] Time wake(Lanes lanes = allLanes) const
    {
        return busyUntil_ == idle ? due(lanes) : std::min(due(lanes), busyUntil_);
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
        sentAt_ = (sentAt_ < now - mostLate ? now : sentAt_) + time;
        busyUntil_ = sentAt_;
        return sentAt_;
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
        bytes_[packet.vl()] += packet.bytes.size();
        noteRoom(packet.vl());
        packets_.emplace(due, std::move(packet));
    }
    // The next one of these lanes, which there is.
    [[nodiscard]] Packet take(Lanes lanes = allLanes)
    {
        Packet packet = std::move(packets_.extract(find(lanes)).mapped());
        bytes_[packet.vl()] -= packet.bytes.size();
        noteRoom(packet.vl());
        return packet;
    }
    // All packets get lost; their number.
    std::size_t clear()
    {
        const std::size_t count = packets_.size();
        packets_.clear();
        bytes_ = {};
        open_ = allLanes;
        busyUntil_ = sentAt_ = idle;
        return count;
    }

  private:
    static constexpr std::size_t most = 1 << 20; // bytes
    // By so much a caller may come late, and send as much as if he had not. One who comes later
    // had nothing to send.
    static constexpr std::chrono::milliseconds mostLate{5};
    static constexpr std::uint64_t nanosecondsPerSecond = 1'000'000'000;
    static constexpr Time idle = Time::min();

    using Packets = std::multimap<Time, Packet>; // of equal times, the first put comes first

    [[nodiscard]] Packets::const_iterator find(Lanes lanes) const
    {
        return std::ranges::find_if(
            packets_, [lanes](const auto &entry) { return lanes[entry.second.vl()]; });
    }
    void noteRoom(std::uint8_t vl) { open_.set(vl, bytes_[vl] <= most); }

    Packets packets_;
    std::array<Time, static_cast<std::size_t>(PacketKind::count)> last_{};
    std::array<std::size_t, allLanes.size()> bytes_{}; // of each lane
    Lanes open_ = allLanes;                            // with room
    Time busyUntil_ = idle;                            // sending, at a limited rate
    Time sentAt_ = idle;                               // when the last packet has been sent
};

} // namespace openipoib::fabric
