// SPDX-License-Identifier: GPL-2.0-only OR MIT
// An InfiniBand packet inside the fabric, and where in it things are.
#pragma once

#include "ib/bth.hpp"
#include "ib/deth.hpp"
#include "ib/grh.hpp"
#include "ib/icrc.hpp"
#include "ib/lrh.hpp"
#include "ib/mad.hpp"
#include "io/bytes.hpp"

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>

namespace openipoib::fabric
{

// VLs 0 to 7 carry data, VL 15 the SM's MADs.
inline constexpr std::uint8_t vl0 = 0;
inline constexpr std::uint8_t vl15 = 15;
inline constexpr std::uint8_t dataLanes = 8;
inline constexpr std::uint8_t dataLanesCode = 4; // as PortInfo has it

using Lanes = std::bitset<16>; // a bit for each VL
inline constexpr Lanes allLanes{0xFFFF};

struct Packet {
    io::Bytes bytes;          // LRH to ICRC
    std::uint8_t hops = 0;    // switches it has passed
    bool isCorrupted = false; // its VCRC, if it had one, would be wrong

    // Of at least an LRH.
    [[nodiscard]] std::uint8_t vl() const { return bytes[0] >> 4; }
    void setVl(std::uint8_t vl)
    {
        bytes[0] = static_cast<std::uint8_t>(vl << 4 | (bytes[0] & 0xF));
    }
};

// What a switch reads of a packet.
struct PacketHeaders {
    ib::Lrh lrh;
    bool isRaw = false;      // no IBA transport
    std::size_t bthAt = 0;   // offsets; 0 in a raw packet
    std::uint16_t pkey = 0;  //
    std::uint32_t qpn = 0;   // destination
    std::size_t payload = 0; // bytes between the BTH and the ICRC

    [[nodiscard]] bool isMulticast() const
    {
        return lrh.dlid >= ib::firstMulticastLid && lrh.dlid != ib::permissiveLid;
    }

    // nullopt if lengths or versions are not right.
    [[nodiscard]] static std::optional<PacketHeaders> parse(io::View packet)
    {
        const auto lrh = ib::Lrh::parse(packet);
        if (!lrh || lrh->linkVersion != 0 || packet.size() != std::size_t{lrh->words} * 4)
            return std::nullopt;
        PacketHeaders headers{.lrh = *lrh};
        if (lrh->next == ib::LinkNext::raw || lrh->next == ib::LinkNext::rawIpv6) {
            headers.isRaw = true;
            headers.payload = packet.size() - ib::Lrh::size;
            return headers;
        }
        headers.bthAt = ib::Lrh::size + (lrh->next == ib::LinkNext::grh ? ib::Grh::size : 0);
        const std::size_t least = headers.bthAt + ib::Bth::size + ib::icrcSize;
        if (packet.size() < least)
            return std::nullopt;
        const auto bth = ib::Bth::parse(packet.subspan(headers.bthAt));
        headers.pkey = bth->pkey;
        headers.qpn = bth->qpn;
        headers.payload = packet.size() - least;
        return headers;
    }

    // The MAD of a UD packet that has one.
    [[nodiscard]] std::optional<std::span<std::uint8_t>> mad(io::Bytes &packet) const
    {
        const std::size_t at = bthAt + ib::Bth::size + ib::Deth::size;
        if (isRaw || packet[bthAt] != static_cast<std::uint8_t>(ib::Opcode::udSendOnly) ||
            packet.size() != at + ib::Mad::size + ib::icrcSize)
            return std::nullopt;
        return std::span(packet).subspan(at, ib::Mad::size);
    }
};

} // namespace openipoib::fabric
