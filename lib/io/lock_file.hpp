// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A file whose lock says that its owner is at work.
#pragma once

#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <string>

namespace openipoib::io
{

enum class IfLocked { wait, refuse };

// The lock on a file that is made if need be; gone with what is returned. Errors:
// EBUSY if another process has it and ifLocked is refuse, those of open and flock.
[[nodiscard]] Result<UniqueFd> lockFile(const std::string &path, IfLocked ifLocked);

} // namespace openipoib::io
