// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "link/header.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace openipoib::link
{

namespace
{

constexpr std::size_t checkOffset = 4;

} // namespace

std::uint16_t checksum(io::View bytes)
{
    // In words of the machine's own byte order, which turns the sum's octets and no more
    // (RFC 1071, section 2).
    std::uint64_t sum = 0;
    for (; bytes.size() >= sizeof(std::uint32_t); bytes = bytes.subspan(sizeof(std::uint32_t))) {
        std::uint32_t word = 0;
        std::memcpy(&word, bytes.data(), sizeof word);
        sum += word;
    }
    std::uint32_t last = 0;
    std::ranges::copy(bytes, reinterpret_cast<std::uint8_t *>(&last));
    sum += last;
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    const auto own = static_cast<std::uint16_t>(~sum);
    return std::endian::native == std::endian::little ? std::byteswap(own) : own;
}

io::Bytes Header::frameWithLength(io::View payload, std::uint16_t length) const
{
    io::Bytes out;
    out.reserve(size + payload.size());
    io::append<1>(out, version);
    io::append<1>(out, static_cast<std::uint8_t>(type));
    io::append<2>(out, length);
    io::append<2>(out, 0);
    io::append<1>(out, flags);
    io::append<1>(out, count);
    io::append<4>(out, session);
    io::append<4>(out, peer);
    io::append<4>(out, seq);
    io::append<4>(out, ack);
    io::append<2>(out, gap);
    io::append<2>(out, window);
    io::append(out, payload);
    const std::uint16_t check = checksum(out);
    out[checkOffset] = static_cast<std::uint8_t>(check >> 8);
    out[checkOffset + 1] = static_cast<std::uint8_t>(check);
    return out;
}

io::Bytes Header::frame(io::View payload) const
{
    return frameWithLength(payload, static_cast<std::uint16_t>(size + payload.size()));
}

std::expected<Header, FrameFault> Header::parse(io::View frame)
{
    if (frame.size() < size)
        return std::unexpected(FrameFault::length);
    if (frame[0] != link::version)
        return std::unexpected(FrameFault::version);
    const auto length = static_cast<std::uint16_t>(io::read<2>(frame, 2));
    if (length < size || length > frame.size())
        return std::unexpected(FrameFault::length);
    if (checksum(frame.first(length)) != 0)
        return std::unexpected(FrameFault::check);
    return Header{.version = frame[0],
                  .type = static_cast<FrameType>(frame[1]),
                  .length = length,
                  .flags = frame[6],
                  .count = frame[7],
                  .session = static_cast<std::uint32_t>(io::read<4>(frame, 8)),
                  .peer = static_cast<std::uint32_t>(io::read<4>(frame, 12)),
                  .seq = static_cast<std::uint32_t>(io::read<4>(frame, 16)),
                  .ack = static_cast<std::uint32_t>(io::read<4>(frame, 20)),
                  .gap = static_cast<std::uint16_t>(io::read<2>(frame, 24)),
                  .window = static_cast<std::uint16_t>(io::read<2>(frame, 26))};
}

} // namespace openipoib::link
