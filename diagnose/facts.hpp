// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What was found of a machine's IPoIB interfaces and of all below them. Plain data: where a thing
// could not be looked at, it is nullopt or Reply::unasked, and Facts::unseen says why.
#pragma once

#include "conf/openib/state.hpp"
#include "ib/gid.hpp"
#include "ib/member_record.hpp"
#include "ib/sa.hpp"
#include "netlink/address.hpp"
#include "netlink/bond.hpp"
#include "netlink/ethtool.hpp"
#include "netlink/link.hpp"
#include "netlink/neighbour.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace openipoib::diagnose
{

// What became of a question to the fabric.
enum class Reply : std::uint8_t { unasked, answered, refused, silent };

struct Answer {
    Reply reply = Reply::unasked;
    std::uint16_t status = 0; // of the MAD, where it was refused

    // Whether it says no more than that it has no time
    [[nodiscard]] bool isBusy() const { return reply == Reply::refused && (status & 1); }
};

// Which of two times counters are read at.
enum class Sample : std::uint8_t { before, after };

// The same counters at two times.
struct Counted {
    std::map<std::string, std::uint64_t, std::less<>> before;
    std::map<std::string, std::uint64_t, std::less<>> after;

    [[nodiscard]] auto &at(Sample sample) { return sample == Sample::before ? before : after; }
    [[nodiscard]] std::uint64_t grown(std::string_view name) const
    {
        const auto old = before.find(name);
        const auto now = after.find(name);
        return old != before.end() && now != after.end() && now->second > old->second
                   ? now->second - old->second
                   : 0;
    }
    [[nodiscard]] std::uint64_t now(std::string_view name) const
    {
        const auto found = after.find(name);
        return found == after.end() ? 0 : found->second;
    }
};

// What PortInfo says besides what sysfs does; numbers as they are there.
struct PortInfo {
    unsigned lid = 0;
    std::uint64_t mkey = 0;
    unsigned mkeyProtection = 0; // 0: the key is told; 1: it is not; 2, 3: nothing is without it
    unsigned widthEnabled = 0;   // a bit for 1x, 4x, 8x, 12x, 2x
    unsigned widthActive = 0;
    unsigned speedEnabled = 0; // a bit for SDR, DDR, QDR
    unsigned speedActive = 0;
    unsigned lanes = 0; // code of how many for data: 1, 2, 4, 8, 15 are 1 to 5
};

// The other end of a port's cable.
struct FarEnd {
    std::string description; // "sw1 port 3"
    std::optional<PortInfo> info;
    Counted counters; // by the names that sysfs gives them
};

struct SubnetManager {
    Answer administration; // its SA, asked for its ClassPortInfo
    std::optional<std::uint64_t> guid;
    std::optional<std::chrono::milliseconds> heard; // after so long it has answered
};

// Virtual lanes by service level
using LaneTable = std::array<std::uint8_t, 16>;

struct Port {
    std::string hca;
    openib::Port shown; // by sysfs
    unsigned smLid = 0;
    unsigned smSl = 0;                // service level to the subnet manager
    unsigned lmc = 0;                 // so many low bits of its LIDs are its own
    bool needsGrh = false;            // nothing of it gets anywhere without a global route header
    std::vector<std::uint16_t> pkeys; // its table, without empty places
    std::optional<unsigned> mtu;      // active, bytes
    std::optional<unsigned> vectors;  // of completions
    Answer asked;                     // for its own PortInfo
    std::optional<PortInfo> info;
    std::optional<LaneTable> lanes;
    SubnetManager manager;
    // Whose LID the port's LID is, as the SA has it
    std::optional<ib::NodeRecord> lidOwner;
    std::optional<std::uint16_t> knownLid; // of its GID, as the SA has it, where that is another's
    std::optional<FarEnd> far;
    std::optional<unsigned> lids; // the highest LID that the switch at the other end forwards to
    Counted counters;             // sysfs: symbol_error ...

    [[nodiscard]] std::string name() const; // "mlx5_0 port 1"
    // Whether it drops what it is to send at that service level
    [[nodiscard]] bool hasNoLane(std::uint8_t level) const;
    [[nodiscard]] bool isInfiniband() const { return shown.layer == "InfiniBand"; }
    [[nodiscard]] bool isActive() const { return shown.state == "ACTIVE"; }
};

struct Group {
    Answer asked;
    std::optional<ib::MemberRecord> record;

    [[nodiscard]] bool isMissing() const
    {
        return asked.reply == Reply::refused && asked.status == ib::saNoRecords;
    }
};

// What RDMA CM makes of an address of an interface.
struct Binding {
    std::string address;
    int error = 0;      // errno
    std::string device; // that it leads to; "": none
};

struct Interface {
    netlink::Link link;
    std::optional<std::uint16_t> pkey;
    std::optional<bool> connected; // nullopt: the driver has no modes
    std::string parent;            // of a child
    bool hasChildren = false;      // other interfaces are made of it
    std::string hca;               // "": it is not known
    unsigned port = 0;
    std::vector<std::string> managers; // programs that say that they set it up
    bool isConfigured = false;         // openib.conf says what it is to be like
    std::string master;                // bond, VRF or bridge that it is in
    std::string masterKind;
    std::vector<netlink::Address> addresses;
    unsigned arpIgnore = 0; // of all and of this one, whichever is more
    unsigned arpFilter = 0;
    Group broadcast;
    Group allNodes;                      // of IPv6
    std::vector<std::string> duplicates; // addresses that another host answers for
    std::vector<Binding> bindings;
    std::optional<std::uint32_t> queues; // to transmit
    std::vector<netlink::Feature> features;
    Counted statistics; // /sys/class/net/ib0/statistics, and "tx_timeout"
    Counted reasons;    // what its driver counts besides: ethtool -S

    [[nodiscard]] const std::string &name() const { return link.name; }
    [[nodiscard]] bool isIn(std::string_view kind) const { return masterKind == kind; }
    // One of IPoIB interfaces, with the address of one of them; what is said of them need not be
    // said of it.
    [[nodiscard]] bool isBond() const { return link.kind == "bond"; }
    // The MGID of its broadcast group; nullopt: its broadcast address is none of IPoIB
    [[nodiscard]] std::optional<ib::Gid> mgid() const;
    // Its P_Key, of a bond that of its broadcast group
    [[nodiscard]] std::uint16_t partition() const;
};

// Whether it is one that only hosts of the same link, or only this host, can reach.
[[nodiscard]] bool isNarrow(const netlink::Address &address);

// The neighbour table of a family, and its limit.
struct NeighbourTable {
    std::string family; // "ipv4", "ipv6"
    std::size_t entries = 0;
    std::uint64_t most = 0; // gc_thresh3
    Counted counters;       // table_fulls
};

// What drops all that an interface sends or receives: a rule, or the policy of a chain without
// rules that let something through.
struct Drop {
    std::string interface = {}; // "": of all
    std::string address{};      // of a peer's; "": all
    std::string chain{};        // "inet filter input", of iptables "filter INPUT"
    std::string family{};       // "ipv4", "ipv6"; "": of both
    std::string program{"nft"}; // or "iptables-legacy", "ip6tables-legacy"
    bool isPolicy = false;
};

// How far the way to a peer goes.
struct Peer {
    std::string address{};      // as it was asked for
    std::string interface = {}; // that the route or its zone leads to; "": there is no route
    std::string gateway{};      // that packets to it are handed to; "": it is on the link itself
    std::optional<netlink::Neighbour> neighbour{}; // it, or the gateway
    Answer pathAsked{};
    std::optional<ib::PathRecord> path{};
    std::string connection{};       // state of our driver's connection to it; "": it is not known
    std::optional<bool> small{};    // whether a short packet is answered
    std::optional<bool> datagram{}; // one as long as a datagram, where the interface sends longer
    std::size_t datagramBytes = 0;  // of it, IP header and all
    std::optional<bool> large{};    // one as long as the interface sends
    std::size_t largeBytes = 0;
    bool isInPieces = false;    // answers to the latter are fragments
    std::optional<int> cm{};    // errno of RDMA CM's way there, 0: it is there
    std::optional<int> heard{}; // errno of what its connection manager says, 0: it has answered
};

struct Unseen {
    std::string what;
    std::string why;

    bool operator==(const Unseen &) const = default;
};

// An interrupt of an adapter
struct Interrupt {
    unsigned number = 0;
    std::string name{};       // "mlx5_comp3@pci:0000:17:00.0"
    std::string processors{}; // that it goes to: "3", "0-7"
    std::uint64_t count = 0;  // how often it has come
};

struct Facts {
    openib::State state;
    std::vector<openib::Stale> stale;       // modules that are loaded, though others are installed
    bool isOurs = false;                    // the ib_ipoib that is loaded
    std::pair<unsigned, unsigned> kernel{}; // 6, 1
    unsigned processors = 1;
    std::string broken;                 // openib.conf, if it has an error
    bool wantsHa = false;               // openib.conf asks for ipoib-ha
    int haProcess = 0;                  // that is ipoib-ha, whoever has started it; 0: none
    std::vector<std::string> wantBonds; // and for these bonds
    std::string wanted;                 // the interface asked about; "": all
    std::string elsewhere;              // the network namespace that has it
    std::vector<Port> ports;
    std::vector<Interface> interfaces;
    std::vector<io::Bytes> hardware;              // addresses of all IPoIB interfaces of this host
    std::vector<netlink::Link> others;            // other interfaces
    std::vector<netlink::Address> otherAddresses; // theirs
    std::map<std::string, netlink::Bond> bonds;
    std::map<std::string, std::vector<Interrupt>> interrupts; // by adapter
    std::vector<NeighbourTable> tables;
    std::vector<netlink::Neighbour> neighbours; // of the interfaces
    std::vector<Drop> drops;
    std::optional<Peer> peer;
    std::vector<Unseen> unseen;

    [[nodiscard]] const Port *portOf(const Interface &interface) const;
    [[nodiscard]] const Interface *interface(std::string_view name) const;
    // Whether ipoib-ha keeps the addresses of that interface; nullopt: it runs, and does not say
    [[nodiscard]] std::optional<bool> isOfHa(std::string_view name) const;
    // All that sets an interface up: managers, openib, ipoib-ha, the bond that it is in
    [[nodiscard]] std::vector<std::string> settersOf(const Interface &interface) const;
};

} // namespace openipoib::diagnose
