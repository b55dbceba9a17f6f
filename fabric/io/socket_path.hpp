// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The path that a Unix socket of this process has. What a process that is gone has left there
// is replaced, and nothing else is; the file goes when this does, unless it is another one by
// then. It must go before the socket is closed: others leave it alone for so long.
#pragma once

#include "io/error.hpp"

#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>

namespace openipoib::fabric
{

class SocketPath
{
  public:
    // Bind a socket, and have it listen if there is a backlog. One process does so at a time,
    // by a lock on the folder, for which it waits a second. Errors: EADDRINUSE if one is there
    // that has an owner, ENOTSOCK if something else is there, ENAMETOOLONG, EWOULDBLOCK if
    // another process keeps the folder locked, and those of open(2) for it.
    [[nodiscard]] static io::Result<SocketPath> bind(int fd, const std::string &path,
                                                     std::optional<int> backlog = std::nullopt);
    ~SocketPath();
    SocketPath(const SocketPath &) = delete;
    SocketPath &operator=(const SocketPath &) = delete;
    SocketPath(SocketPath &&other) noexcept
        : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_)
    {
    }
    SocketPath &operator=(SocketPath &&) = delete;

  private:
    explicit SocketPath(std::string path);

    std::string path_; // empty: none
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

} // namespace openipoib::fabric
