// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The way to one peer, step by step.
#include "diagnose/walk.hpp"

#include "diagnose/gather.hpp"
#include "diagnose/hardware.hpp"
#include "diagnose/rules.hpp"
#include "diagnose/text.hpp"

#include <fmt/format.h>
#include <linux/neighbour.h>

#include <algorithm>
#include <array>

namespace openipoib::diagnose
{

namespace
{

Step route(const Facts &facts, const Peer &peer)
{
    Step step{.name = "route"};
    const auto name = parsePeer(peer.address);
    if (peer.interface.empty() && name && name->isOfLink()) {
        step.fails("it is an address of a link, and nobody says of which",
                   fmt::format("name the interface: --peer {}%ib0", peer.address));
    } else if (peer.interface.empty()) {
        step.fails("there is no route to it", "an interface with an address of its subnet, or ip "
                                              "route add; from within a VRF: ip vrf exec");
    } else if (!facts.interface(peer.interface)) {
        step.fails(fmt::format("packets go by {}, {}", peer.interface,
                               facts.wanted.empty() ? "which is no IPoIB interface"
                                                    : "and not by " + facts.wanted),
                   "a more specific route by the IPoIB interface, or another address for one of "
                   "both subnets");
    } else {
        const std::string next = peer.gateway.empty() ? "" : ", to the gateway " + peer.gateway;
        step.passes("by " + peer.interface + next);
    }
    return step;
}

Step neighbour(const Peer &peer)
{
    Step step{.name = "neighbour"};
    const bool hasFailed =
        peer.neighbour && (peer.neighbour->state & (NUD_FAILED | NUD_INCOMPLETE));
    const bool isKnown = peer.neighbour && !hasFailed && !peer.neighbour->hardware.empty();
    if (isKnown)
        step.passes("known");
    else if (peer.small.value_or(false))
        step.passes("answers");
    // Nobody asks for a neighbour that nothing is sent to.
    else if (hasFailed || peer.small)
        step.fails(fmt::format("{} does not answer ARP or neighbour discovery",
                               peer.gateway.empty() ? "it" : "its gateway " + peer.gateway),
                   "is the host up, is it in the same partition, and has it this address? ip "
                   "neigh, and openib diagnose there");
    return step;
}

Step hardware(const Facts &facts, const Peer &peer)
{
    Step step{.name = "hardware address"};
    if (!peer.neighbour || peer.neighbour->hardware.empty())
        return step;
    const io::View address = peer.neighbour->hardware;
    const Interface *interface = facts.interface(peer.interface);
    const io::View gid = gidOf(address);
    if (gid.empty()) {
        step.fails("its hardware address is none of IPoIB", "ip neigh del, and see who has set it");
        return step;
    }
    const io::Bytes own = interface ? interface->link.gid() : io::Bytes{};
    if (!isSamePrefix(own, gid))
        step.fails(fmt::format("its GID {} has another subnet prefix than ours", gidText(gid)),
                   "ip neigh flush; one subnet_prefix for all subnet managers");
    else
        step.passes(gidText(gid));
    return step;
}

Step path(const Facts &facts, const Peer &peer)
{
    Step step{.name = "path record"};
    const Interface *interface = facts.interface(peer.interface);
    const Port *port = interface ? facts.portOf(*interface) : nullptr;
    if (peer.pathAsked.reply == Reply::silent)
        step.fails("the subnet manager does not answer when asked for the path",
                   "start a subnet manager");
    else if (peer.pathAsked.isBusy())
        return step;
    else if (peer.pathAsked.reply == Reply::refused)
        step.fails(peer.pathAsked.status == ib::saNoRecords
                       ? "the subnet manager knows no path to it"
                       : fmt::format("the subnet manager refuses to tell the path, with status "
                                     "0x{:04x}",
                                     peer.pathAsked.status),
                   "is the peer's port ACTIVE, and in this partition? ip neigh flush, if its GID "
                   "is an old one");
    else if (peer.path && port && port->hasNoLane(peer.path->sl))
        step.fails(fmt::format("{} drops what it is to send at service level {}, that of the path",
                               port->name(), peer.path->sl),
                   "smpquery sl2vl shows which lanes its service levels have: qos_ca_sl2vl in "
                   "opensm.conf, or another service level by opensm's QoS policy");
    else if (peer.path)
        step.passes(fmt::format("LID {}, SL {}, MTU {}, {}", peer.path->dlid, peer.path->sl,
                                mtuOf(peer.path->mtu), rateText(rateOf(peer.path->rate))));
    return step;
}

bool takesConnectionsOf(const Peer &peer)
{
    return peer.neighbour && takesConnections(peer.neighbour->hardware);
}

// As our driver calls the states in which packets go as datagrams
bool isRefused(const Peer &peer)
{
    return peer.connection == "DATAGRAM" || peer.connection.starts_with("RETRY");
}

Step mode(const Facts &facts, const Peer &peer)
{
    Step step{.name = "connection"};
    const Interface *interface = facts.interface(peer.interface);
    if (!interface || !peer.neighbour || peer.neighbour->hardware.empty())
        return step;
    if (!interface->connected.value_or(false))
        step.passes("none: this interface is in datagram mode");
    else if (!takesConnectionsOf(peer))
        step.passes("none: the peer takes no connections, so that datagrams go there");
    else if (isRefused(peer))
        step.passes("none: the peer has refused it, and datagrams go there");
    else
        step.passes(peer.connection == "UP" ? "connected mode, and there is one"
                                            : "connected mode");
    return step;
}

Step datagram(const Peer &peer)
{
    Step step{.name = "short packets"};
    if (!peer.small)
        return step;
    if (*peer.small)
        step.passes("answered");
    else
        step.fails("short packets are not answered",
                   "has the peer a way back (its routes, its neighbours), and does a firewall "
                   "there drop them? openib diagnose there");
    return step;
}

// Where the interface sends longer packets through connections
Step wholeDatagram(const Peer &peer)
{
    Step step{.name = "datagrams"};
    if (!peer.datagram)
        return step;
    if (*peer.datagram)
        step.passes(fmt::format("{} octets are answered", peer.datagramBytes));
    else
        step.fails(fmt::format("packets of {} octets, which a datagram holds, are not answered, "
                               "short ones are",
                               peer.datagramBytes),
                   "one MTU for both hosts: compare ip link show of both, and the path's MTU "
                   "above with that of the broadcast group (saquery -g)");
    return step;
}

Step longPackets(const Peer &peer)
{
    Step step{.name = "long packets"};
    if (!peer.large)
        return step;
    if (*peer.large)
        step.passes(fmt::format("{} octets are answered{}", peer.largeBytes,
                                peer.isInPieces ? ", in pieces" : ""));
    else
        step.fails(
            fmt::format("packets of {} octets are not answered, {} are", peer.largeBytes,
                        peer.datagram.value_or(false)
                            ? fmt::format("those of {}", peer.datagramBytes)
                            : "short ones"),
            "one MTU and one mode for both hosts: compare ip link show of both; a peer in the "
            "other mode says so by ICMP, which a firewall may drop");
    return step;
}

Step connectionManager(const Peer &peer)
{
    Step step{.name = "RDMA CM"};
    if (!peer.cm)
        return step;
    const bool isSilent = peer.heard == ETIMEDOUT;
    if (*peer.cm != 0)
        step.fails(fmt::format("RDMA CM does not get there: {}", errorText(*peer.cm)),
                   "is rdma_cm's device that of the interface (rdma link), and in the same network "
                   "namespace?");
    // One that takes connections of IPoIB has a connection manager.
    else if (isSilent && takesConnectionsOf(peer))
        step.fails("its connection manager does not answer",
                   "nothing connects to it: are ib_cm and rdma_cm loaded there, and are management "
                   "datagrams lost on the way (perfquery: VL15Dropped, errors)?");
    else
        step.passes(isSilent          ? "finds it; no connection manager answers there"
                    : peer.heard == 0 ? "finds it, and its connection manager answers"
                                      : "finds it");
    return step;
}

// What packets of ours that it does not take as a connection's can be lost by
void connectionRefused(const Facts &facts, Findings &findings)
{
    const Interface *interface = facts.peer ? facts.interface(facts.peer->interface) : nullptr;
    if (!interface || !interface->connected.value_or(false) || !takesConnectionsOf(*facts.peer) ||
        !isRefused(*facts.peer))
        return;
    findings.add(
        {.rule = "connection-refused",
         .on = facts.peer->address,
         .what = fmt::format("it refuses connections of {}", interface->name()),
         .why = "its hardware address says that it takes them; datagrams go there, and packets "
                "that are too long for one are lost",
         .cure = "there, ethtool -S says whether it has too many (cm_rx_full, cm_rejects), dmesg "
                 "what it says; here, cm_lost counts connections that broke: look for errors on "
                 "the way, or set both to datagram mode"});
}

// The first step that fails
void peerFails(const Facts &facts, Findings &findings)
{
    if (!facts.peer || findings.has("interface-missing", facts.wanted))
        return;
    for (const auto &step : walk(facts))
        if (step.result == StepResult::failed &&
            !findings.isExplained(facts.peer->address, {"connection-refused"})) {
            findings.add({.rule = "peer",
                          .on = facts.peer->address,
                          .what = step.text,
                          .why = fmt::format("the way to it ends at the step \"{}\"", step.name),
                          .cure = step.cure});
            return;
        }
}

// The links of both are one link, which has one MTU (RFC 4391, section 7).
void peerMtu(const Facts &facts, Findings &findings)
{
    const Interface *interface = facts.peer ? facts.interface(facts.peer->interface) : nullptr;
    if (!interface || !facts.peer->isInPieces ||
        findings.isExplained(facts.peer->address, {"connection-refused", "peer"}))
        return;
    findings.add({.rule = "peer-mtu",
                  .on = facts.peer->address,
                  .what = fmt::format("its MTU is less than that of {}, {}", interface->name(),
                                      interface->link.mtu),
                  .why = "its answers to packets of that length come as fragments; hosts of one "
                         "link are to have one MTU",
                  .cure = fmt::format("compare mode and MTU of both hosts (ip link show), and the "
                                      "peer's route to here (ip route get); ip link set {} mtu N "
                                      "on one of them",
                                      interface->name())});
}

constexpr auto rules = std::to_array<Rule>({
    connectionRefused,
    peerFails,
    peerMtu,
});

} // namespace

std::vector<Step> walk(const Facts &facts)
{
    if (!facts.peer)
        return {};
    const Peer &peer = *facts.peer;
    std::vector<Step> steps{route(facts, peer), neighbour(peer),   hardware(facts, peer),
                            path(facts, peer),  mode(facts, peer), datagram(peer)};
    if (peer.datagram)
        steps.push_back(wholeDatagram(peer));
    steps.push_back(longPackets(peer));
    steps.push_back(connectionManager(peer));
    bool isOver = false;
    for (auto &step : steps) {
        if (isOver)
            step = {.name = step.name};
        isOver = isOver || step.result == StepResult::failed;
    }
    return steps;
}

std::span<const Rule> peerRules()
{
    return rules;
}

} // namespace openipoib::diagnose
