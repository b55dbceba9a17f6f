// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A fabric's packets on their way from port to port, and what befalls them.
#include "core/fabric.hpp"

#include <algorithm>
#include <array>

namespace openipoib::fabric
{

namespace
{

constexpr unsigned maxPacketsPerFrame = 255;
// So many bytes come in by a port before what they have led to goes on. A queue has room for
// more, so none is lost for want of a turn.
constexpr std::uint64_t mostAtOnce = std::uint64_t{64} * 1024;
// For so long what has come by a cable waits until queues have room for it. All that comes behind
// it waits, too, also the SM's MADs.
constexpr std::chrono::seconds mostWait{1};
// How late a packet is that others are to overtake.
constexpr std::chrono::milliseconds overtakenBy{5};

// PortInfo's code of the MTU that a link with such frames offers, as
// docs/sib-link.md, 1.2 has it.
std::uint8_t mtuCode(std::size_t frame)
{
    constexpr std::array<std::pair<std::size_t, std::uint8_t>, 4> codes{
        {{4208, 5}, {2160, 4}, {1136, 3}, {624, 2}}};
    for (const auto &[least, code] : codes)
        if (frame >= least)
            return code;
    return 1;
}

} // namespace

// Change a bit behind the LRH, without which a frame of packets could not be taken apart.
void Fabric::corrupt(Packet &packet)
{
    const std::size_t bits = (packet.bytes.size() - ib::Lrh::size) * 8;
    const std::size_t bit = chance_() % bits;
    packet.bytes[ib::Lrh::size + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    packet.isCorrupted = true;
}

// A packet at the start of its way, by a port or from a cable: it goes on at once, or
// it is lost, or put on the wire, from which the caller then takes what is due.
std::optional<Packet> Fabric::pass(PortRef port, Wire &wire, Packet packet, Time now)
{
    if (!faults_.touchPackets() && wire.isEmpty())
        return packet;
    late_.insert(port);
    const PacketKind kind = kindOf(packet.bytes);
    const auto verdict = faults_.judge(port, end(port).peer, kind, chance_);
    if (verdict.isDropped) {
        nodeAt(port).port(port.port).counters.add(Drop::fault);
        return std::nullopt;
    }
    if (verdict.isCorrupted)
        corrupt(packet);
    const Time sent = wire.send(packet.bytes.size(), verdict.bitsPerSecond, now);
    const Time due = wire.arrival(kind, sent + verdict.delay);
    if (verdict.isDuplicated) {
        nodeAt(port).port(port.port).counters.add(Counter::duplicated);
        wire.put(kind, due, packet);
    }
    if (!verdict.isOvertaken && due <= now && wire.due() > now)
        return packet;
    if (verdict.isOvertaken)
        wire.putAside(due + overtakenBy, std::move(packet));
    else
        wire.put(kind, due, std::move(packet));
    return std::nullopt;
}

// What is under way at a port is lost.
void Fabric::clearWires(PortRef port)
{
    End &local = end(port);
    nodeAt(port).port(port.port).counters.add(Drop::underWay, local.out.clear() + local.in.clear());
}

// Packets that were late arrive.
void Fabric::onLate(Time now)
{
    const auto ports = late_;
    for (const PortRef port : ports) {
        End &local = end(port);
        local.out.rest(now);
        local.in.rest(now);
        if (local.cable != noCable)
            takeInput(plugs_[local.cable], now);
        pump(port, now);
        if (local.out.isIdle(now) && local.in.isIdle(now))
            late_.erase(port);
    }
}

// Never for packets that have to wait for something else to happen.
Time Fabric::lateDeadline(PortRef port) const
{
    const End &local = seats_[port.node].ends[port.port];
    const auto wake = [this](const Wire &wire, PortRef at) {
        return wire.wake(seats_[at.node].node->openLanes(at.port));
    };
    Time result = Time::max();
    if (local.cable != noCable) {
        const Plug &plug = plugs_[local.cable];
        if (plug.cable.isReady() && plug.station.canSend())
            result = local.out.wake();
        result = std::min(result, wake(local.in, port));
    } else if (local.peer) {
        result = wake(local.out, *local.peer);
    }
    return result;
}

Packet Fabric::depart(PortRef port, std::uint8_t vl, Time now)
{
    Packet packet = nodeAt(port).take(port.port, vl, now);
    if (ear_ != nullptr)
        ear_->onPacket(port, Way::out, packet.bytes, now);
    return packet;
}

void Fabric::arrive(PortRef port, Packet packet, Time now)
{
    if (ear_ != nullptr)
        ear_->onPacket(port, end(port).cable == noCable ? Way::in : Way::entry, packet.bytes, now);
    moved_ += packet.bytes.size();
    nodeAt(port).receive(port.port, std::move(packet), now);
}

// What is due on a wire comes in by a port, as far as its lanes are open and until so many
// bytes have moved.
void Fabric::arriveAt(PortRef port, Wire &wire, std::uint64_t until, Time now)
{
    const Node &node = nodeAt(port);
    while (moved_ < until && wire.due(node.openLanes(port.port)) <= now)
        arrive(port, wire.take(node.openLanes(port.port)), now);
}

// What waits at a port moves on, as far as the other end takes it.
void Fabric::pump(PortRef port, Time now)
{
    End &local = end(port);
    touch(port);
    if (local.cable != noCable)
        return fillOutput(plugs_[local.cable], now);
    if (!local.peer || !seats_[local.peer->node].node)
        return;
    const PortRef peer = *local.peer;
    const Node &from = nodeAt(port);
    const Node &to = nodeAt(peer);
    const std::uint64_t until = moved_ + mostAtOnce;
    const auto next = [&] {
        return from.nextLane(port.port, to.openLanes(peer.port) & local.out.openLanes(now));
    };
    touch(peer);
    arriveAt(peer, local.out, until, now);
    for (auto vl = next(); vl && moved_ < until; vl = next())
        if (auto packet = pass(port, local.out, depart(port, *vl, now), now))
            arrive(peer, std::move(*packet), now);
    arriveAt(peer, local.out, until, now);
    if (moved_ >= until)
        ready_.push_back(port);
}

// Whoever sends to a port may go on.
void Fabric::refill(PortRef port, Time now)
{
    const End &local = end(port);
    if (local.cable != noCable) {
        takeInput(plugs_[local.cable], now);
        fillOutput(plugs_[local.cable], now);
    } else if (local.peer && seats_[local.peer->node].node) {
        pump(*local.peer, now);
    }
}

// Tell the node what was wrong with frames.
void Fabric::noteErrors(Plug &plug, Time now)
{
    using enum Node::CableError;
    const LinkCounters &seen = plug.station.counters();
    for (const auto &[counter, error] : {std::pair{&LinkCounters::rxCheck, broken},
                                         {&LinkCounters::rxOverrun, overrun},
                                         {&LinkCounters::rxWindow, malformed},
                                         {&LinkCounters::rxMalformed, malformed},
                                         {&LinkCounters::timeout, silent},
                                         {&LinkCounters::stall, silent}})
        for (std::uint64_t i = plug.noted.*counter; i < seen.*counter; ++i) {
            if (error == silent && plug.upSession == 0)
                continue; // it was not up yet
            touch(plug.at);
            nodeAt(plug.at).cableError(plug.at.port, error, now);
        }
    nodeAt(plug.at)
        .port(plug.at.port)
        .counters.add(Drop::underWay, seen.rxLost - plug.noted.rxLost);
    plug.noted = seen;
}

// Tell the node what has become of the link.
void Fabric::noteState(Plug &plug, Time now)
{
    noteErrors(plug, now);
    const std::uint32_t session = plug.station.isUp() ? plug.station.session() : 0;
    if (session == plug.upSession)
        return;
    Node &node = nodeAt(plug.at);
    touch(plug.at);
    if (plug.upSession != 0) {
        clearWires(plug.at);
        node.linkDown(plug.at.port, isOff(plug.at) ? PhysState::disabled : PhysState::polling, now);
    }
    plug.upSession = session;
    if (session == 0)
        return;
    node.port(plug.at.port).limitMtu(mtuCode(plug.station.maxPayload() + link::Header::size));
    node.linkUp(plug.at.port, now);
}

// The cable may take shorter frames than it did, or longer ones: these are no use to a link that
// is up, whose ends have told each other and the SM what they take.
void Fabric::followCable(Plug &plug, Time now)
{
    const std::uint32_t most = std::min(plug.cable.maxFrame(), longestFrame);
    if (most == plug.station.maxFrame() || (most > plug.station.maxFrame() && plug.station.isUp()))
        return;
    plug.station.limitFrame(most, now);
    noteState(plug, now);
}

// Each packet may be the last one that there is room for.
void Fabric::takeInput(Plug &plug, Time now)
{
    Node &node = nodeAt(plug.at);
    Wire &wire = end(plug.at).in;
    const std::uint64_t until = moved_ + mostAtOnce;
    touch(plug.at);
    for (;;) {
        node.setOverdue(plug.at.port, plug.station.waitingSince() <= now - mostWait);
        arriveAt(plug.at, wire, until, now);
        // The cable has one window for all of its lanes.
        if (moved_ >= until || !(node.openLanes(plug.at.port) & wire.openLanes(now)).all())
            break;
        auto bytes = plug.station.takePacket(now);
        if (!bytes)
            break;
        if (auto packet = pass(plug.at, wire, {.bytes = std::move(*bytes)}, now))
            arrive(plug.at, std::move(*packet), now);
    }
    node.setOverdue(plug.at.port, false);
    if (moved_ >= until)
        refill_.push_back(plug.at);
    plug.station.onBatchEnd(now);
    noteErrors(plug, now);
}

// When what queues hold back on a cable is overdue; Time::max() if there is nothing.
Time Fabric::inputDeadline(const Plug &plug) const
{
    const Seat &seat = seats_[plug.at.node];
    const Time since = plug.station.waitingSince();
    if (since == Time::max() || seat.node->openLanes(plug.at.port).all())
        return Time::max();
    return std::max(since + mostWait, seat.ends[plug.at.port].in.opens());
}

void Fabric::fillOutput(Plug &plug, Time now)
{
    const auto put = [&plug] {
        for (auto &out : plug.station.takeOutput())
            plug.cable.send(out.to, out.frame);
    };
    followCable(plug, now);
    while (plug.cable.isReady() && plug.station.canSend() && sendFrame(plug, now)) {
        put();
        followCable(plug, now); // or all that waits would go the way of a frame that is too long
    }
    put();
    followCable(plug, now); // who sends a HELLO, or a frame that is too long, hears of it
    put();
}

// As many packets as are there and fit; false if there is none. What no frame takes is dropped.
bool Fabric::sendFrame(Plug &plug, Time now)
{
    const Node &node = nodeAt(plug.at);
    Wire &wire = end(plug.at).out;
    touch(plug.at);
    const std::size_t most = plug.station.maxPayload();
    io::Bytes payload;
    unsigned count = 0;
    const auto fits = [&](const Packet &packet) {
        const std::size_t size = packet.bytes.size();
        return count < maxPacketsPerFrame && (payload.size() + size <= most || size > most);
    };
    const auto add = [&](const Packet &packet) {
        if (packet.bytes.size() > most)
            return nodeAt(plug.at).port(plug.at.port).counters.add(Drop::tooLong);
        io::append(payload, packet.bytes);
        ++count;
    };
    const auto addDue = [&] {
        while (wire.due() <= now && fits(wire.front()))
            add(wire.take());
    };
    addDue();
    for (auto vl = node.nextLane(plug.at.port, wire.openLanes(now));
         vl && fits(node.peek(plug.at.port, *vl));
         vl = node.nextLane(plug.at.port, wire.openLanes(now)))
        if (const auto packet = pass(plug.at, wire, depart(plug.at, *vl, now), now))
            add(*packet);
    addDue();
    if (count != 0)
        plug.station.send(payload, static_cast<std::uint8_t>(count), now);
    return count != 0;
}

} // namespace openipoib::fabric
