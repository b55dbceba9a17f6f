// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "udp/datagram.hpp"

namespace openipoib::fabric
{

std::expected<Datagram, DatagramFault> Datagram::parse(io::View bytes, const Mac &mac)
{
    if (bytes.size() < overhead)
        return std::unexpected(DatagramFault::length);
    if (bytes[0] != version)
        return std::unexpected(DatagramFault::version);
    const io::View signedPart = bytes.first(bytes.size() - codeSize);
    if (!mac.agrees(signedPart, bytes.last(codeSize)))
        return std::unexpected(DatagramFault::code);
    Datagram result{.count = bytes[1],
                    .index = bytes[2],
                    .from = io::read<8>(bytes, 4),
                    .to = io::read<8>(bytes, 12),
                    .seq = io::read<8>(bytes, 20),
                    .payload = signedPart.subspan(headerSize)};
    const bool isWhole = result.count == 0 ? result.index == 0 && result.payload.empty()
                                           : result.index < result.count && !result.payload.empty();
    if (!isWhole || result.from == 0 || result.seq < result.index)
        return std::unexpected(DatagramFault::length);
    return result;
}

io::Bytes Datagram::bytes(const Mac &mac) const
{
    io::Bytes result{version, count, index, 0};
    result.reserve(overhead + payload.size());
    io::append<8>(result, from);
    io::append<8>(result, to);
    io::append<8>(result, seq);
    io::append(result, payload);
    const Mac::Code code = mac.of(result);
    io::append(result, io::View(code).first(codeSize));
    return result;
}

} // namespace openipoib::fabric
