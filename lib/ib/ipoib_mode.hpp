// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Datagram and connected mode of an IPoIB interface, in sysfs.
#pragma once

#include "io/error.hpp"

#include <optional>
#include <string>

namespace openipoib::ib
{

// sys: "/sys", or another folder for tests. nullopt: the driver has no modes.
[[nodiscard]] std::optional<bool> isConnected(const std::string &sys, const std::string &interface);

// mode: "connected" or "datagram". Errors: EOPNOTSUPP when the driver has
// accepted it and not done it, else what the driver says.
[[nodiscard]] io::Result<void> setMode(const std::string &sys, const std::string &interface,
                                       const std::string &mode);

} // namespace openipoib::ib
