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
#include <string_view>
#include <utility>
#include <vector>

namespace openipoib::fabric
{

// What a fault may be limited to: MADs, unreliable datagrams, reliable connections,
// and all else.
enum class PacketKind : std::uint8_t { mad, ud, rc, other, count };
using PacketKinds = std::bitset<static_cast<std::size_t>(PacketKind::count)>;

inline constexpr std::array<std::pair<std::string_view, PacketKind>, 4> packetKindNames{
    {{"mad", PacketKind::mad},
     {"ud", PacketKind::ud},
     {"rc", PacketKind::rc},
     {"other", PacketKind::other}}};

[[nodiscard]] PacketKind kindOf(io::View packet);

enum class FaultKind : std::uint8_t {
    link,  // the cable at a port is pulled
    port,  // a port is switched off, whatever the SM wants
    power, // a switch is switched off; it comes back with empty tables
    stuck, // a switch answers no MAD, and forwards
    drop,  // packets get lost at a port, both ways
    delay  // packets are late at a port, both ways
};

inline constexpr std::array<std::pair<std::string_view, FaultKind>, 6> faultKindNames{
    {{"link", FaultKind::link},
     {"port", FaultKind::port},
     {"switch", FaultKind::power},
     {"stuck", FaultKind::stuck},
     {"drop", FaultKind::drop},
     {"delay", FaultKind::delay}}};

// Whether it is about all of a node rather than one of its ports.
[[nodiscard]] constexpr bool isOfNode(FaultKind kind)
{
    return kind == FaultKind::power || kind == FaultKind::stuck;
}

struct Fault {
    unsigned id = 0;
    FaultKind kind = FaultKind::link;
    PortRef at;                                // port 0: the node
    PacketKinds packets = PacketKinds{}.set(); // of drop and delay
    std::uint32_t perMillion = 0;              // of drop
    std::chrono::microseconds delay{};         // of delay
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
    // Whether judge() may say anything but "go on".
    [[nodiscard]] bool touchPackets() const { return touchPackets_; }

    struct Verdict {
        bool isDropped = false;
        std::chrono::microseconds delay{};
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
