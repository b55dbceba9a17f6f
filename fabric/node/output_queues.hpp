// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The packets that wait to leave by a port, a queue for each lane. VL 15 goes first;
// the data lanes take turns, a packet each.
#pragma once

#include "link/sender.hpp"
#include "node/packet.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace openipoib::fabric
{

// Where a packet came in, or what it answers did.
struct InputLane {
    std::uint8_t port = 0; // 0: it was made here, for VL 15
    std::uint8_t vl = 0;

    bool operator==(const InputLane &) const = default;
};

struct OutputQueue {
    std::deque<Packet> packets;
    std::size_t bytes = 0;
    Time headSince{};                // when the first packet became the first
    std::vector<InputLane> heldBack; // that wait for room here
    Time heldSince{};                // the first of them
    // Has held them back for too long, and drops what there is no room for until so much is
    // taken that it need not.
    struct Slow {
        Time since{};          // of what follows
        std::size_t taken = 0; // bytes
    };
    std::optional<Slow> slow;
    unsigned late = 0;   // packets dropped in a row for their age
    Time stalledUntil{}; // VLStalled: until then all packets are discarded
};

class OutputQueues
{
  public:
    [[nodiscard]] OutputQueue &operator[](std::uint8_t vl) { return queues_[index(vl)]; }
    [[nodiscard]] const OutputQueue &operator[](std::uint8_t vl) const
    {
        return queues_[index(vl)];
    }
    // Lanes with packets.
    [[nodiscard]] Lanes waiting() const { return waiting_; }
    // The lane whose turn it is among those that are open; nullopt if none of them has any.
    [[nodiscard]] std::optional<std::uint8_t> next(Lanes open) const
    {
        const Lanes ready = waiting_ & open;
        if (ready[vl15])
            return vl15;
        if (ready.none())
            return std::nullopt;
        unsigned vl = last_;
        do
            vl = (vl + 1) % dataLanes;
        while (!ready[vl]);
        return static_cast<std::uint8_t>(vl);
    }

    // Whether it is the first.
    bool push(std::uint8_t vl, Packet packet, Time now)
    {
        OutputQueue &queue = (*this)[vl];
        const bool isFirst = queue.packets.empty();
        if (isFirst)
            queue.headSince = now;
        queue.bytes += packet.bytes.size();
        queue.packets.push_back(std::move(packet));
        waiting_.set(vl);
        return isFirst;
    }
    [[nodiscard]] Packet pop(std::uint8_t vl, Time now)
    {
        OutputQueue &queue = (*this)[vl];
        Packet packet = std::move(queue.packets.front());
        queue.packets.pop_front();
        queue.bytes -= packet.bytes.size();
        queue.headSince = now;
        waiting_.set(vl, !queue.packets.empty());
        if (vl != vl15)
            last_ = vl;
        return packet;
    }

  private:
    static std::size_t index(std::uint8_t vl) { return vl == vl15 ? dataLanes : vl; }

    std::array<OutputQueue, dataLanes + 1> queues_;
    Lanes waiting_;
    std::uint8_t last_ = dataLanes - 1; // had its turn
};

} // namespace openipoib::fabric
