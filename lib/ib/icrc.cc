// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/icrc.hpp"

#include "ib/bth.hpp"
#include "ib/grh.hpp"
#include "ib/lrh.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace openipoib::ib
{

namespace
{

constexpr std::uint32_t reflectedPolynomial = 0xEDB8'8320;

constexpr std::array<std::uint32_t, 256> makeTable()
{
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ ((crc & 1) != 0 ? reflectedPolynomial : 0);
        table[i] = crc;
    }
    return table;
}

constexpr auto table = makeTable();

// The bits of byte `at` that count as ones.
std::uint8_t mask(std::size_t at, bool global)
{
    if (!global)
        return at == 0 ? 0xF0 : at == Lrh::size + 4 ? 0xFF : 0;
    if (at < Lrh::size)
        return 0xFF; // the whole LRH
    switch (at - Lrh::size) {
    case 0:
        return 0x0F; // traffic class, high half
    case 1:
    case 2:
    case 3: // traffic class, low half, and flow label
    case 7: // hop limit
    case Grh::size + 4:
        return 0xFF; // resv8a of the BTH
    default:
        return 0;
    }
}

} // namespace

std::uint32_t icrc(io::View packet)
{
    const bool global = packet.size() > 1 && (packet[1] & 3) == static_cast<int>(LinkNext::grh);
    std::uint32_t crc = 0xFFFF'FFFF;
    for (std::size_t i = 0; i < packet.size(); ++i) {
        const std::uint32_t byte = packet[i] | mask(i, global);
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF];
    }
    crc = ~crc;
    // The CRC register leaves least significant byte first.
    return crc >> 24 | (crc >> 8 & 0xFF00) | (crc << 8 & 0xFF'0000) | crc << 24;
}

} // namespace openipoib::ib
