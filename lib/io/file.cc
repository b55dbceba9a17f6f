// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/file.hpp"

#include "io/unique_fd.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

namespace openipoib::io
{

Result<std::string> readFile(const std::string &path, std::size_t limit)
{
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return systemFail(path);
    std::string content;
    std::array<char, 4096> part{};
    for (;;) {
        const ssize_t got = ::read(fd.get(), part.data(), part.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return systemFail(path);
        if (got == 0)
            return content;
        content.append(part.data(), static_cast<std::size_t>(got));
        if (content.size() > limit)
            return fail(EFBIG, path);
    }
}

std::string readLine(const std::string &path)
{
    auto content = readFile(path);
    if (!content)
        return {};
    const auto last = content->find_last_not_of(" \t\r\n");
    return content->substr(0, last == std::string::npos ? 0 : last + 1);
}

namespace
{

Result<void> writeAll(int fd, const std::string &path, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t wrote = ::write(fd, text.data(), text.size());
        if (wrote < 0 && errno != EINTR)
            return systemFail(path);
        text.remove_prefix(wrote > 0 ? static_cast<std::size_t>(wrote) : 0);
    }
    return {};
}

} // namespace

Result<void> writeFile(const std::string &path, std::string_view text)
{
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (!fd)
        return systemFail(path);
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0)
        return systemFail(path);
    if (static_cast<std::size_t>(written) != text.size())
        return fail(EIO, path);
    return {};
}

Result<void> replaceFile(const std::string &path, std::string_view text, mode_t mode)
{
    const std::string fresh = path + ".new";
    // What is there is left of a writer that was killed, or a trap: a link to some other file.
    ::unlink(fresh.c_str());
    const UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd)
        return systemFail(fresh);
    Result<void> done = writeAll(fd.get(), fresh, text);
    if (done && ::fchmod(fd.get(), mode) < 0)
        done = systemFail(fresh);
    if (done && ::rename(fresh.c_str(), path.c_str()) < 0)
        done = systemFail(path);
    if (!done)
        ::unlink(fresh.c_str());
    return done;
}

std::vector<std::string> folder(const std::string &path)
{
    struct Close {
        void operator()(DIR *directory) const { ::closedir(directory); }
    };
    std::vector<std::string> names;
    const std::unique_ptr<DIR, Close> directory(::opendir(path.c_str()));
    if (!directory)
        return names;
    while (const dirent *entry = ::readdir(directory.get())) { // NOLINT(concurrency-mt-unsafe)
        const std::string name(static_cast<const char *>(entry->d_name));
        if (name != "." && name != "..")
            names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
}

} // namespace openipoib::io
