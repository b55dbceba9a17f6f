// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "control/control.hpp"

#include "control/report.hpp"

#include <algorithm>
#include <cmath>
#include <expected>

namespace openipoib::fabric
{

namespace
{

using nlohmann::json;
template <typename T> using Wanted = std::expected<T, std::string>;

constexpr double million = 1e6;
constexpr std::int64_t longestMs = 1000LL * 60 * 60 * 24 * 365;
constexpr std::int64_t longestDelayUs = 60'000'000;
constexpr std::int64_t leastRate = 1000; // bits a second
constexpr std::int64_t mostPackets = 1'000'000'000;
constexpr std::int64_t mostRate = 1'000'000'000'000;

std::unexpected<std::string> wrong(std::string text)
{
    return std::unexpected(std::move(text));
}

// A member that must be a string, if it is there.
Wanted<std::optional<std::string>> stringOf(const json &request, const char *name)
{
    const auto found = request.find(name);
    if (found == request.end())
        return std::nullopt;
    if (!found->is_string())
        return wrong(std::string(name) + ": expected a string");
    return found->get<std::string>();
}

// A member that must be a whole number from least to most, if it is there.
Wanted<std::optional<std::int64_t>> numberOf(const json &request, const char *name,
                                             std::int64_t least, std::int64_t most)
{
    const auto found = request.find(name);
    if (found == request.end())
        return std::nullopt;
    const std::string expected = std::string(name) + ": expected a number from " +
                                 std::to_string(least) + " to " + std::to_string(most);
    if (!found->is_number_integer() ||
        (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX))
        return wrong(expected);
    const auto value = found->get<std::int64_t>();
    if (value < least || value > most)
        return wrong(expected);
    return value;
}

// A port as people write it, or a node.
Wanted<PortRef> placeOf(const Fabric &fabric, const std::string &text)
{
    if (const auto port = fabric.topology().findPort(text))
        return *port;
    if (const auto node = fabric.topology().find(text))
        return PortRef{*node, 0};
    return wrong("no port or node '" + text + "'");
}

Wanted<std::optional<PortRef>> atOf(const Fabric &fabric, const json &request)
{
    const auto text = stringOf(request, "at");
    if (!text)
        return wrong(text.error());
    if (!*text)
        return std::nullopt;
    const auto place = placeOf(fabric, **text);
    if (!place)
        return wrong(place.error());
    return fabric.here(*place);
}

Wanted<std::optional<FaultKind>> kindOfFault(const json &request)
{
    const auto text = stringOf(request, "kind");
    if (!text)
        return wrong(text.error());
    if (!*text)
        return std::nullopt;
    std::string expected = "kind: expected one of";
    for (const auto &[name, kind] : faultKindNames) {
        if (name == **text)
            return kind;
        expected += " " + std::string(name);
    }
    return wrong(expected);
}

PacketKinds kindsNamed(std::string_view text)
{
    PacketKinds kinds;
    for (const auto &[name, kind] : packetKindNames)
        if (name == text || (text == "mad" && (name == "smp" || name == "gmp")))
            kinds.set(static_cast<std::size_t>(kind));
    return kinds;
}

Wanted<PacketKinds> packetsOf(const json &request)
{
    const auto found = request.find("packets");
    if (found == request.end())
        return PacketKinds{}.set();
    PacketKinds kinds;
    const std::string expected = "packets: expected a list of mad, smp, gmp, ud, rc and other";
    if (!found->is_array() || found->empty())
        return wrong(expected);
    for (const json &entry : *found) {
        const auto named =
            entry.is_string() ? kindsNamed(entry.get_ref<const std::string &>()) : PacketKinds{};
        if (named.none())
            return wrong(expected);
        kinds |= named;
    }
    return kinds;
}

// One side of a cut.
Wanted<std::set<std::size_t>> nodesOf(const Fabric &fabric, const json &request)
{
    const auto found = request.find("nodes");
    if (found == request.end() || !found->is_array() || found->empty())
        return wrong("nodes: expected a list of nodes");
    std::set<std::size_t> nodes;
    for (const json &entry : *found) {
        if (!entry.is_string())
            return wrong("nodes: expected a list of nodes");
        const auto &name = entry.get_ref<const std::string &>();
        const auto node = fabric.topology().find(name);
        if (!node)
            return wrong("no node '" + name + "'");
        nodes.insert(*node);
    }
    return nodes;
}

// What a fault is by: a member of the request that must be there.
Wanted<void> readAmount(const json &request, Fault &fault)
{
    if (isOfChance(fault.kind)) {
        const auto found = request.find("fraction");
        if (found == request.end() || !found->is_number())
            return wrong("fraction: expected a number from 0 to 1");
        const auto fraction = found->get<double>();
        if (!(fraction > 0 && fraction <= 1))
            return wrong("fraction: expected a number from 0 to 1");
        fault.perMillion = static_cast<std::uint32_t>(std::ceil(fraction * million));
    } else if (fault.kind == FaultKind::delay) {
        const auto delay = numberOf(request, "delay_us", 1, longestDelayUs);
        if (!delay)
            return wrong(delay.error());
        if (!*delay)
            return wrong("delay_us: expected a number");
        fault.delay = std::chrono::microseconds(**delay);
    } else if (fault.kind == FaultKind::rate) {
        const auto rate = numberOf(request, "rate_bps", leastRate, mostRate);
        if (!rate)
            return wrong(rate.error());
        if (!*rate || !fault.packets.all())
            return wrong(*rate ? "packets: a rate is of all packets"
                               : "rate_bps: expected a number");
        fault.bitsPerSecond = static_cast<std::uint64_t>(**rate);
    }
    return {};
}

// Where a fault is. A cut has the nodes on one side of it instead of a place.
Wanted<Fault> placedFault(const Fabric &fabric, const json &request, FaultKind kind)
{
    Fault fault{.kind = kind, .at = {}};
    if (kind == FaultKind::cut) {
        const auto nodes = nodesOf(fabric, request);
        if (!nodes)
            return wrong(nodes.error());
        fault.nodes = *nodes;
        fault.at = {*nodes->begin(), 0};
        return fault;
    }
    const auto at = atOf(fabric, request);
    if (!at)
        return wrong(at.error());
    if (!*at)
        return wrong("a fault has a kind and an at");
    fault.at = **at;
    return fault;
}

Wanted<Fault> faultOf(const Fabric &fabric, const json &request, Time now)
{
    const auto kind = kindOfFault(request);
    const auto packets = packetsOf(request);
    const auto time = numberOf(request, "for_ms", 1, longestMs);
    if (!kind || !packets || !time)
        return wrong(!kind ? kind.error() : !packets ? packets.error() : time.error());
    if (!*kind)
        return wrong("a fault has a kind and an at");
    auto fault = placedFault(fabric, request, **kind);
    if (!fault)
        return fault;
    fault->packets = *packets;
    if (const auto amount = readAmount(request, *fault); !amount)
        return wrong(amount.error());
    if (*time)
        fault->until = now + std::chrono::milliseconds(**time);
    return fault;
}

Wanted<json> addFault(Fabric &fabric, const json &request, Time now)
{
    const auto fault = faultOf(fabric, request, now);
    if (!fault)
        return wrong(fault.error());
    const auto added = fabric.addFault(*fault, now);
    if (!added)
        return wrong(added.error().context);
    return faultReport(fabric, *added, now);
}

Wanted<json> clearFaults(Fabric &fabric, const json &request, Time now)
{
    const auto id = numberOf(request, "id", 1, UINT32_MAX);
    const auto kind = kindOfFault(request);
    const auto at = atOf(fabric, request);
    if (!id || !kind || !at)
        return wrong(!id ? id.error() : !kind ? kind.error() : at.error());
    const auto matches = [&](const Fault &fault) {
        return (!*id || fault.id == **id) && (!*kind || fault.kind == **kind) &&
               (!*at || fault.at == **at ||
                (fault.kind == FaultKind::link && fabric.cabledTo(fault.at) == **at));
    };
    const auto cleared = fabric.clearFaults(matches, now);
    if (cleared.empty() && (*id || *kind || *at))
        return wrong("there is no such fault");
    json result = json::array();
    for (const Fault &fault : cleared)
        result.push_back(faultReport(fabric, fault, now));
    return result;
}

// A string that must be there.
Wanted<std::string> textOf(const json &request, const char *name)
{
    const auto text = stringOf(request, name);
    if (!text)
        return wrong(text.error());
    if (!*text)
        return wrong(std::string(name) + ": expected a string");
    return **text;
}

Wanted<PortRef> portOf(const Fabric &fabric, const json &request, const char *name)
{
    const auto text = textOf(request, name);
    if (!text)
        return wrong(text.error());
    const auto port = fabric.topology().findPort(*text);
    return port ? Wanted<PortRef>(*port) : wrong("no port '" + *text + "'");
}

// As it may stand in a topology, and before a colon.
bool isName(const std::string &text)
{
    constexpr std::size_t longest = 64;
    return !text.empty() && text.size() <= longest &&
           std::ranges::all_of(text, [](unsigned char letter) {
               return letter > ' ' && letter < 0x7F && letter != '"' && letter != ':';
           });
}

Wanted<json> done(const io::Result<void> &result)
{
    return result ? Wanted<json>(json::object()) : wrong(result.error().context);
}

Wanted<json> changeLink(Fabric &fabric, const json &request, bool isAdded, Time now)
{
    const auto port = portOf(fabric, request, "at");
    if (!port)
        return wrong(port.error());
    if (!isAdded)
        return done(fabric.unlink(*port, now));
    const auto peer = portOf(fabric, request, "peer");
    return peer ? done(fabric.link(*port, *peer, now)) : wrong(peer.error());
}

Wanted<json> addHost(Fabric &fabric, const json &request, Time now)
{
    const auto name = textOf(request, "name");
    if (!name)
        return wrong(name.error());
    if (!isName(*name))
        return wrong("name: expected up to 64 letters without space, quote and colon");
    const auto port = portOf(fabric, request, "at");
    return port ? done(fabric.addHost(*name, *port, now)) : wrong(port.error());
}

Wanted<json> removeHost(Fabric &fabric, const json &request, Time now)
{
    const auto name = textOf(request, "name");
    if (!name)
        return wrong(name.error());
    const auto node = fabric.topology().find(*name);
    return node ? done(fabric.removeHost(*node, now)) : wrong("no node '" + *name + "'");
}

Wanted<json> changePeer(Fabric &fabric, const json &request, bool isAdded, Time now)
{
    const auto port = portOf(fabric, request, "at");
    if (!port)
        return wrong(port.error());
    if (!isAdded)
        return done(fabric.removePeer(*port, now));
    const auto text = textOf(request, "addresses");
    if (!text)
        return wrong(text.error());
    const auto addresses = AddressRange::parse(*text);
    return addresses ? done(fabric.addPeer(*port, *addresses, now))
                     : wrong("addresses: expected FIRST[-LAST], unicast IP addresses of one "
                             "family, not '" +
                             *text + "'");
}

Wanted<Control::Capture> captureOf(const Fabric &fabric, const json &request)
{
    const auto at = atOf(fabric, request);
    const auto count = numberOf(request, "count", 1, mostPackets);
    if (!at || !count)
        return wrong(!at ? at.error() : count.error());
    if (!*at || (*at)->port == 0 || fabric.node((*at)->node) == nullptr)
        return wrong("at: expected a port of a switch, or of a host that is cabled to one");
    return Control::Capture{.at = **at, .count = static_cast<std::uint64_t>(count->value_or(0))};
}

Wanted<json> carryOut(Fabric &fabric, const json &request, Time now,
                      std::optional<Control::Capture> &capture)
{
    const auto command =
        request.is_object() ? stringOf(request, "command") : wrong("expected an object");
    if (!command)
        return wrong(command.error());
    if (*command == "status")
        return statusReport(fabric, now);
    if (*command == "fault")
        return addFault(fabric, request, now);
    if (*command == "clear")
        return clearFaults(fabric, request, now);
    if (*command == "link" || *command == "unlink")
        return changeLink(fabric, request, *command == "link", now);
    if (*command == "add-host")
        return addHost(fabric, request, now);
    if (*command == "remove-host")
        return removeHost(fabric, request, now);
    if (*command == "add-peer" || *command == "remove-peer")
        return changePeer(fabric, request, *command == "add-peer", now);
    if (*command == "capture") {
        const auto wanted = captureOf(fabric, request);
        if (!wanted)
            return wrong(wanted.error());
        capture = *wanted;
        return json::object();
    }
    if (*command == "counters") {
        const auto at = atOf(fabric, request);
        return at ? Wanted<json>(counterReport(fabric, *at)) : wrong(at.error());
    }
    return wrong("command: expected status, counters, fault, clear, capture, link, unlink, "
                 "add-host, remove-host, add-peer or remove-peer");
}

} // namespace

std::string Control::answer(std::string_view request, Time now)
{
    const json document = json::parse(request, nullptr, false);
    capture_.reset();
    auto done = document.is_discarded() ? Wanted<json>(wrong("not a JSON document"))
                                        : carryOut(fabric_, document, now, capture_);
    // What is not UTF-8 in a name is shown as such, not refused.
    return (done ? json{{"result", *done}} : json{{"error", done.error()}})
        .dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace openipoib::fabric
