// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A subnet as it is cabled: nodes, their ports, and which is joined to which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::fabric
{

enum class NodeKind : std::uint8_t { channelAdapter = 1, switchNode = 2 };

// Speed per lane, in the order of their rates.
enum class Speed : std::uint8_t { sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr };

inline constexpr unsigned maxPorts = 254;

struct PortRef {
    std::size_t node = 0; // index into Topology::nodes
    std::uint8_t port = 0;

    auto operator<=>(const PortRef &) const = default;
};

struct TopologyPort {
    std::optional<PortRef> peer;
    std::uint64_t guid = 0; // 0: derived from the node's
    std::uint8_t width = 4; // lanes
    Speed speed = Speed::qdr;

    bool operator==(const TopologyPort &) const = default;
};

struct TopologyNode {
    NodeKind kind = NodeKind::switchNode;
    std::string id;   // name in the file, "S-0002c9..."
    std::string name; // node description
    std::uint64_t guid = 0;
    std::uint64_t systemGuid = 0;
    std::uint32_t vendor = 0;
    std::uint16_t device = 0;
    bool isGone = false;             // it has been removed: its number is not used again
    std::vector<TopologyPort> ports; // [0] is port 1

    [[nodiscard]] TopologyPort &port(std::uint8_t number) { return ports.at(number - 1U); }
    [[nodiscard]] const TopologyPort &port(std::uint8_t number) const
    {
        return ports.at(number - 1U);
    }
    // As NodeInfo has it: a switch has one port GUID, a channel adapter one each.
    [[nodiscard]] std::uint64_t portGuid(std::uint8_t number) const;

    bool operator==(const TopologyNode &) const = default;
};

struct Topology {
    static constexpr std::uint64_t guidStep = 0x100;

    // GUIDs for nodes without one are counted from here: locally administered.
    std::uint64_t guidBase = 0x0200'5EFF'FE00'0000;
    std::vector<TopologyNode> nodes;

    // A GUID for a further node, with room for those of its ports.
    [[nodiscard]] std::uint64_t freeGuid() const;

    // The node with this name or, if there is none, this id.
    [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
    // A port as people write it, "sw1:3".
    [[nodiscard]] std::optional<PortRef> findPort(std::string_view text) const;

    bool operator==(const Topology &) const = default;
};

} // namespace openipoib::fabric
