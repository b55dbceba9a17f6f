// SPDX-License-Identifier: GPL-2.0-only OR MIT
// An input of the kernel's fuzz targets: records of eight octets, of which the first
// says what to do. A record can be taken out, moved or copied, and what is left is still
// an input: mutation and minimising live on that.
#pragma once

#include "io/bytes.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace openipoib::kfuzz
{

inline constexpr std::size_t recordSize = 8;

struct Record {
    std::array<std::uint8_t, recordSize> octets{};

    [[nodiscard]] unsigned operator[](std::size_t i) const { return octets[i]; }
    // Two octets as a number, for what one has no room for.
    [[nodiscard]] std::uint16_t half(std::size_t i) const
    {
        return static_cast<std::uint16_t>(octets[i] << 8 | octets[i + 1]);
    }
    // The low bits of an octet pick one of a table.
    template <typename T, std::size_t N>
    [[nodiscard]] T pick(std::size_t i, const T (&table)[N]) const
    {
        return table[octets[i] % N];
    }
};

using Records = std::span<const Record>;

// The last one is filled up with zeros.
[[nodiscard]] std::vector<Record> recordsOf(io::View input);

// The octets of records as they stand, for what is to be raw.
[[nodiscard]] inline io::View octetsOf(Records records)
{
    return records.empty() ? io::View{}
                           : io::View{records.front().octets.data(), records.size() * recordSize};
}

// Change an input in place, mostly by whole records; returns its new size.
// kinds: how many different first octets have a meaning
[[nodiscard]] std::size_t mutate(std::uint8_t *data, std::size_t size, std::size_t most,
                                 unsigned seed, unsigned kinds);

} // namespace openipoib::kfuzz
