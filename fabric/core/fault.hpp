// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What is to go wrong in a fabric: faults at ports and switches, each until its
// time is over or it is cleared. Knows and decides; whoever asks does it.
#pragma once

#include "link/sender.hpp"
#include "node/packet.hpp"
#include "topology/topology.hpp"

#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace openipoib::fabric
{

// What a fault may be limited to: subnet management packets, other MADs, unreliable
// datagrams, reliable connections, and all else.
enum class PacketKind : std::uint8_t { smp, gmp, ud, rc, other, count };
using PacketKinds = std::bitset<static_cast<std::size_t>(PacketKind::count)>;

inline constexpr std::array<std::pair<std::string_view, PacketKind>, 5> packetKindNames{
    {{"smp", PacketKind::smp},
     {"gmp", PacketKind::gmp},
     {"ud", PacketKind::ud},
     {"rc", PacketKind::rc},
     {"other", PacketKind::other}}};

[[nodiscard]] PacketKind kindOf(io::View packet);

enum class FaultKind : std::uint8_t {
    link,      // the cable at a port is pulled
    port,      // a port is switched off, whatever the SM wants
    power,     // a switch is switched off; it comes back with empty tables
    stuck,     // a switch answers no MAD, and forwards
    cut,       // all cables between some nodes and the others are pulled
    drop,      // packets get lost at a port; this and all below: both ways
    duplicate, // packets come twice
    corrupt,   // a bit of a packet is changed
    reorder,   // packets are overtaken by later ones
    delay,     // packets are late
    rate       // so many bits a second pass
};

inline constexpr std::array<std::pair<std::string_view, FaultKind>, 11> faultKindNames{
    {{"link", FaultKind::link},
     {"port", FaultKind::port},
     {"switch", FaultKind::power},
     {"stuck", FaultKind::stuck},
     {"cut", FaultKind::cut},
     {"drop", FaultKind::drop},
     {"duplicate", FaultKind::duplicate},
     {"corrupt", FaultKind::corrupt},
     {"reorder", FaultKind::reorder},
     {"delay", FaultKind::delay},
     {"rate", FaultKind::rate}}};

// Whether it is about all of a node rather than one of its ports.
[[nodiscard]] constexpr bool isOfNode(FaultKind kind)
{
    return kind == FaultKind::power || kind == FaultKind::stuck || kind == FaultKind::cut;
}
// Whether it befalls a fraction of the packets.
[[nodiscard]] constexpr bool isOfChance(FaultKind kind)
{
    return kind >= FaultKind::drop && kind <= FaultKind::reorder;
}
[[nodiscard]] constexpr bool isOfPackets(FaultKind kind)
{
    return kind >= FaultKind::drop;
}

struct Fault {
    unsigned id = 0;
    FaultKind kind = FaultKind::link;
    PortRef at;                                // port 0: the node
    std::set<std::size_t> nodes{};             // of a cut: one side of it
    PacketKinds packets = PacketKinds{}.set(); // of a fraction and of delay
    std::uint32_t perMillion = 0;              // the fraction
    std::chrono::microseconds delay{};         // of delay
    std::uint64_t bitsPerSecond = 0;           // of rate
    Time until = Time::max();
};

class Faults
{
  public:
    using Random = std::function<std::uint32_t()>;

    // The fault with its id. It replaces one of its kind at the same place, and for
    // the same packets.
    const Fault &add(Fault fault);
    // Take out those that match; they are returned.
    [[nodiscard]] std::vector<Fault> remove(const std::function<bool(const Fault &)> &matches);
    [[nodiscard]] std::vector<Fault> expire(Time now)
    {
        return remove([now](const Fault &fault) { return fault.until <= now; });
    }
    [[nodiscard]] Time deadline() const;
    [[nodiscard]] const std::vector<Fault> &all() const { return faults_; }

    [[nodiscard]] bool has(FaultKind kind, PortRef at) const;
    // Whether a cut is between two nodes.
    [[nodiscard]] bool isCut(std::size_t node, std::size_t other) const;
    // Whether judge() may say anything but "go on".
    [[nodiscard]] bool touchPackets() const { return touchPackets_; }

    struct Verdict {
        bool isDropped = false;
        bool isDuplicated = false;
        bool isCorrupted = false;
        bool isOvertaken = false;
        std::chrono::microseconds delay{};
        std::uint64_t bitsPerSecond = 0; // 0: no limit
    };
    // About a packet that passes between a port and its peer.
    [[nodiscard]] Verdict judge(PortRef port, std::optional<PortRef> peer, PacketKind kind,
                                const Random &random) const;

  private:
    std::vector<Fault> faults_;
    unsigned lastId_ = 0;
    bool touchPackets_ = false;
};

} // namespace openipoib::fabric
