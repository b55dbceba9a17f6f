// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The link header of docs/sib-link.md, first in every frame on a cable.
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <expected>

namespace openipoib::link
{

inline constexpr std::uint16_t ethertype = 0x88B5;
inline constexpr std::uint8_t version = 1;

enum class FrameType : std::uint8_t { hello = 1, data = 2, ack = 3 };

// Why a frame is not one of the link protocol.
enum class FrameFault : std::uint8_t { version, length, check };

inline constexpr std::uint8_t flagAckRequest = 0x01;

struct Header {
    static constexpr std::size_t size = 28;

    std::uint8_t version = link::version;
    FrameType type = FrameType::data;
    std::uint16_t length = 0; // header and payload, set by frame()
    std::uint8_t flags = 0;
    std::uint8_t count = 0;    // InfiniBand packets in a DATA frame
    std::uint32_t session = 0; // the sender's
    std::uint32_t peer = 0;    // the receiver's as the sender knows it
    std::uint32_t seq = 0;     // DATA: of this frame; others: of the next DATA frame
    std::uint32_t ack = 0;     // of the next DATA frame expected
    std::uint16_t gap = 0;     // ACK: frames missing from ack on
    std::uint16_t window = 0;  // DATA frames taken from ack on

    // Whole link frame: this header with its length and check worked out, then
    // the payload.
    [[nodiscard]] io::Bytes frame(io::View payload) const;

    // As frame(), with this length field instead of the right one; the check
    // covers all bytes there are.
    [[nodiscard]] io::Bytes frameWithLength(io::View payload, std::uint16_t length) const;

    // Header of a received frame; trailing bytes beyond its length (Ethernet
    // padding) are allowed.
    [[nodiscard]] static std::expected<Header, FrameFault> parse(io::View frame);

    bool operator==(const Header &) const = default;
};

// The Internet checksum (RFC 1071) of bytes; 0 over a frame with a right check.
[[nodiscard]] std::uint16_t checksum(io::View bytes);

} // namespace openipoib::link
