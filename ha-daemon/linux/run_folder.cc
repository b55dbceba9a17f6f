// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/run_folder.hpp"

#include "io/file.hpp"
#include "io/lock_file.hpp"

#include <sys/stat.h>

namespace openipoib::ha
{

io::Result<RunFolder> RunFolder::take(const std::string &path)
{
    // Its group may ask; what else is in it is this user's alone.
    if (::mkdir(path.c_str(), 0750) < 0 && errno != EEXIST)
        return io::systemFail(path);
    auto lock = io::lockFile(path + "/lock", io::IfLocked::refuse);
    if (!lock)
        return std::unexpected(lock.error());
    return RunFolder(path, std::move(*lock));
}

io::Result<void> RunFolder::write(const std::string &name, const std::string &text) const
{
    return io::replaceFile(path_ + "/" + name, text);
}

io::Result<std::string> RunFolder::read(const std::string &name) const
{
    return io::readFile(path_ + "/" + name, 16 << 20);
}

} // namespace openipoib::ha
