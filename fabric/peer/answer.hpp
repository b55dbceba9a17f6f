// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What an emulated peer answers to an IPoIB datagram, without InfiniBand headers.
#pragma once

#include "ib/gid.hpp"
#include "io/bytes.hpp"
#include "peer/addresses.hpp"
#include "peer/counters.hpp"

#include <cstdint>
#include <expected>
#include <optional>

namespace openipoib::fabric
{

struct PeerQuestion {
    io::View packet;                  // behind the IPoIB header
    std::optional<std::uint32_t> qpn; // that it was sent to; nullopt: to a multicast group
    const Addresses &addresses;
    ib::Gid gid; // of the port

    // Whether it may ask for an address that has this queue pair.
    [[nodiscard]] bool isFor(std::uint32_t wanted) const { return !qpn || *qpn == wanted; }
};

struct PeerReply {
    PeerAnswered what = PeerAnswered::arp;
    std::uint32_t qpn = 0; // of the address that answers
    bool isToAll = false;  // who has asked has no address yet: to all nodes
    io::Bytes packet;
};

using PeerAnswer = std::expected<PeerReply, PeerDrop>;

// RFC 4391, section 9.1.
[[nodiscard]] PeerAnswer answerArp(const PeerQuestion &question);
// RFC 792: echo.
[[nodiscard]] PeerAnswer answerIpv4(const PeerQuestion &question);
// RFC 4443: echo; RFC 4861 and 4391, section 9.3: neighbour solicitations.
[[nodiscard]] PeerAnswer answerIpv6(const PeerQuestion &question);

} // namespace openipoib::fabric
