// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Big-endian reads and writes in byte sequences; everything on an InfiniBand
// wire is big-endian. Writers append, readers take a span that the caller has
// already checked to be long enough.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace openipoib::io
{

using Bytes = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

// Append the low N bytes of value, most significant first.
template <std::size_t N> void append(Bytes &out, std::uint64_t value)
{
    static_assert(N >= 1 && N <= 8);
    for (std::size_t i = N; i-- > 0;)
        out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

inline void append(Bytes &out, View bytes)
{
    out.insert(out.end(), bytes.begin(), bytes.end());
}

// Read N bytes at offset, most significant first.
template <std::size_t N> [[nodiscard]] std::uint64_t read(View in, std::size_t offset)
{
    static_assert(N >= 1 && N <= 8);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < N; ++i)
        value = value << 8 | in[offset + i];
    return value;
}

// The bits [low, low + width) of value, for header fields that share a word.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T bits(std::uint64_t value, unsigned low, unsigned width)
{
    return static_cast<T>(value >> low & ((std::uint64_t{1} << width) - 1));
}

} // namespace openipoib::io
