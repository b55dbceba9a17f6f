// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/fabric.hpp"

#include <algorithm>
#include <array>

namespace openipoib::fabric
{

namespace
{

constexpr unsigned maxPacketsPerFrame = 255;

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

Fabric::Fabric(Topology topology, Random random)
    : topology_(std::move(topology)), random_(std::move(random))
{
    for (std::size_t index = 0; index < topology_.nodes.size(); ++index) {
        const TopologyNode &node = topology_.nodes[index];
        Seat &seat = seats_.emplace_back(*this, index);
        seat.node = std::make_unique<Node>(node, seat);
        seat.ends.resize(node.ports.size() + 1);
        for (std::uint8_t port = 1; port <= seat.node->portCount(); ++port)
            seat.ends[port].peer = node.port(port).peer;
    }
}

Fabric::~Fabric() = default;

io::Result<std::size_t> Fabric::attach(PortRef port, Cable &cable)
{
    const TopologyNode &node = topology_.nodes[port.node];
    PortRef at = port;
    if (node.kind == NodeKind::channelAdapter) {
        const auto peer = node.port(port.port).peer;
        if (!peer || topology_.nodes[peer->node].kind != NodeKind::switchNode)
            return io::fail(EINVAL, "\"" + node.name + "\" has no cable to a switch there");
        at = *peer;
        seats_[port.node].node.reset(); // a real one
        for (const TopologyPort &other : node.ports)
            if (other.peer)
                end(*other.peer).peer.reset();
    } else if (end(port).peer) {
        return io::fail(EBUSY, "\"" + node.name + "\" has a link there");
    }
    if (end(at).cable != noCable)
        return io::fail(EBUSY, "a cable is there already");
    const std::size_t number = plugs_.size();
    plugs_.emplace_back(
        cable, at,
        Station::Config{.guid = topology_.nodes[at.node].guid,
                        .port = at.port,
                        .maxFrame = std::min<std::uint32_t>(cable.maxFrame(), 65535)},
        random_);
    end(at).cable = number;
    return number;
}

void Fabric::start(Time now)
{
    for (Seat &seat : seats_)
        for (std::uint8_t port = 1; seat.node && port <= seat.node->portCount(); ++port)
            train({seat.index, port}, now);
    settle(now);
}

const Station *Fabric::station(PortRef port) const
{
    const End &end = seats_[port.node].ends[port.port];
    return end.cable == noCable ? nullptr : &plugs_[end.cable].station;
}

// Whether a link may be up follows from both ends' settings.
void Fabric::train(PortRef port, Time now)
{
    const End &local = end(port);
    const bool isOn = local.isEnabled && local.isPlugged;
    if (local.cable != noCable) {
        Plug &plug = plugs_[local.cable];
        if (isOn)
            plug.station.enable(now);
        else
            plug.station.disable();
        noteState(plug, now);
        fillOutput(plug, now);
    } else if (local.peer && seats_[local.peer->node].node) {
        const End &far = end(*local.peer);
        const bool isUp = isOn && far.isEnabled && far.isPlugged;
        setLink(port, isUp, now);
        setLink(*local.peer, isUp, now);
    }
    if (!local.isEnabled)
        nodeAt(port).linkDown(port.port, PhysState::disabled, now);
}

void Fabric::setLink(PortRef port, bool isUp, Time now)
{
    Node &node = nodeAt(port);
    touch(port);
    if (isUp == (node.port(port.port).phys() == PhysState::linkUp))
        return;
    if (isUp)
        node.linkUp(port.port, now);
    else
        node.linkDown(port.port, end(port).isEnabled ? PhysState::polling : PhysState::disabled,
                      now);
}

void Fabric::onPhysWanted(PortRef port, PhysState wanted, Time now)
{
    End &local = end(port);
    const bool wasEnabled = local.isEnabled;
    local.isEnabled = wanted != PhysState::disabled;
    if (wasEnabled && local.isEnabled) { // down, and up again
        if (local.cable != noCable) {
            plugs_[local.cable].station.restart(now);
        } else if (local.peer && seats_[local.peer->node].node) {
            setLink(port, false, now);
            setLink(*local.peer, false, now);
        }
    }
    train(port, now);
}

void Fabric::setCable(PortRef port, bool isPlugged, Time now)
{
    // A host elsewhere has no end here: the switch's counts.
    if (!seats_[port.node].node)
        port = topology_.nodes[port.node].port(port.port).peer.value_or(port);
    if (!seats_[port.node].node)
        return;
    end(port).isPlugged = isPlugged;
    train(port, now);
    settle(now);
}

void Fabric::onFrame(std::size_t cable, const io::MacAddress &source, io::View frame, Time now)
{
    plugs_[cable].station.onFrame(source, frame, now);
}

void Fabric::onBatchEnd(std::size_t cable, Time now)
{
    Plug &plug = plugs_[cable];
    plug.station.onBatchEnd(now);
    noteState(plug, now);
    takeInput(plug, now);
    fillOutput(plug, now);
    settle(now);
}

void Fabric::onReady(std::size_t cable, Time now)
{
    fillOutput(plugs_[cable], now);
    settle(now);
}

void Fabric::onTime(Time now)
{
    for (Plug &plug : plugs_) {
        if (plug.station.deadline() > now)
            continue;
        plug.station.onTime(now);
        noteState(plug, now);
        fillOutput(plug, now);
    }
    while (!timers_.empty() && timers_.begin()->first <= now) {
        Seat &seat = seats_[timers_.begin()->second];
        timers_.erase(timers_.begin());
        seat.deadline = Time::max();
        seat.node->onTime(now);
        touched_.insert(seat.index);
    }
    settle(now);
}

Time Fabric::deadline() const
{
    Time result = timers_.empty() ? Time::max() : timers_.begin()->first;
    for (const Plug &plug : plugs_)
        result = std::min(result, plug.station.deadline());
    return result;
}

// Until nothing moves any more.
void Fabric::settle(Time now)
{
    for (;;) {
        if (!wanted_.empty()) {
            const auto [port, state] = wanted_.front();
            wanted_.pop_front();
            onPhysWanted(port, state, now);
        } else if (!ready_.empty()) {
            const PortRef port = ready_.front();
            ready_.pop_front();
            pump(port, now);
        } else if (!refill_.empty()) {
            const PortRef port = refill_.front();
            refill_.pop_front();
            refill(port, now);
        } else {
            break;
        }
    }
    setTimers();
}

void Fabric::setTimers()
{
    for (const std::size_t index : touched_) {
        Seat &seat = seats_[index];
        const Time wanted = seat.node->deadline();
        if (wanted == seat.deadline)
            continue;
        timers_.erase({seat.deadline, index});
        seat.deadline = wanted;
        if (wanted != Time::max())
            timers_.emplace(wanted, index);
    }
    touched_.clear();
}

// What waits at a port moves on, as far as the other end takes it.
void Fabric::pump(PortRef port, Time now)
{
    const End &local = end(port);
    touch(port);
    if (local.cable != noCable)
        return fillOutput(plugs_[local.cable], now);
    if (!local.peer || !seats_[local.peer->node].node)
        return;
    Node &from = nodeAt(port);
    Node &to = nodeAt(*local.peer);
    touch(*local.peer);
    while (from.peek(port.port, Lane::management) != nullptr)
        to.receive(local.peer->port, from.take(port.port, Lane::management, now), now);
    while (from.peek(port.port, Lane::data) != nullptr && to.acceptsInput(local.peer->port))
        to.receive(local.peer->port, from.take(port.port, Lane::data, now), now);
}

// Whoever sends to a port may go on.
void Fabric::refill(PortRef port, Time now)
{
    const End &local = end(port);
    if (local.cable != noCable)
        takeInput(plugs_[local.cable], now);
    else if (local.peer && seats_[local.peer->node].node)
        pump(*local.peer, now);
}

// Tell the node what has become of the link.
void Fabric::noteState(Plug &plug, Time now)
{
    const std::uint32_t session = plug.station.isUp() ? plug.station.session() : 0;
    if (session == plug.upSession)
        return;
    Node &node = nodeAt(plug.at);
    touch(plug.at);
    if (plug.upSession != 0)
        node.linkDown(plug.at.port,
                      end(plug.at).isEnabled ? PhysState::polling : PhysState::disabled, now);
    plug.upSession = session;
    if (session == 0)
        return;
    node.port(plug.at.port).limitMtu(mtuCode(plug.station.maxPayload() + link::Header::size));
    node.linkUp(plug.at.port, now);
}

void Fabric::takeInput(Plug &plug, Time now)
{
    Node &node = nodeAt(plug.at);
    touch(plug.at);
    for (;;) {
        plug.station.deliver(node.acceptsInput(plug.at.port), now);
        auto packets = plug.station.takeInput();
        if (packets.empty())
            return;
        for (auto &packet : packets)
            node.receive(plug.at.port, {.bytes = std::move(packet)}, now);
    }
}

void Fabric::fillOutput(Plug &plug, Time now)
{
    while (plug.cable.isReady() && plug.station.canSend() && sendFrame(plug, now))
        for (auto &out : plug.station.takeOutput())
            plug.cable.send(out.to, out.frame);
    for (auto &out : plug.station.takeOutput())
        plug.cable.send(out.to, out.frame);
}

// As many packets as are there and fit; false if there is none.
bool Fabric::sendFrame(Plug &plug, Time now)
{
    Node &node = nodeAt(plug.at);
    touch(plug.at);
    const std::size_t most = plug.station.maxPayload();
    io::Bytes payload;
    unsigned count = 0;
    for (const Lane lane : {Lane::management, Lane::data})
        for (const Packet *next = node.peek(plug.at.port, lane);
             next != nullptr && count < maxPacketsPerFrame &&
             payload.size() + next->bytes.size() <= most;
             next = node.peek(plug.at.port, lane), ++count)
            io::append(payload, node.take(plug.at.port, lane, now).bytes);
    if (count != 0)
        plug.station.send(payload, static_cast<std::uint8_t>(count), now);
    return count != 0;
}

} // namespace openipoib::fabric
