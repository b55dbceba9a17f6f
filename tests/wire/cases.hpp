// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What ib-frames can send: each case by name, with the counter that the
// receiver must count it in.
#pragma once

#include "ib/gid.hpp"
#include "ib/ipoib.hpp"
#include "ib/packet_builder.hpp"
#include "io/packet_socket.hpp"
#include "link/header.hpp"

#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace openipoib::wire
{

// Whom the packets go to, from whom, with what keys.
struct Target {
    ib::HardwareAddress address; // the peer's IPoIB interface
    std::uint16_t lid = 0;
    std::uint16_t ownLid = 0;
    std::uint32_t qkey = 0;
    ib::Gid ownGid{};
    link::Header link; // next header of the link, both sessions known
    std::uint32_t peerSession = 0;
};

// One thing to send.
struct Shot {
    enum class Level : std::uint8_t {
        packet,   // a packet within the link's sequence
        frame,    // a link frame outside it
        stranger, // a link frame from another station
    };
    Level level = Level::packet;
    io::Bytes bytes;
    std::uint8_t count = 1; // packets announced in the DATA frame
};

struct Case {
    std::string_view name;
    std::string_view what;
    // hw_counters of the receiver that grow: one, by the number sent; several,
    // separated by spaces: together by at least that; none: it gets to ib0.
    std::string_view counters;
    // Statistics of its ib0 that grow by the number sent, separated by spaces.
    std::string_view ib0;
    std::uint32_t defaultCount;
    Shot (*make)(const Target &, std::mt19937_64 &, std::uint32_t number);
};

// All cases, in the order of the layers.
[[nodiscard]] std::span<const Case> allCases();

// A right packet to the peer's IPoIB interface, with this payload.
[[nodiscard]] ib::PacketBuilder unicast(const Target &target);

} // namespace openipoib::wire
