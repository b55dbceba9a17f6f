// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Who else sets up an interface. Such managers say so in files of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace openipoib::netlink
{

// Whether the text of NetworkManager's file of a device says that it is managed.
[[nodiscard]] bool isNetworkManagers(std::string_view text);

// Whether the text of systemd-networkd's file of a link says that it sets it up.
[[nodiscard]] bool isNetworkds(std::string_view text);

// "NetworkManager", "systemd-networkd": those that say that they have this interface.
// @run: where programs keep their state, /run
[[nodiscard]] std::vector<std::string> managersOf(const std::string &run, int index);

} // namespace openipoib::netlink
