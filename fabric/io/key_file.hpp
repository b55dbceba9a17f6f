// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The key that the ends of `udp:` cables share: 64 hexadecimal digits in a file that nobody
// but its owner may read, as `openssl rand -hex 32` prints them.
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"

#include <string>

namespace openipoib::fabric
{

inline constexpr std::size_t keySize = 32;

// Errors: EACCES for a file that others may read or write, or that is somebody else's, EINVAL
// for one without a key, and those of the system.
[[nodiscard]] io::Result<io::Bytes> readKey(const std::string &file);

} // namespace openipoib::fabric
