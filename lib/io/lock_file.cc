// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/lock_file.hpp"

#include <fcntl.h>
#include <sys/file.h>

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
    return fd;
}

} // namespace openipoib::io
