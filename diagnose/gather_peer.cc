// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Packets to a peer, and RDMA CM.
#include "diagnose/gather.hpp"
#include "diagnose/gather_parts.hpp"
#include "diagnose/hardware.hpp"
#include "diagnose/rdma_cm.hpp"
#include "diagnose/text.hpp"
#include "io/file.hpp"
#include "io/process.hpp"
#include "io/unique_fd.hpp"
#include "netlink/route.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <sstream>

namespace openipoib::diagnose
{

namespace
{

constexpr std::size_t icmpBytes = 8;
constexpr std::size_t ipv4Bytes = 20;
constexpr std::size_t ipv6Bytes = 40;
constexpr std::chrono::milliseconds cmPatience{1000};
constexpr std::chrono::seconds pingPatience{5};

bool isIpv4(io::View address)
{
    return address.size() == sizeof(in_addr);
}

// Whether an echo of that many octets, all headers of IP's in them, comes back in one piece;
// nullopt: there is no ping that can tell, or this user may not.
std::optional<bool> isAnswered(io::View address, const std::string &interface, std::size_t bytes)
{
    const std::size_t headers = icmpBytes + (isIpv4(address) ? ipv4Bytes : ipv6Bytes);
    // The first one may wait for ARP and a path.
    const auto done = io::runProgram({"env", "LC_ALL=C", "ping", "-n", "-q", "-c", "2", "-i", "0.2",
                                      "-W", "1", "-M", "do", "-I", interface, "-s",
                                      std::to_string(bytes > headers ? bytes - headers : 0),
                                      addressText(address)},
                                     {.patience = pingPatience});
    return done ? pingSays(done->status, done->output) : std::nullopt;
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

// Fragments that this host has put together, or tried to
std::uint64_t fragments(const openib::Roots &roots, io::View address)
{
    const bool isFour = isIpv4(address);
    const auto text = io::readFile(roots.proc + (isFour ? "/net/snmp" : "/net/snmp6"));
    return snmpIn(text.value_or(""), isFour ? "Ip" : "", isFour ? "ReasmReqds" : "Ip6ReasmReqds");
}

// Packets of each length that there is a limit for
void sendPackets(const openib::Roots &roots, const Interface &interface, io::View address,
                 Peer &peer)
{
    constexpr std::size_t shortBytes = 84;
    constexpr std::uint64_t leastFragments = 2;
    const auto atFirst = fragments(roots, address);
    peer.small = isAnswered(address, interface.name(), shortBytes);
    // Behind a gateway there are other links, with MTUs of their own.
    if (!peer.small.value_or(false) || !peer.gateway.empty())
        return;
    const auto &group = interface.broadcast.record;
    peer.datagramBytes = group ? ipMtuOf(group->mtu) : 0;
    peer.largeBytes = interface.link.mtu;
    if (peer.datagramBytes > 0 && peer.datagramBytes < peer.largeBytes)
        peer.datagram = isAnswered(address, interface.name(), peer.datagramBytes);
    const auto before = fragments(roots, address);
    peer.large = isAnswered(address, interface.name(), peer.largeBytes);
    // Where fragments come all the time, it is not known whose they are.
    peer.isInPieces = peer.large.value_or(false) && before == atFirst &&
                      fragments(roots, address) - before >= leastFragments;
}

void askConnectionManager(const Interface &interface, io::View address, Peer &peer)
{
    const auto cm = RdmaCm::open();
    if (!cm)
        return;
    const auto resolved = cm->resolve(address, interface.link.index, cmPatience);
    peer.cm = resolved ? 0 : resolved.error().code;
    if (!resolved)
        return;
    // A datagram may get lost.
    for (int turn = 0; turn < 2 && peer.heard.value_or(ETIMEDOUT) == ETIMEDOUT; ++turn) {
        const auto heard = cm->knock(address, interface.link.index, cmPatience);
        peer.heard = heard ? 0 : heard.error().code;
    }
}

void readConnection(const openib::Roots &roots, const Interface &interface, Peer &peer)
{
    constexpr std::size_t longest = 64 << 20; // of a few hundred octets for each peer
    const io::View gid = peer.neighbour ? gidOf(peer.neighbour->hardware) : io::View();
    if (gid.empty())
        return;
    const auto text = io::readFile(
        fmt::format("{}/kernel/debug/ipoib/{}_connections", roots.sys, interface.name()), longest);
    peer.connection = connectionIn(text.value_or(""), gid);
}

} // namespace

bool PeerName::isOfLink() const
{
    return address.size() == sizeof(in6_addr) && address[0] == 0xFE && (address[1] & 0xC0) == 0x80;
}

std::optional<PeerName> parsePeer(const std::string &text)
{
    const auto percent = text.find('%');
    const auto parsed = text.find('/') == std::string::npos
                            ? netlink::parseAddress(text.substr(0, percent))
                            : std::nullopt;
    if (!parsed)
        return std::nullopt;
    PeerName name{.address = parsed->local};
    if (percent == std::string::npos)
        return name;
    name.zone = text.substr(percent + 1);
    return name.isOfLink() && !name.zone.empty() ? std::optional(name) : std::nullopt;
}

std::optional<bool> pingSays(int status, std::string_view printed)
{
    constexpr int noAnswer = 1; // and that of BusyBox' when it does not know an option
    const bool hasSent = printed.contains("packets transmitted");
    return hasSent && (status == 0 || status == noAnswer) ? std::optional(status == 0)
                                                          : std::nullopt;
}

std::uint64_t snmpIn(std::string_view text, std::string_view protocol, std::string_view name)
{
    std::istringstream lines{std::string(text)};
    std::string line;
    const std::string start = fmt::format("{}:", protocol);
    std::vector<std::string> names;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        std::uint64_t value = 0;
        if (protocol.empty() && word == name)
            return words >> value ? value : 0;
        if (word != start)
            continue;
        if (names.empty()) {
            while (words >> word)
                names.push_back(word);
            continue;
        }
        for (const auto &one : names)
            if (words >> value && one == name)
                return value;
    }
    return 0;
}

std::string connectionIn(std::string_view text, io::View gid)
{
    if (gid.size() != sizeof(ib::Gid))
        return {};
    std::string wanted = "GID:";
    for (std::size_t at = 0; at < gid.size(); at += 2)
        wanted += fmt::format("{}{:x}", at ? ":" : " ", io::read<2>(gid, at));
    std::istringstream lines{std::string(text)};
    bool isIts = false;
    for (std::string line; std::getline(lines, line);) {
        constexpr std::string_view state = "  state:    ";
        if (line.starts_with("GID:"))
            isIts = line == wanted;
        else if (line == "  direction: in")
            isIts = false;
        else if (isIts && line.starts_with(state))
            return line.substr(state.size());
    }
    return {};
}

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

namespace
{

// The VRF that this process is in (ip vrf exec), whose table its sockets look into; 0: none
int ownVrf()
{
    const io::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    std::array<char, IF_NAMESIZE> name{};
    socklen_t length = name.size();
    if (!socket ||
        ::getsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, name.data(), &length) < 0)
        return 0;
    return static_cast<int>(::if_nametoindex(name.data()));
}

// Where packets go to: the interface, and who they are handed to there.
void findRoute(netlink::Socket &socket, const PeerName &name, const Facts &facts, Peer &peer)
{
    if (name.isOfLink()) {
        peer.interface = name.zone.empty() ? facts.wanted : name.zone;
        return;
    }
    const auto route = netlink::routeTowards(socket, name.address, ownVrf());
    if (!route)
        return;
    std::array<char, IF_NAMESIZE> text{};
    if (::if_indextoname(static_cast<unsigned>(route->index), text.data()))
        peer.interface = text.data();
    if (!route->gateway.empty())
        peer.gateway = addressText(route->gateway);
}

} // namespace

void walkToPeer(netlink::Socket &socket, const openib::Roots &roots, Facts &facts)
{
    Peer &peer = *facts.peer;
    const auto name = parsePeer(peer.address);
    if (!name)
        return;
    findRoute(socket, *name, facts, peer);
    const Interface *interface = facts.interface(peer.interface);
    if (!interface)
        return;
    sendPackets(roots, *interface, name->address, peer);
    if (!peer.small)
        facts.unseen.push_back({"packets to the peer", "ping cannot be used"});
    const auto next = parsePeer(peer.gateway);
    peer.neighbour = neighbourOf(socket, *interface, next ? next->address : name->address);
    readConnection(roots, *interface, peer);
    if (peer.small.value_or(false) && peer.gateway.empty())
        askConnectionManager(*interface, name->address, peer);
}

} // namespace openipoib::diagnose
