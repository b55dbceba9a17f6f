// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The capture file format of libpcap, with nanoseconds, in big endian. Packets are in
// ERF records of type InfiniBand: tshark reads those (and no LINKTYPE_INFINIBAND, as
// of 4.0). They go from the LRH to the VCRC, which cables of sib do not carry: it is
// zero.
#pragma once

#include "io/bytes.hpp"

#include <chrono>
#include <cstdint>

namespace openipoib::fabric
{

inline constexpr std::size_t pcapHeaderSize = 24;
// What a packet takes beside itself: header of the record, ERF header, VCRC.
inline constexpr std::size_t pcapRecordHeaderSize = 16;
inline constexpr std::size_t erfHeaderSize = 16;
inline constexpr std::size_t vcrcSize = 2;
inline constexpr std::size_t pcapOverhead = pcapRecordHeaderSize + erfHeaderSize + vcrcSize;

inline void appendPcapHeader(io::Bytes &out)
{
    constexpr std::uint32_t magic = 0xA1B2'3C4D;
    constexpr std::uint32_t mostBytes = 65536; // of a packet
    constexpr std::uint32_t linktypeErf = 197;
    io::append<4>(out, magic);
    io::append<2>(out, 2); // version 2.4
    io::append<2>(out, 4);
    io::append<8>(out, 0); // time zone and accuracy, never used
    io::append<4>(out, mostBytes);
    io::append<4>(out, linktypeErf);
}

// time: since 1970.
inline void appendPcapRecord(io::Bytes &out, std::chrono::nanoseconds time, io::View packet)
{
    constexpr std::uint8_t typeInfiniband = 21;
    constexpr std::uint8_t flagVaryingLength = 0x04;
    constexpr std::uint64_t nanosecondsPerSecond = 1'000'000'000;
    const auto seconds =
        static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(time).count());
    const auto rest = static_cast<std::uint64_t>(time.count()) - seconds * nanosecondsPerSecond;
    const std::size_t size = packet.size() + vcrcSize;
    io::append<4>(out, seconds);
    io::append<4>(out, rest);
    io::append<4>(out, erfHeaderSize + size); // as stored
    io::append<4>(out, erfHeaderSize + size); // as it was
    const std::uint64_t stamp = seconds << 32 | (rest << 32) / nanosecondsPerSecond;
    for (unsigned shift = 0; shift < 64; shift += 8) // the one little-endian field
        out.push_back(static_cast<std::uint8_t>(stamp >> shift));
    io::append<1>(out, typeInfiniband);
    io::append<1>(out, flagVaryingLength);
    io::append<2>(out, erfHeaderSize + size);
    io::append<2>(out, 0); // packets lost: not told here
    io::append<2>(out, size);
    io::append(out, packet);
    io::append<2>(out, 0);
}

} // namespace openipoib::fabric
