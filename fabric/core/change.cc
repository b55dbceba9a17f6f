// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Links and hosts that come and go while a fabric runs.
#include "core/fabric.hpp"

namespace openipoib::fabric
{

io::Result<void> Fabric::checkFree(PortRef port) const
{
    const TopologyNode &node = topology_.nodes[port.node];
    const std::string name = "\"" + node.name + "\"";
    if (!seats_[port.node].node || port.port == 0)
        return io::fail(
            EINVAL, name + (port.port == 0 ? " is a node, not a port" : " is a host elsewhere"));
    if (cabledTo(port) || seats_[port.node].ends[port.port].cable != noCable)
        return io::fail(EBUSY, name + " has a cable at port " + std::to_string(port.port));
    return {};
}

void Fabric::join(PortRef port, PortRef other, Time now)
{
    for (const auto &[from, to] : {std::pair{port, other}, {other, port}}) {
        topology_.nodes[from.node].port(from.port).peer = to;
        end(from).peer = to;
    }
    train(port, now);
    settle(now);
}

void Fabric::part(PortRef port, PortRef other, Time now)
{
    for (const PortRef side : {port, other}) {
        topology_.nodes[side.node].port(side.port).peer.reset();
        end(side).peer.reset();
        clearWires(side);
        setLink(side, false, now);
    }
    settle(now);
}

io::Result<void> Fabric::link(PortRef port, PortRef other, Time now)
{
    if (port == other)
        return io::fail(EINVAL, "a port cannot be cabled to itself");
    for (const PortRef side : {port, other})
        if (auto isFree = checkFree(side); !isFree)
            return isFree;
    join(port, other, now);
    return {};
}

io::Result<void> Fabric::unlink(PortRef port, Time now)
{
    const auto peer = port.port == 0 ? std::nullopt : cabledTo(port);
    if (!peer)
        return io::fail(ENOENT, "there is no link");
    if (!seats_[port.node].node || !seats_[peer->node].node)
        return io::fail(EINVAL, "that is the cable of a host elsewhere");
    part(port, *peer, now);
    return {};
}

io::Result<void> Fabric::addHost(const std::string &name, PortRef at, Time now)
{
    if (topology_.find(name))
        return io::fail(EEXIST, "there is a node \"" + name + "\" already");
    if (auto isFree = checkFree(at); !isFree)
        return isFree;
    const std::uint64_t guid = topology_.freeGuid();
    const std::size_t index = topology_.nodes.size();
    topology_.nodes.push_back({.kind = NodeKind::channelAdapter,
                               .id = name,
                               .name = name,
                               .guid = guid,
                               .systemGuid = guid,
                               .ports = std::vector<TopologyPort>(1)});
    Seat &seat = seats_.emplace_back(*this, index);
    seat.node = std::make_unique<Node>(topology_.nodes[index], seat);
    seat.ends.resize(2);
    join({index, 1}, at, now);
    return {};
}

io::Result<void> Fabric::removeHost(std::size_t index, Time now)
{
    TopologyNode &node = topology_.nodes[index];
    if (node.kind == NodeKind::switchNode || !seats_[index].node)
        return io::fail(EINVAL, "\"" + node.name + "\" is not an emulated host");
    clearFaults(
        [index](const Fault &fault) {
            return fault.at.node == index || fault.nodes.contains(index);
        },
        now);
    const auto count = static_cast<std::uint8_t>(node.ports.size());
    for (std::uint8_t port = 1; port <= count; ++port) {
        if (const auto peer = cabledTo({index, port}))
            part({index, port}, *peer, now);
        late_.erase({index, port});
    }
    Seat &seat = seats_[index];
    timers_.erase({seat.deadline, index});
    seat.deadline = Time::max();
    seat.node.reset();
    for (End &local : seat.ends)
        local.ipoibPeer.reset();
    node.isGone = true;
    return {};
}

io::Result<void> Fabric::addPeer(PortRef port, const AddressRange &addresses, Time now)
{
    const TopologyNode &node = topology_.nodes[port.node];
    if (node.kind == NodeKind::switchNode || !seats_[port.node].node || port.port == 0)
        return io::fail(EINVAL, "\"" + node.name + "\" is not a port of an emulated host");
    auto &peer = end(port).ipoibPeer;
    if (const auto refusal = (peer ? peer->addresses() : Addresses{}).refusal(addresses))
        return io::fail(EINVAL, addresses.text() + ": " + *refusal);
    if (!peer) {
        peer = std::make_unique<IpoibPeer>();
        nodeAt(port).setPeer(port.port, peer.get(), now);
    }
    peer->add(addresses, now);
    nodeAt(port).sendFromPeer(port.port, now);
    touch(port);
    settle(now);
    return {};
}

io::Result<void> Fabric::removePeer(PortRef port, Time now)
{
    if (!seats_[port.node].node || !ipoibPeer(port))
        return io::fail(ENOENT, "there is no peer");
    nodeAt(port).setPeer(port.port, nullptr, now);
    end(port).ipoibPeer.reset();
    touch(port);
    settle(now);
    return {};
}

} // namespace openipoib::fabric
