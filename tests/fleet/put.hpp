// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A field of a MAD that is there already.
#pragma once

#include "io/bytes.hpp"

#include <algorithm>

namespace openipoib::fleet
{

// Write the lowest N bytes of a value, most significant first.
template <std::size_t N> void put(io::Bytes &mad, std::size_t at, std::uint64_t value)
{
    io::Bytes field;
    io::append<N>(field, value);
    std::ranges::copy(field, mad.begin() + static_cast<std::ptrdiff_t>(at));
}

} // namespace openipoib::fleet
