// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/socket_path.hpp"

#include "io/unique_fd.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

io::Result<sockaddr_un> addressOf(const std::string &path)
{
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof address.sun_path)
        return io::fail(ENAMETOOLONG, path);
    std::ranges::copy(path, address.sun_path);
    return address;
}

int typeOf(int fd)
{
    int type = SOCK_STREAM;
    socklen_t size = sizeof type;
    ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
    return type;
}

// Remove a socket of this type that has no owner any more. What is no socket refuses
// connections just so.
io::Result<void> removeStale(const std::string &path, int type)
{
    struct stat found = {};
    struct stat later = {};
    if (::lstat(path.c_str(), &found) < 0)
        return errno == ENOENT ? io::Result<void>{} : io::systemFail(path);
    if (!S_ISSOCK(found.st_mode))
        return io::fail(ENOTSOCK, path);
    const auto address = addressOf(path);
    if (!address)
        return std::unexpected(address.error());
    const io::UniqueFd probe(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe)
        return io::systemFail(path);
    const bool isRefused = ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&*address),
                                     sizeof *address) < 0 &&
                           (errno == ECONNREFUSED || errno == ENOENT);
    if (!isRefused)
        return io::fail(EADDRINUSE, path);
    // Not one that another process has put there meanwhile.
    if (::lstat(path.c_str(), &later) == 0 && later.st_dev == found.st_dev &&
        later.st_ino == found.st_ino)
        ::unlink(path.c_str());
    return {};
}

io::Result<void> bindTo(int fd, const std::string &path)
{
    const auto address = addressOf(path);
    if (!address)
        return std::unexpected(address.error());
    if (::bind(fd, reinterpret_cast<const sockaddr *>(&*address), sizeof *address) < 0)
        return io::systemFail(path);
    return {};
}

} // namespace

SocketPath::SocketPath(std::string path) : path_(std::move(path))
{
    struct stat made = {};
    if (::lstat(path_.c_str(), &made) < 0)
        return;
    device_ = made.st_dev;
    inode_ = made.st_ino;
}

SocketPath::~SocketPath()
{
    struct stat found = {};
    if (!path_.empty() && ::lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ &&
        found.st_ino == inode_)
        ::unlink(path_.c_str());
}

io::Result<SocketPath> SocketPath::bind(int fd, const std::string &path)
{
    if (auto removed = removeStale(path, typeOf(fd)); !removed)
        return std::unexpected(removed.error());
    if (auto bound = bindTo(fd, path); !bound)
        return std::unexpected(bound.error());
    return SocketPath(path);
}

// By another name first: a socket that is bound and does not listen yet looks like one that has
// no owner.
io::Result<SocketPath> SocketPath::listen(int fd, const std::string &path, int backlog)
{
    const std::string first = path + "." + std::to_string(::getpid());
    if (auto removed = removeStale(path, typeOf(fd)); !removed)
        return std::unexpected(removed.error());
    const auto bound = bind(fd, first); // its file goes at the end of this
    if (!bound)
        return std::unexpected(bound.error());
    if (::listen(fd, backlog) < 0)
        return io::systemFail(path);
    if (::link(first.c_str(), path.c_str()) < 0)
        return io::fail(errno == EEXIST ? EADDRINUSE : errno, path);
    return SocketPath(path);
}

} // namespace openipoib::fabric
