// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/lock_file.hpp"

#include "io/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace openipoib::io
{

Result<UniqueFd> lockFile(const std::string &path, IfLocked ifLocked)
{
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd)
        return systemFail(path);
    const int how = ifLocked == IfLocked::wait ? LOCK_EX : LOCK_EX | LOCK_NB;
    while (::flock(fd.get(), how) < 0)
        if (errno != EINTR)
            return fail(errno == EWOULDBLOCK ? EBUSY : errno, path);
    // On a full disk nobody is told whose the lock is, but it is one.
    const std::string owner = std::to_string(::getpid()) + "\n";
    [[maybe_unused]] const bool isNamed =
        ::ftruncate(fd.get(), 0) == 0 && ::pwrite(fd.get(), owner.data(), owner.size(), 0) > 0;
    return fd;
}

// Whoever wants the lock meanwhile must not be refused for this question, which is why it is
// only asked of the process that the file names.
bool isLockedBy(const std::string &path, pid_t process)
{
    if (readLine(path) != std::to_string(process))
        return false;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

} // namespace openipoib::io
