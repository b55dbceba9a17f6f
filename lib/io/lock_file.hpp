// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A file whose lock says that its owner is at work.
#pragma once

#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <sys/types.h>

#include <string>

namespace openipoib::io
{

enum class IfLocked { wait, refuse };

// The lock on a file that is made if need be; gone with what is returned. The file then says
// whose it is. Errors: EBUSY if another process has it and ifLocked is refuse, those of open
// and flock.
[[nodiscard]] Result<UniqueFd> lockFile(const std::string &path, IfLocked ifLocked);

// Whether that process has the lock.
[[nodiscard]] bool isLockedBy(const std::string &path, pid_t process);

} // namespace openipoib::io
