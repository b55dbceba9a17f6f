// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Names of network interfaces.
#pragma once

#include <string_view>

namespace openipoib::netlink
{

// Whether an interface can have this name: 1 to 15 printable characters of ASCII without
// blanks, '/', ':' and '%', and neither "." nor "..". The kernel (dev_valid_name()) takes
// further characters, which would not be safe in paths and logs, and makes a number of '%d'.
[[nodiscard]] bool isDeviceName(std::string_view name);

} // namespace openipoib::netlink
