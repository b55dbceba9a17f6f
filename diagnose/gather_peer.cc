// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Packets to a peer, and RDMA CM.
#include "conf/openib/linux_mounts.hpp"
#include "diagnose/gather_parts.hpp"
#include "diagnose/rdma_cm.hpp"
#include "diagnose/text.hpp"
#include "io/process.hpp"

#include <linux/rtnetlink.h>

#include <algorithm>
#include <chrono>

namespace openipoib::diagnose
{

namespace
{

constexpr std::size_t icmpBytes = 8;
constexpr std::size_t ipv4Bytes = 20;
constexpr std::size_t ipv6Bytes = 40;
constexpr std::chrono::milliseconds cmPatience{1000};
constexpr std::chrono::seconds pingPatience{5};

// Whether an echo of that many octets, all headers of IP's in them, comes back in one piece;
// nullopt: there is no ping, or this user may not.
std::optional<bool> isAnswered(const Peer &peer, const std::string &interface, std::size_t bytes)
{
    const std::size_t headers =
        icmpBytes + (peer.address.find(':') == std::string::npos ? ipv4Bytes : ipv6Bytes);
    // The first one may wait for ARP and a path.
    const auto done = io::runProgram(
        {"ping", "-n", "-q", "-c", "2", "-i", "0.2", "-W", "1", "-M", "do", "-I", interface, "-s",
         std::to_string(bytes > headers ? bytes - headers : 0), peer.address},
        {.patience = pingPatience});
    constexpr int noAnswer = 1;
    if (!done || (done->status != 0 && done->status != noAnswer))
        return std::nullopt;
    return done->status == 0;
}

std::optional<netlink::Neighbour> neighbourOf(netlink::Socket &socket, const Interface &interface,
                                              const io::Bytes &address)
{
    const auto all = netlink::neighbours(socket);
    if (!all)
        return std::nullopt;
    const auto found = std::ranges::find_if(*all, [&](const netlink::Neighbour &one) {
        return one.index == interface.link.index && one.address == address;
    });
    return found == all->end() ? std::nullopt : std::optional(*found);
}

} // namespace

void bindAddresses(Facts &facts)
{
    if (std::ranges::all_of(facts.interfaces,
                            [](const Interface &one) { return one.addresses.empty(); }))
        return;
    const auto cm = RdmaCm::open();
    if (!cm) {
        facts.unseen.push_back({"RDMA CM", cm.error().text()});
        return;
    }
    for (auto &interface : facts.interfaces)
        for (const auto &address : interface.addresses) {
            if (address.family != AF_INET || !interface.link.isRunning())
                continue;
            const auto bound = cm->bind(address.local, interface.link.index);
            interface.bindings.push_back(
                {addressText(address.local), bound ? 0 : bound.error().code, bound.value_or("")});
        }
}

void walkToPeer(netlink::Socket &socket, Facts &facts)
{
    Peer &peer = *facts.peer;
    peer.interface = openib::interfaceTowards(peer.address);
    const Interface *interface = facts.interface(peer.interface);
    const auto address = netlink::parseAddress(peer.address);
    if (!interface || !address)
        return;
    constexpr std::size_t shortBytes = 84;
    peer.small = isAnswered(peer, interface->name(), shortBytes);
    if (!peer.small)
        facts.unseen.push_back({"packets to the peer", "ping cannot be used"});
    peer.neighbour = neighbourOf(socket, *interface, address->local);
    if (!peer.small.value_or(false))
        return;
    peer.largeBytes = interface->link.mtu;
    peer.large = isAnswered(peer, interface->name(), peer.largeBytes);
    if (const auto cm = RdmaCm::open()) {
        const auto resolved = cm->resolve(address->local, interface->link.index, cmPatience);
        peer.cm = resolved ? 0 : resolved.error().code;
    }
}

} // namespace openipoib::diagnose
