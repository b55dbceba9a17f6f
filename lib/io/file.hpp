// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Small files at once: configuration, sysfs, procfs.
#pragma once

#include "io/error.hpp"

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace openipoib::io
{

// The whole content. Errors: EFBIG beyond limit bytes, those of open and read.
[[nodiscard]] Result<std::string> readFile(const std::string &path, std::size_t limit = 1 << 20);

// The content without blanks and newlines at its end; "" when it cannot be read.
[[nodiscard]] std::string readLine(const std::string &path);

// Write to an existing file (of sysfs or procfs) in one call. A partial write is
// an error.
[[nodiscard]] Result<void> writeFile(const std::string &path, std::string_view text);

// Make or replace a file: there is the old text or the new one at any moment, and all of it.
// @mode: who reads it, by default its owner alone; whatever the umask. The folder may belong to
// somebody who is not trusted.
[[nodiscard]] Result<void> replaceFile(const std::string &path, std::string_view text,
                                       mode_t mode = 0600);

// The names in a folder, sorted, without "." and ".."; none when there is none.
[[nodiscard]] std::vector<std::string> folder(const std::string &path);

} // namespace openipoib::io
