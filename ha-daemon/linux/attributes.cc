// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/attributes.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace openipoib::ha
{

void putAttribute(io::Bytes &out, int type, io::View value)
{
    nlattr header{};
    header.nla_type = static_cast<std::uint16_t>(type);
    header.nla_len = static_cast<std::uint16_t>(NLA_HDRLEN + value.size());
    const auto *start = reinterpret_cast<const std::uint8_t *>(&header);
    out.insert(out.end(), start, start + sizeof header);
    out.insert(out.end(), value.begin(), value.end());
    out.resize(NLA_ALIGN(out.size()));
}

void putAttribute(io::Bytes &out, int type, std::string_view text)
{
    io::Bytes value(text.begin(), text.end());
    value.push_back(0);
    putAttribute(out, type, io::View(value));
}

void putAttribute(io::Bytes &out, int type, std::uint32_t value)
{
    putAttribute(out, type, io::View(reinterpret_cast<const std::uint8_t *>(&value), sizeof value));
}

std::uint32_t numberIn(io::View value)
{
    std::uint32_t number = 0;
    if (value.size() >= sizeof number)
        std::memcpy(&number, value.data(), sizeof number);
    return number;
}

std::string textIn(io::View value)
{
    const auto end = std::ranges::find(value, 0);
    return {value.begin(), end};
}

std::string addressText(int family, io::View bytes)
{
    std::array<char, INET6_ADDRSTRLEN> out{};
    const std::size_t length = family == AF_INET ? 4 : 16;
    if (bytes.size() != length || !::inet_ntop(family, bytes.data(), out.data(), out.size()))
        return "?";
    return out.data();
}

} // namespace openipoib::ha
