// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/ipoib_link.hpp"

#include "ib/ipoib_mode.hpp"
#include "io/file.hpp"

#include <algorithm>
#include <charconv>

namespace openipoib::netlink
{

namespace
{

std::optional<std::uint16_t> pkeyOf(const std::string &folder, const Link &link)
{
    const std::string text = io::readLine(folder + "pkey");
    const char *end = text.data() + text.size();
    std::uint16_t pkey = 0;
    if (text.starts_with("0x") && std::from_chars(text.data() + 2, end, pkey, 16).ec == std::errc{})
        return pkey;
    return link.ipoib && link.ipoib->pkey ? std::optional(link.ipoib->pkey) : std::nullopt;
}

} // namespace

IpoibLink readIpoibLink(const std::string &sys, const Link &link, std::span<const Link> all)
{
    const std::string folder = sys + "/class/net/" + link.name + "/";
    IpoibLink out;
    out.pkey = pkeyOf(folder, link);
    out.connected = ib::isConnected(sys, link.name);
    if (const std::string umcast = io::readLine(folder + "umcast"); !umcast.empty())
        out.umcast = umcast == "1";
    out.parent = io::readLine(folder + "parent");
    const auto parent = std::ranges::find(all, link.parent, &Link::index);
    if (out.parent.empty() && link.parent && parent != all.end())
        out.parent = parent->name;
    return out;
}

std::string childName(const std::string &parent, std::uint16_t pkey)
{
    static constexpr auto digits = "0123456789abcdef";
    std::string name = parent + ".";
    for (int shift = 12; shift >= 0; shift -= 4)
        name += digits[pkey >> shift & 0xF];
    return name;
}

} // namespace openipoib::netlink
