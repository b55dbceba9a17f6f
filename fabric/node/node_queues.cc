// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The queues of a node's ports: what holds inputs back, and what is dropped for want of room
// or because it has waited for too long.
#include "node/node.hpp"

#include <algorithm>
#include <utility>

namespace openipoib::fabric
{

namespace
{

// Bytes of a data lane's queue; more holds the inputs back.
constexpr std::size_t mostQueued = std::size_t{256} * 1024;
// As much is taken of it before they go on.
constexpr std::size_t leastRoom = std::size_t{24} * 1024;
constexpr std::size_t resumeQueued = mostQueued - leastRoom;
// Of a queue that is not slow as much is taken in the time that it may hold inputs back: that
// room, and the packet by which it was too full.
constexpr std::size_t leastTaken = leastRoom + std::size_t{4} * 1024;
constexpr std::size_t mostManagement = 512; // packets on VL 15
// Packets wait on real machines for longer than on real links: HOQLife is
// multiplied by this.
constexpr int lifeFactor = 16;
// A lane is in the state VLStalled for so many times HOQLife.
constexpr int stallFactor = 8;
// Inputs are held back for no longer: on a cable that is all lanes, also that of the SM's MADs,
// and the other end gives a link up that takes nothing for four seconds (docs/sib-link.md, 4.5).
constexpr std::chrono::milliseconds mostHold{500};

// How long a queue of a port may hold inputs back; nullopt: for ever.
std::optional<std::chrono::nanoseconds> holdLimit(const Port &port)
{
    const auto life = port.headLife();
    if (!life)
        return std::nullopt;
    return std::min<std::chrono::nanoseconds>(*life * lifeFactor, mostHold);
}

bool isMulticast(const Packet &packet)
{
    const auto lrh = ib::Lrh::parse(packet.bytes);
    return lrh->dlid >= ib::firstMulticastLid && lrh->dlid != ib::permissiveLid;
}

// So much has been taken from a queue. One from which all is taken is not slow either.
void noteTaken(OutputQueue &queue, std::size_t bytes, std::optional<std::chrono::nanoseconds> limit,
               Time now)
{
    if (!queue.slow)
        return;
    if (limit && now - queue.slow->since > *limit)
        queue.slow = {.since = now};
    queue.slow->taken += bytes;
    if (!limit || queue.packets.empty() || queue.slow->taken >= leastTaken)
        queue.slow.reset();
}

} // namespace

void Node::enqueue(InputLane from, Port &out, std::uint8_t vl, Packet packet, Time now)
{
    OutputQueue &queue = out.queues[vl];
    if (vl == vl15 && queue.packets.size() >= mostManagement)
        return out.counters.add(Drop::overflow);
    if (now < queue.stalledUntil)
        return out.counters.add(Drop::lifetime);
    // One member of a group must not hold back who sends to all of them.
    if (vl != vl15 && queue.bytes + packet.bytes.size() > mostQueued &&
        (queue.slow || ports_[from.port].isOverdue() || isMulticast(packet)))
        return out.counters.add(Drop::noRoom);
    if (out.queues.push(vl, std::move(packet), now))
        listener_.outputReady(out.identity().number);
    if (vl == vl15 || queue.bytes <= mostQueued ||
        std::ranges::find(queue.heldBack, from) != queue.heldBack.end())
        return;
    if (queue.heldBack.empty())
        queue.heldSince = now;
    queue.heldBack.push_back(from);
    ports_[from.port].holdBack(from.vl);
    out.counters.add(Counter::xmitWait);
}

Packet Node::take(std::uint8_t port, std::uint8_t vl, Time now)
{
    Port &from = ports_[port];
    Packet packet = from.queues.pop(vl, now);
    OutputQueue &queue = from.queues[vl];
    queue.late = 0;
    noteTaken(queue, packet.bytes.size(), holdLimit(from), now);
    from.counters.add(Counter::xmitPackets);
    from.counters.add(Counter::xmitData, packet.bytes.size());
    from.counters.add(isMulticast(packet) ? Counter::multicastXmit : Counter::unicastXmit);
    if (queue.bytes <= resumeQueued)
        release(queue);
    return packet;
}

void Node::release(OutputQueue &queue)
{
    for (const InputLane in : std::exchange(queue.heldBack, {}))
        if (ports_[in.port].letGo(in.vl))
            listener_.inputReady(in.port);
}

void Node::flush(Port &port)
{
    while (const auto vl = port.queues.next(allLanes)) {
        static_cast<void>(port.queues.pop(*vl, Time{}));
        port.counters.add(Drop::portDown);
        if (!port.queues.waiting()[*vl])
            release(port.queues[*vl]);
    }
    // What the queues have known of the other end may not be true of the next one.
    for (std::uint8_t vl = 0; vl < dataLanes; ++vl) {
        OutputQueue &queue = port.queues[vl];
        queue.late = 0;
        queue.stalledUntil = {};
        queue.slow.reset();
    }
}

void Node::dropLate(Port &port, std::uint8_t vl, Time now)
{
    const OutputQueue &queue = port.queues[vl];
    const auto life = port.headLife();
    if (!life || queue.packets.empty() || now - queue.headSince < *life * lifeFactor)
        return;
    static_cast<void>(port.queues.pop(vl, now));
    port.counters.add(Drop::lifetime);
    const std::uint32_t most = port.info(IB_PORT_VL_STALL_COUNT_F);
    if (++port.queues[vl].late >= most && most != 0)
        stall(port, vl, now + *life * lifeFactor * stallFactor, now);
    if (queue.bytes <= resumeQueued)
        release(port.queues[vl]);
}

// IBA volume 1, 18.2.5.4: what waits is discarded, and what comes for a while.
void Node::stall(Port &port, std::uint8_t vl, Time until, Time now)
{
    OutputQueue &queue = port.queues[vl];
    queue.late = 0;
    queue.stalledUntil = until;
    while (!queue.packets.empty()) {
        static_cast<void>(port.queues.pop(vl, now));
        port.counters.add(Drop::lifetime);
    }
}

// Who is held back for long loses its link, or has all that it sends to others wait, so a queue
// that has no room in time loses as much. After that it holds nobody back for as long as it is
// slow.
void Node::endHold(Port &port, std::uint8_t vl, Time now)
{
    OutputQueue &queue = port.queues[vl];
    const auto limit = holdLimit(port);
    if (!limit || queue.heldBack.empty() || now - queue.heldSince < *limit)
        return;
    while (queue.bytes > resumeQueued) {
        static_cast<void>(port.queues.pop(vl, now));
        port.counters.add(Drop::noRoom);
    }
    queue.slow = {.since = now};
    release(queue);
}

Time Node::queuesDeadline(const Port &port)
{
    Time result = Time::max();
    const auto life = port.queues.waiting().any() ? port.headLife() : std::nullopt;
    for (std::uint8_t vl = 0; life && vl < dataLanes; ++vl) {
        const OutputQueue &queue = port.queues[vl];
        if (!queue.packets.empty())
            result = std::min(result, queue.headSince + *life * lifeFactor);
        if (!queue.heldBack.empty())
            result = std::min(result, queue.heldSince + *holdLimit(port));
    }
    return result;
}

} // namespace openipoib::fabric
