// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/run_folder.hpp"

#include "io/file.hpp"
#include "io/lock_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>

namespace openipoib::ha
{

io::Result<RunFolder> RunFolder::take(const std::string &path)
{
    if (::mkdir(path.c_str(), 0700) < 0 && errno != EEXIST)
        return io::systemFail(path);
    auto lock = io::lockFile(path + "/lock", io::IfLocked::refuse);
    if (!lock)
        return std::unexpected(lock.error());
    return RunFolder(path, std::move(*lock));
}

io::Result<void> RunFolder::write(const std::string &name, const std::string &text) const
{
    const std::string file = path_ + "/" + name;
    const std::string fresh = file + ".new";
    const io::UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd)
        return io::systemFail(fresh);
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t wrote = ::write(fd.get(), text.data() + done, text.size() - done);
        if (wrote < 0 && errno != EINTR)
            return io::systemFail(fresh);
        done += wrote > 0 ? static_cast<std::size_t>(wrote) : 0;
    }
    if (::rename(fresh.c_str(), file.c_str()) < 0)
        return io::systemFail(file);
    return {};
}

io::Result<std::string> RunFolder::read(const std::string &name) const
{
    return io::readFile(path_ + "/" + name, 16 << 20);
}

} // namespace openipoib::ha
