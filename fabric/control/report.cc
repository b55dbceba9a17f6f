// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "control/report.hpp"

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

using nlohmann::json;

std::string nameOf(const Fabric &fabric, PortRef port)
{
    const std::string &name = fabric.topology().nodes[port.node].name;
    return port.port == 0 ? name : name + ":" + std::to_string(port.port);
}

std::string hex(std::uint64_t guid)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 60; shift >= 0; shift -= 4)
        text += digits[guid >> shift & 15];
    return text;
}

constexpr std::string_view stateName(PortState state)
{
    switch (state) {
    case PortState::down:
        return "down";
    case PortState::init:
        return "init";
    case PortState::armed:
        return "armed";
    case PortState::active:
        return "active";
    case PortState::noChange:
        break;
    }
    return "unknown";
}

json peerReport(const IpoibPeer &peer)
{
    json ranges = json::array();
    for (const AddressRange &range : peer.addresses().ranges())
        ranges.push_back(range.text());
    json answered = json::object();
    for (std::size_t i = 0; i < peerAnsweredNames.size(); ++i)
        answered[peerAnsweredNames[i]] = peer.counters().get(static_cast<PeerAnswered>(i));
    json dropped = json::object();
    for (std::size_t i = 0; i < peerDropNames.size(); ++i)
        dropped[peerDropNames[i]] = peer.counters().get(static_cast<PeerDrop>(i));
    return {{"addresses", ranges},
            {"count", peer.addresses().count()},
            {"groups", peer.groups().wanted()},
            {"joined", peer.groups().joined()},
            {"answered", answered},
            {"dropped", dropped}};
}

json portReport(const Fabric &fabric, PortRef at, const Port &port)
{
    json result{{"port", at.port}, {"state", stateName(port.state())}};
    if (const auto &peer = fabric.topology().nodes[at.node].port(at.port).peer)
        result["peer"] = nameOf(fabric, *peer);
    if (port.hasIdentity())
        result["lid"] = port.lid();
    if (const Station *station = fabric.station(at))
        result["cable"] = station->isUp() ? "up" : "down";
    if (const IpoibPeer *peer = fabric.ipoibPeer(at))
        result["ipoib_peer"] = peerReport(*peer);
    return result;
}

json nodeReport(const Fabric &fabric, std::size_t index)
{
    const TopologyNode &description = fabric.topology().nodes[index];
    const Node *node = fabric.node(index);
    const bool isSwitch = description.kind == NodeKind::switchNode;
    json result{{"name", description.name},
                {"id", description.id},
                {"kind", isSwitch ? "switch" : "host"},
                {"elsewhere", node == nullptr}};
    if (node == nullptr)
        return result;
    result["guid"] = hex(description.guid);
    if (isSwitch)
        result["lid"] = node->port(0).lid();
    json &ports = result["ports"] = json::array();
    for (std::uint8_t port = 1; port <= node->portCount(); ++port)
        ports.push_back(portReport(fabric, {index, port}, node->port(port)));
    return result;
}

json portCounters(const Fabric &fabric, PortRef at, const Port &port)
{
    json counters = json::object();
    for (const auto &[name, counter] : counterNames)
        counters[name] = port.counters.get(counter);
    json drops = json::object();
    for (std::size_t i = 0; i < dropNames.size(); ++i)
        if (const auto count = port.counters.get(static_cast<Drop>(i)); count != 0)
            drops[dropNames[i]] = count;
    json result{{"at", nameOf(fabric, at)}, {"counters", counters}, {"drops", drops}};
    if (const Station *station = fabric.station(at)) {
        json &link = result["cable"] = json::object();
        for (const auto &[name, counter] : linkCounterNames)
            link[name] = station->counters().*counter;
        for (const auto &[name, count] : fabric.cable(at)->counts())
            link[name] = count;
    }
    return result;
}

} // namespace

json faultReport(const Fabric &fabric, const Fault &fault, Time now)
{
    json result{{"id", fault.id}, {"at", nameOf(fabric, fault.at)}};
    for (const auto &[name, kind] : faultKindNames)
        if (kind == fault.kind)
            result["kind"] = name;
    if (fault.kind == FaultKind::cut)
        for (const std::size_t node : fault.nodes)
            result["nodes"].push_back(fabric.topology().nodes[node].name);
    if (isOfChance(fault.kind))
        result["fraction"] = fault.perMillion / 1e6;
    if (fault.kind == FaultKind::delay)
        result["delay_us"] = fault.delay.count();
    if (fault.kind == FaultKind::rate)
        result["rate_bps"] = fault.bitsPerSecond;
    if (!fault.packets.all()) {
        json &packets = result["packets"] = json::array();
        for (const auto &[name, kind] : packetKindNames)
            if (fault.packets[static_cast<std::size_t>(kind)])
                packets.push_back(name);
    }
    if (fault.until != Time::max())
        result["left_ms"] = std::max<std::int64_t>(
            0, std::chrono::ceil<std::chrono::milliseconds>(fault.until - now).count());
    return result;
}

json statusReport(const Fabric &fabric, Time now)
{
    json nodes = json::array();
    for (std::size_t index = 0; index < fabric.topology().nodes.size(); ++index)
        if (!fabric.topology().nodes[index].isGone)
            nodes.push_back(nodeReport(fabric, index));
    json faults = json::array();
    for (const Fault &fault : fabric.faults().all())
        faults.push_back(faultReport(fabric, fault, now));
    return {{"nodes", nodes}, {"faults", faults}};
}

json counterReport(const Fabric &fabric, std::optional<PortRef> at)
{
    json result = json::array();
    for (std::size_t index = 0; index < fabric.topology().nodes.size(); ++index) {
        const Node *node = fabric.node(index);
        for (std::uint8_t port = 1; node != nullptr && port <= node->portCount(); ++port)
            if (!at || (at->node == index && (at->port == 0 || at->port == port)))
                result.push_back(portCounters(fabric, {index, port}, node->port(port)));
    }
    return result;
}

} // namespace openipoib::fabric
