// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A process that has little to do, but that at once.
#pragma once

#include "io/error.hpp"

namespace openipoib::ha
{

// From now on this process runs before all that is not of the real-time classes, and
// its memory is never fetched from a disk, nor allocated by the kernel again. Errors:
// EPERM.
[[nodiscard]] io::Result<void> hurry();

// As long as one lives, this process gives way like any other: for what takes long and
// nobody waits for.
class Leisure
{
  public:
    Leisure();
    Leisure(const Leisure &) = delete;
    Leisure &operator=(const Leisure &) = delete;
    ~Leisure();

  private:
    bool hurried_ = false;
};

} // namespace openipoib::ha
