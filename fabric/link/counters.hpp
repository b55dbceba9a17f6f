// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a station counts; the names are those of docs/sib-link.md, section 7.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace openipoib::fabric
{

struct LinkCounters {
    std::uint64_t txData = 0, rxData = 0;
    std::uint64_t txAck = 0, rxAck = 0;
    std::uint64_t txHello = 0, rxHello = 0;
    std::uint64_t retransmit = 0, rto = 0;
    std::uint64_t gapSent = 0, gapRcvd = 0;
    std::uint64_t rxDup = 0, rxReorder = 0;
    std::uint64_t rxWindow = 0, rxOverrun = 0; // what cannot be; more than was allowed
    std::uint64_t rxVersion = 0, rxType = 0, rxLength = 0, rxCheck = 0;
    std::uint64_t rxSession = 0, rxForeign = 0, rxLoop = 0;
    std::uint64_t rxMalformed = 0; // packets in frames that do not add up
    std::uint64_t up = 0, down = 0;
    std::uint64_t timeout = 0, restart = 0, stall = 0;
    // Packets of a frame of which others had been taken when the link went down; what the port
    // has lost, so it is not shown here.
    std::uint64_t rxLost = 0;
};

inline constexpr std::array<std::pair<std::string_view, std::uint64_t LinkCounters::*>, 27>
    linkCounterNames{{{"link_tx_data", &LinkCounters::txData},
                      {"link_rx_data", &LinkCounters::rxData},
                      {"link_tx_ack", &LinkCounters::txAck},
                      {"link_rx_ack", &LinkCounters::rxAck},
                      {"link_tx_hello", &LinkCounters::txHello},
                      {"link_rx_hello", &LinkCounters::rxHello},
                      {"link_retransmit", &LinkCounters::retransmit},
                      {"link_rto", &LinkCounters::rto},
                      {"link_gap_sent", &LinkCounters::gapSent},
                      {"link_gap_rcvd", &LinkCounters::gapRcvd},
                      {"link_rx_dup", &LinkCounters::rxDup},
                      {"link_rx_reorder", &LinkCounters::rxReorder},
                      {"link_rx_window", &LinkCounters::rxWindow},
                      {"link_rx_overrun", &LinkCounters::rxOverrun},
                      {"link_rx_version", &LinkCounters::rxVersion},
                      {"link_rx_type", &LinkCounters::rxType},
                      {"link_rx_length", &LinkCounters::rxLength},
                      {"link_rx_check", &LinkCounters::rxCheck},
                      {"link_rx_session", &LinkCounters::rxSession},
                      {"link_rx_foreign", &LinkCounters::rxForeign},
                      {"link_rx_loop", &LinkCounters::rxLoop},
                      {"rx_malformed", &LinkCounters::rxMalformed},
                      {"link_up", &LinkCounters::up},
                      {"link_down", &LinkCounters::down},
                      {"link_timeout", &LinkCounters::timeout},
                      {"link_restart", &LinkCounters::restart},
                      {"link_stall", &LinkCounters::stall}}};

} // namespace openipoib::fabric
