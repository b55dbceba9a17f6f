// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/socket_path.hpp"

#include "io/unique_fd.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

// Taken by who looks at a path and then puts a socket there, so that no two do at once and take
// each other's for one that is left. It is a file beside the socket, as long as it is taken.
class Lock
{
  public:
    explicit Lock(std::string path) : path_(std::move(path)) {}
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;
    Lock(Lock &&) = delete;
    Lock &operator=(Lock &&) = delete;
    ~Lock()
    {
        if (fd_)
            ::unlink(path_.c_str());
    }

    [[nodiscard]] io::Result<void> take()
    {
        constexpr int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
        for (;;) {
            io::UniqueFd fd(::open(path_.c_str(), flags, S_IRUSR | S_IWUSR));
            struct stat mine = {};
            struct stat found = {};
            if (!fd || ::fstat(fd.get(), &mine) < 0)
                return io::systemFail(path_);
            if (!S_ISREG(mine.st_mode))
                return io::fail(EEXIST, path_);
            if (::flock(fd.get(), LOCK_EX) < 0) {
                if (errno == EINTR)
                    continue;
                return io::systemFail(path_);
            }
            // Whoever had it before has removed the file, so it may be another one.
            if (::lstat(path_.c_str(), &found) == 0 && found.st_dev == mine.st_dev &&
                found.st_ino == mine.st_ino) {
                fd_ = std::move(fd);
                return {};
            }
        }
    }

  private:
    std::string path_;
    io::UniqueFd fd_; // when it is taken
};

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
    Lock lock(path + ".lock");
    if (auto taken = lock.take(); !taken)
        return std::unexpected(taken.error());
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
