// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/socket_path.hpp"

#include "io/unique_fd.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

namespace openipoib::fabric
{

namespace
{

constexpr std::chrono::seconds lockPatience{1};
constexpr std::chrono::milliseconds lockInterval{5};

// Lock the folder of a path: whoever looks at the path and then puts a socket there has it, so
// that no two do at once and take each other's for one that is left. It goes with the result.
// Others may lock the folder for what they like, and for as long.
io::Result<io::UniqueFd> lockFolder(const std::string &path)
{
    auto folder = std::filesystem::path(path).parent_path();
    if (folder.empty())
        folder = ".";
    io::UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd)
        return io::systemFail(folder.string());
    const auto end = std::chrono::steady_clock::now() + lockPatience;
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return io::systemFail(folder.string());
        if (std::chrono::steady_clock::now() >= end)
            return io::fail(EWOULDBLOCK, folder.string() + ": locked by another process");
        std::this_thread::sleep_for(lockInterval);
    }
    return fd;
}

int typeOf(int fd)
{
    int type = SOCK_STREAM;
    socklen_t size = sizeof type;
    ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
    return type;
}

// Remove a socket that has no owner any more. What is no socket refuses connections just so.
io::Result<void> removeStale(const std::string &path, const sockaddr_un &address, int type)
{
    struct stat found = {};
    if (::lstat(path.c_str(), &found) < 0)
        return errno == ENOENT ? io::Result<void>{} : io::systemFail(path);
    if (!S_ISSOCK(found.st_mode))
        return io::fail(ENOTSOCK, path);
    const io::UniqueFd probe(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe)
        return io::systemFail(path);
    const bool isRefused =
        ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) < 0 &&
        errno == ECONNREFUSED;
    if (!isRefused)
        return io::fail(EADDRINUSE, path);
    return ::unlink(path.c_str()) < 0 ? io::systemFail(path) : io::Result<void>{};
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

io::Result<SocketPath> SocketPath::bind(int fd, const std::string &path, std::optional<int> backlog)
{
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof address.sun_path)
        return io::fail(ENAMETOOLONG, path);
    std::ranges::copy(path, address.sun_path);
    const auto lock = lockFolder(path);
    if (!lock)
        return std::unexpected(lock.error());
    if (auto removed = removeStale(path, address, typeOf(fd)); !removed)
        return std::unexpected(removed.error());
    if (::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) < 0)
        return io::systemFail(path);
    SocketPath bound(path);
    // Before the lock goes: until it listens it looks like one that has no owner.
    if (backlog && ::listen(fd, *backlog) < 0)
        return io::systemFail(path);
    return bound;
}

} // namespace openipoib::fabric
