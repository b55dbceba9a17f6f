// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ctl/render.hpp"

#include <fmt/format.h>

#include <iterator>
#include <set>
#include <string_view>
#include <vector>

namespace openipoib::fabric
{

namespace
{

using nlohmann::json;
using Words = std::vector<std::string>;
using Out = std::back_insert_iterator<std::string>;

constexpr std::int64_t microsecondsPerMillisecond = 1000;

bool isUp(const json &port)
{
    return port.value("state", "") != "down";
}

bool isElsewhere(const json &node)
{
    return node.value("elsewhere", false);
}

std::string portName(const json &node, const json &port)
{
    return fmt::format("{}:{}", node.value("name", ""), port.value("port", 0));
}

const json &portsOf(const json &node)
{
    static const json none = json::array();
    const auto found = node.find("ports");
    return found == node.end() ? none : *found;
}

// Links that have at least one end at a node of ibfabric's, each once.
template <typename Function> void eachLink(const json &status, const Function &function)
{
    std::set<std::string> seen;
    for (const json &node : status.at("nodes"))
        for (const json &port : portsOf(node)) {
            const std::string name = portName(node, port);
            const std::string peer = port.value("peer", "");
            if (peer.empty() || !seen.insert(name).second || seen.contains(peer))
                continue;
            function(name, peer, port);
        }
}

std::string_view nodeOf(std::string_view port)
{
    return port.substr(0, port.rfind(':'));
}

// What is not zero: "3 arp, 1 echo".
std::string countsText(const json &counts)
{
    Words words;
    for (const auto &[name, count] : counts.items())
        if (count != 0)
            words.push_back(fmt::format("{} {}", count.get<std::uint64_t>(), name));
    return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

std::string peerText(const std::string &name, const json &peer)
{
    return fmt::format("{}  {} addresses: {}; {} of {} groups\n  answered {}; dropped {}\n", name,
                       peer.value("count", std::uint64_t{0}),
                       fmt::join(peer.at("addresses").get<Words>(), ", "), peer.value("joined", 0),
                       peer.value("groups", 0), countsText(peer.at("answered")),
                       countsText(peer.at("dropped")));
}

std::string dotName(std::string_view text)
{
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\')
            result += '\\';
        result += letter;
    }
    return result + '"';
}

} // namespace

std::string faultsText(const json &faults)
{
    std::string text;
    for (const json &fault : faults) {
        fmt::format_to(Out(text), "fault {}: {} {}", fault.value("id", 0), fault.value("kind", ""),
                       fault.contains("nodes")
                           ? fmt::format("{}", fmt::join(fault.at("nodes").get<Words>(), " "))
                           : fault.value("at", ""));
        if (fault.contains("fraction"))
            fmt::format_to(Out(text), " {:g} %", fault.value("fraction", 0.0) * 100);
        if (fault.contains("delay_us"))
            fmt::format_to(Out(text), " {:g} ms",
                           static_cast<double>(fault.value("delay_us", std::int64_t{0})) /
                               microsecondsPerMillisecond);
        if (fault.contains("rate_bps"))
            fmt::format_to(Out(text), " {:g} Mbit/s",
                           static_cast<double>(fault.value("rate_bps", std::uint64_t{0})) / 1e6);
        if (fault.contains("packets"))
            for (const json &kind : fault.at("packets"))
                fmt::format_to(Out(text), " {}", kind.get<std::string>());
        if (fault.contains("left_ms"))
            fmt::format_to(Out(text), ", {:.1f} s left",
                           static_cast<double>(fault.value("left_ms", std::int64_t{0})) / 1000);
        text += '\n';
    }
    return text;
}

std::string statusText(const json &status)
{
    std::string text;
    std::string peers;
    std::size_t emulated = 0;
    for (const json &node : status.at("nodes")) {
        if (node.value("kind", "") != "switch") {
            emulated += isElsewhere(node) ? 0 : 1;
            for (const json &port : portsOf(node))
                if (port.contains("ipoib_peer"))
                    peers += peerText(portName(node, port), port.at("ipoib_peer"));
            continue;
        }
        fmt::format_to(Out(text), "{}  lid {}, guid {}\n", node.value("name", ""),
                       node.value("lid", 0), node.value("guid", ""));
        for (const json &port : portsOf(node))
            if (port.contains("peer") || port.contains("cable"))
                fmt::format_to(Out(text), "  {:3}  {:6}  {}\n", port.value("port", 0),
                               port.value("state", ""), port.value("peer", "a cable"));
    }
    if (emulated != 0)
        fmt::format_to(Out(text), "{} emulated hosts\n", emulated);
    return text + peers + faultsText(status.at("faults"));
}

std::string countersText(const json &counters)
{
    std::string text;
    for (const json &port : counters) {
        fmt::format_to(Out(text), "{}\n", port.value("at", ""));
        for (const char *part : {"counters", "drops", "cable"}) {
            const auto counts = port.find(part);
            if (counts == port.end())
                continue; // there is no cable
            for (const auto &[name, value] : counts->items())
                if (value != 0)
                    fmt::format_to(Out(text), "    {}{}  {}\n",
                                   std::string_view(part) == "drops" ? "dropped: " : "", name,
                                   value.get<std::uint64_t>());
        }
    }
    return text;
}

std::string topologyText(const json &status)
{
    std::string text;
    for (const json &node : status.at("nodes")) {
        if (node.value("kind", "") != "switch")
            continue;
        text += node.value("name", "") + '\n';
        for (const json &port : portsOf(node))
            if (port.contains("peer"))
                fmt::format_to(Out(text), "  {:>3} {} {}\n", port.value("port", 0),
                               isUp(port) ? "------" : "--  --", port.value("peer", ""));
    }
    return text;
}

std::string topologyDot(const json &status)
{
    std::string text = "graph fabric {\n";
    for (const json &node : status.at("nodes"))
        fmt::format_to(Out(text), "    {} [shape={}];\n", dotName(node.value("name", "")),
                       node.value("kind", "") == "switch" ? "box" : "ellipse");
    eachLink(status, [&text](const std::string &name, const std::string &peer, const json &port) {
        const auto number = [](std::string_view end) { return end.substr(end.rfind(':') + 1); };
        fmt::format_to(Out(text), "    {} -- {} [taillabel=\"{}\", headlabel=\"{}\"{}];\n",
                       dotName(nodeOf(name)), dotName(nodeOf(peer)), number(name), number(peer),
                       isUp(port) ? "" : ", style=dashed");
    });
    return text + "}\n";
}

} // namespace openipoib::fabric
