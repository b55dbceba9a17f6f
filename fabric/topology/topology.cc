// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "topology/topology.hpp"

#include <algorithm>
#include <charconv>

namespace openipoib::fabric
{

std::uint64_t TopologyNode::portGuid(std::uint8_t number) const
{
    if (kind == NodeKind::switchNode || number == 0)
        return guid;
    const std::uint64_t given = port(number).guid;
    return given != 0 ? given : guid + number;
}

std::uint64_t Topology::freeGuid() const
{
    const auto isNear = [](std::uint64_t guid, std::uint64_t other) {
        return other - guid < guidStep;
    };
    std::uint64_t guid = guidBase + (nodes.size() + 1) * guidStep;
    while (std::ranges::any_of(nodes, [&](const TopologyNode &node) {
        return isNear(guid, node.guid) ||
               std::ranges::any_of(
                   node.ports, [&](const TopologyPort &port) { return isNear(guid, port.guid); });
    }))
        guid += guidStep;
    return guid;
}

std::optional<std::size_t> Topology::find(std::string_view name) const
{
    for (const auto member : {&TopologyNode::name, &TopologyNode::id}) {
        const auto found = std::ranges::find_if(
            nodes, [&](const TopologyNode &node) { return !node.isGone && node.*member == name; });
        if (found != nodes.end())
            return static_cast<std::size_t>(found - nodes.begin());
    }
    return std::nullopt;
}

std::optional<PortRef> Topology::findPort(std::string_view text) const
{
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    const auto node = find(text.substr(0, colon));
    const auto digits = text.substr(colon + 1);
    unsigned number = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
    if (!node || error != std::errc{} || end != digits.end() || number == 0 ||
        number > nodes[*node].ports.size())
        return std::nullopt;
    return PortRef{*node, static_cast<std::uint8_t>(number)};
}

} // namespace openipoib::fabric
