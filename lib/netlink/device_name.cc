// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/device_name.hpp"

#include <net/if.h>

#include <algorithm>

namespace openipoib::netlink
{

bool isDeviceName(std::string_view name)
{
    if (name.empty() || name.size() >= IFNAMSIZ || name == "." || name == "..")
        return false;
    return std::ranges::all_of(
        name, [](char c) { return c > ' ' && c < 0x7F && c != '/' && c != ':' && c != '%'; });
}

} // namespace openipoib::netlink
