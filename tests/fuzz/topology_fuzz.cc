// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Any bytes as a topology, for libFuzzer. What is read without an error is a graph.
#include "promise.hpp"
#include "topology/parser.hpp"

#include <algorithm>
#include <string_view>

namespace
{

using namespace openipoib;
using namespace openipoib::fabric;

void checkNode(const Topology &topology, std::size_t index)
{
    const TopologyNode &node = topology.nodes[index];
    promise(!node.id.empty() && !node.name.empty(), "names");
    promise(node.guid != 0 && node.systemGuid != 0, "GUIDs");
    promise(!node.ports.empty() && node.ports.size() <= 254, "number of ports");
    for (std::size_t number = 1; number <= node.ports.size(); ++number) {
        const PortRef here{index, static_cast<std::uint8_t>(number)};
        const auto &peer = node.port(here.port).peer;
        if (!peer)
            continue;
        promise(peer->node < topology.nodes.size(), "a node at the other end");
        promise(peer->port >= 1 && peer->port <= topology.nodes[peer->node].ports.size(),
                "a port at the other end");
        promise(topology.nodes[peer->node].port(peer->port).peer == here, "cables have two ends");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
    auto topology = parseTopology(text, "f");
    if (!topology) {
        const ParseError &error = topology.error();
        promise(error.line >= 1 && error.line <= lines, "line of the file");
        promise(error.column >= 1 && error.column <= size + 1, "column of the line");
        promise(!error.message.empty(), "says something");
        return 0;
    }
    for (std::size_t index = 0; index < topology->nodes.size(); ++index)
        checkNode(*topology, index);
    return 0;
}
