// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The path that a Unix socket of this process has. What a process that is gone has left there
// is replaced, and nothing else is; the file goes when this does, unless it is another one by
// then.
#pragma once

#include "io/error.hpp"

#include <sys/stat.h>

#include <string>
#include <utility>

namespace openipoib::fabric
{

class SocketPath
{
  public:
    // Bind a socket. Errors: EADDRINUSE if one is there that has an owner, ENOTSOCK if
    // something else is there, ENAMETOOLONG.
    [[nodiscard]] static io::Result<SocketPath> bind(int fd, const std::string &path);
    // The same for one that is to listen. Whoever finds it there finds it listening.
    [[nodiscard]] static io::Result<SocketPath> listen(int fd, const std::string &path,
                                                       int backlog);
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
