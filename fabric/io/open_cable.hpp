// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A cable of any kind, by its description.
#pragma once

#include "io/error.hpp"
#include "io/fd_cable.hpp"

#include <memory>
#include <string_view>

namespace openipoib::fabric
{

// key: of `udp:` cables; empty if there is none. Errors: EINVAL for a description that is
// none, and those of the system.
[[nodiscard]] io::Result<std::unique_ptr<FdCable>>
openCable(std::string_view description, io::View key, const FdCable::Random &random);

} // namespace openipoib::fabric
