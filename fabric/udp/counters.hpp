// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a `udp:` cable counts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace openipoib::fabric
{

struct UdpCounters {
    std::uint64_t tx = 0, rx = 0;   // datagrams sent; taken
    std::uint64_t txFrame = 0;      // frames that were more than one
    std::uint64_t txGreeting = 0;   // in place of a frame, or as an answer
    std::uint64_t txTooLong = 0;    // longer than the path lets through
    std::uint64_t txLost = 0;       // refused by the system, or with nobody to send to
    std::uint64_t rxLength = 0;     // too short, or their parts do not add up
    std::uint64_t rxVersion = 0;    // of another version
    std::uint64_t rxCode = 0;       // not made with the key
    std::uint64_t rxReplay = 0;     // had come before, or are too old to tell
    std::uint64_t rxEpoch = 0;      // for an epoch that is not ours, or of one that is over
    std::uint64_t rxReflected = 0;  // our own
    std::uint64_t rxForeign = 0;    // of a third one while the peer is there
    std::uint64_t rxFragment = 0;   // fragments that do not fit the others
    std::uint64_t rxIncomplete = 0; // frames given up for want of fragments
    std::uint64_t peerUp = 0;       // peers that have come, or come again
};

inline constexpr std::array<std::pair<std::string_view, std::uint64_t UdpCounters::*>, 16>
    udpCounterNames{{{"udp_tx", &UdpCounters::tx},
                     {"udp_rx", &UdpCounters::rx},
                     {"udp_tx_fragmented", &UdpCounters::txFrame},
                     {"udp_tx_greeting", &UdpCounters::txGreeting},
                     {"udp_tx_too_long", &UdpCounters::txTooLong},
                     {"udp_tx_lost", &UdpCounters::txLost},
                     {"udp_rx_length", &UdpCounters::rxLength},
                     {"udp_rx_version", &UdpCounters::rxVersion},
                     {"udp_rx_code", &UdpCounters::rxCode},
                     {"udp_rx_replay", &UdpCounters::rxReplay},
                     {"udp_rx_epoch", &UdpCounters::rxEpoch},
                     {"udp_rx_reflected", &UdpCounters::rxReflected},
                     {"udp_rx_foreign", &UdpCounters::rxForeign},
                     {"udp_rx_fragment", &UdpCounters::rxFragment},
                     {"udp_rx_incomplete", &UdpCounters::rxIncomplete},
                     {"udp_peer_up", &UdpCounters::peerUp}}};

} // namespace openipoib::fabric
