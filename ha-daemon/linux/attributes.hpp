// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Netlink attributes as bytes: taken apart, left out, put together again.
#pragma once

#include "io/bytes.hpp"
#include "netlink/attributes.hpp"

#include <linux/netlink.h>

#include <cstring>
#include <string>
#include <string_view>

namespace openipoib::ha
{

using netlink::eachAttribute;

void putAttribute(io::Bytes &out, int type, io::View value);
void putAttribute(io::Bytes &out, int type, std::string_view text); // with a NUL behind it
void putAttribute(io::Bytes &out, int type, std::uint32_t value);

// The fixed part of a message or body; false: it is too short.
template <typename T> [[nodiscard]] bool fixedPart(io::View bytes, T &out)
{
    if (bytes.size() < sizeof out)
        return false;
    std::memcpy(&out, bytes.data(), sizeof out);
    return true;
}
template <typename T> void putFixed(io::Bytes &out, const T &fixed)
{
    const auto *start = reinterpret_cast<const std::uint8_t *>(&fixed);
    out.assign(start, start + sizeof fixed);
    out.resize(NLMSG_ALIGN(out.size()));
}
// What follows the fixed part
template <typename T> [[nodiscard]] io::View attributesOf(io::View bytes)
{
    constexpr std::size_t fixed = NLMSG_ALIGN(sizeof(T));
    return bytes.size() > fixed ? bytes.subspan(fixed) : io::View{};
}

[[nodiscard]] std::uint32_t numberIn(io::View value);
[[nodiscard]] std::string textIn(io::View value);
// "?" if it is none. @family: AF_*
[[nodiscard]] std::string addressText(int family, io::View bytes);

} // namespace openipoib::ha
