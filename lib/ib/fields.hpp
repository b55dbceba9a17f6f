// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Fields of MADs and their attributes, by libibmad's tables. The bytes given are a whole attribute
// or MAD; the field's position in it is libibmad's. Who includes this links libibmad.
#pragma once

#include "io/bytes.hpp"

#include <infiniband/mad.h>

#include <cstdint>
#include <span>

namespace openipoib::ib
{

[[nodiscard]] inline std::uint32_t getField(io::View data, MAD_FIELDS field)
{
    return mad_get_field(const_cast<std::uint8_t *>(data.data()), 0, field);
}

[[nodiscard]] inline std::uint64_t getField64(io::View data, MAD_FIELDS field)
{
    return mad_get_field64(const_cast<std::uint8_t *>(data.data()), 0, field);
}

inline void setField(std::span<std::uint8_t> data, MAD_FIELDS field, std::uint32_t value)
{
    mad_set_field(data.data(), 0, field, value);
}

inline void setField64(std::span<std::uint8_t> data, MAD_FIELDS field, std::uint64_t value)
{
    mad_set_field64(data.data(), 0, field, value);
}

} // namespace openipoib::ib
