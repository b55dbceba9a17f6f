// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/fabric.hpp"

#include <algorithm>
#include <array>

namespace openipoib::fabric
{

Fabric::Fabric(Topology topology, Random random, Random chance)
    : topology_(std::move(topology)), random_(std::move(random)), chance_(std::move(chance))
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
    plugs_.emplace_back(cable, at,
                        Station::Config{.guid = topology_.nodes[at.node].guid,
                                        .port = at.port,
                                        .maxFrame = std::min(cable.maxFrame(), longestFrame)},
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

const Cable *Fabric::cable(PortRef port) const
{
    const End &end = seats_[port.node].ends[port.port];
    return end.cable == noCable ? nullptr : &plugs_[end.cable].cable;
}

PortRef Fabric::here(PortRef port) const
{
    if (port.port == 0 || seats_[port.node].node)
        return port;
    return cabledTo(port).value_or(port);
}

// A port that its own side keeps down.
bool Fabric::isOff(PortRef port) const
{
    return !seats_[port.node].ends[port.port].isEnabled || faults_.has(FaultKind::port, port) ||
           faults_.has(FaultKind::power, {port.node, 0});
}

bool Fabric::isCut(PortRef port) const
{
    const auto peer = cabledTo(port);
    return faults_.has(FaultKind::link, port) ||
           (peer && (faults_.has(FaultKind::link, *peer) || faults_.isCut(port.node, peer->node)));
}

// Whether a link may be up follows from both ends' settings.
void Fabric::train(PortRef port, Time now)
{
    End &local = end(port);
    const bool isOn = !isOff(port) && !isCut(port);
    if (!isOn)
        clearWires(port);
    if (local.cable != noCable) {
        Plug &plug = plugs_[local.cable];
        if (isOn)
            plug.station.enable(now);
        else
            plug.station.disable(now);
        noteState(plug, now);
        fillOutput(plug, now);
    } else if (local.peer && seats_[local.peer->node].node) {
        const bool isUp = isOn && !isOff(*local.peer);
        if (!isUp)
            clearWires(*local.peer);
        setLink(port, isUp, now);
        setLink(*local.peer, isUp, now);
    }
    if (isOff(port))
        nodeAt(port).linkDown(port.port, PhysState::disabled, now);
    else if (nodeAt(port).port(port.port).phys() == PhysState::disabled) // it is not up yet
        nodeAt(port).linkDown(port.port, PhysState::polling, now);
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
        node.linkDown(port.port, isOff(port) ? PhysState::disabled : PhysState::polling, now);
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
            for (const PortRef side : {port, *local.peer}) {
                clearWires(side);
                setLink(side, false, now);
            }
        }
    }
    train(port, now);
}

io::Result<Fault> Fabric::addFault(Fault fault, Time now)
{
    fault.at = here(fault.at);
    if (isOfNode(fault.kind) != (fault.at.port == 0))
        return io::fail(EINVAL, isOfNode(fault.kind) ? "a node is wanted" : "a port is wanted");
    if (fault.kind != FaultKind::cut && !seats_[fault.at.node].node)
        return io::fail(EINVAL, "\"" + topology_.nodes[fault.at.node].name +
                                    "\" is a host elsewhere, and has no cable there");
    Fault added = faults_.add(std::move(fault));
    onFaultsChanged({added}, now);
    return added;
}

std::vector<Fault> Fabric::clearFaults(const std::function<bool(const Fault &)> &matches, Time now)
{
    auto cleared = faults_.remove(matches);
    onFaultsChanged(cleared, now);
    return cleared;
}

// All cables between one side of a cut and the other.
void Fabric::trainCut(const Fault &cut, Time now)
{
    for (const std::size_t index : cut.nodes) {
        const auto count = static_cast<std::uint8_t>(topology_.nodes[index].ports.size());
        for (std::uint8_t number = 1; number <= count; ++number) {
            const auto peer = cabledTo({index, number});
            const PortRef port = here({index, number});
            if (peer && !cut.nodes.contains(peer->node) && seats_[port.node].node)
                train(port, now);
        }
    }
}

// Faults have come, or have gone.
void Fabric::onFaultsChanged(const std::vector<Fault> &faults, Time now)
{
    for (const Fault &fault : faults) {
        Seat &seat = seats_[fault.at.node];
        if (fault.kind == FaultKind::stuck)
            seat.node->setStuck(faults_.has(FaultKind::stuck, fault.at));
        else if (fault.kind == FaultKind::link || fault.kind == FaultKind::port)
            train(fault.at, now);
        else if (fault.kind == FaultKind::cut)
            trainCut(fault, now);
        else if (fault.kind == FaultKind::power) {
            settle(now); // nothing is on its way to the node
            if (!faults_.has(FaultKind::power, fault.at))
                restartNode(fault.at.node, now);
            for (std::uint8_t port = 1; port <= seat.node->portCount(); ++port)
                train({fault.at.node, port}, now);
        }
    }
    settle(now);
}

// It comes back with nothing of what the SM had written. Its links are down.
void Fabric::restartNode(std::size_t index, Time now)
{
    Seat &seat = seats_[index];
    seat.node = std::make_unique<Node>(topology_.nodes[index], seat);
    seat.node->setStuck(faults_.has(FaultKind::stuck, {index, 0}));
    for (std::uint8_t port = 1; port <= seat.node->portCount(); ++port) {
        seat.ends[port].isEnabled = true;
        seat.node->setPeer(port, seat.ends[port].ipoibPeer.get(), now);
    }
    touched_.insert(index);
}

void Fabric::onFrame(std::size_t cable, const io::MacAddress &source, io::View frame, Time now)
{
    plugs_[cable].station.onFrame(source, frame, now);
}

void Fabric::onBatchEnd(std::size_t cable, Time now)
{
    Plug &plug = plugs_[cable];
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
    onFaultsChanged(faults_.expire(now), now);
    onLate(now);
    for (Plug &plug : plugs_) {
        if (inputDeadline(plug) <= now)
            refill(plug.at, now);
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
        result = std::min({result, plug.station.deadline(), inputDeadline(plug)});
    for (const PortRef port : late_)
        result = std::min(result, lateDeadline(port));
    return std::min(result, faults_.deadline());
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

} // namespace openipoib::fabric
