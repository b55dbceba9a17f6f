// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The folder below /run that one daemon has for itself: its lock, its journals,
// its control socket.
#pragma once

#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <string>

namespace openipoib::ha
{

class RunFolder
{
  public:
    // Make it and take its lock. Errors: EBUSY when another daemon has it.
    [[nodiscard]] static io::Result<RunFolder> take(const std::string &path);

    // Written beside and put in place at once.
    [[nodiscard]] io::Result<void> write(const std::string &name, const std::string &text) const;
    // Errors: ENOENT.
    [[nodiscard]] io::Result<std::string> read(const std::string &name) const;

  private:
    RunFolder(std::string path, io::UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock))
    {
    }

    std::string path_;
    io::UniqueFd lock_;
};

} // namespace openipoib::ha
