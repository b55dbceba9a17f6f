// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What an emulated peer has answered, and why it has dropped packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace openipoib::fabric
{

enum class PeerAnswered : std::uint8_t { arp, neighbour, echo, echo6, count };

enum class PeerDrop : std::uint8_t {
    malformed, // lengths and fields that make no sense
    opcode,    // no datagram that IPoIB would send
    pkey,      // another partition
    qkey,      // not the broadcast group's
    group,     // of a multicast group that it is not in
    checksum,  // of IPv4, ICMP or ICMPv6
    fragment,  // of an IP packet
    address,   // for none of its addresses, or not for that queue pair's
    ignored,   // well formed, and nothing that it answers
    count
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(PeerAnswered::count)>
    peerAnsweredNames{"arp", "neighbour", "echo", "echo6"};
inline constexpr std::array<std::string_view, static_cast<std::size_t>(PeerDrop::count)>
    peerDropNames{"malformed", "opcode",   "pkey",    "qkey",   "group",
                  "checksum",  "fragment", "address", "ignored"};

class PeerCounters
{
  public:
    void add(PeerAnswered what) { ++answered_[static_cast<std::size_t>(what)]; }
    void add(PeerDrop why) { ++dropped_[static_cast<std::size_t>(why)]; }
    [[nodiscard]] std::uint64_t get(PeerAnswered what) const
    {
        return answered_[static_cast<std::size_t>(what)];
    }
    [[nodiscard]] std::uint64_t get(PeerDrop why) const
    {
        return dropped_[static_cast<std::size_t>(why)];
    }

  private:
    std::array<std::uint64_t, static_cast<std::size_t>(PeerAnswered::count)> answered_{};
    std::array<std::uint64_t, static_cast<std::size_t>(PeerDrop::count)> dropped_{};
};

} // namespace openipoib::fabric
