// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/record_store.hpp"

#include "io/file.hpp"
#include "io/unique_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace openipoib::bonding
{

namespace
{

constexpr std::string_view suffix = ".json";

} // namespace

io::Result<std::map<std::string, Record, std::less<>>> RecordStore::read() const
{
    std::map<std::string, Record, std::less<>> records;
    for (const auto &name : io::folder(folder_)) {
        if (!name.ends_with(suffix))
            continue;
        const std::string file = folder_ + "/" + name;
        const auto text = io::readFile(file);
        if (!text)
            return std::unexpected(text.error());
        auto record = parseRecord(*text);
        if (!record)
            return io::fail(record.error().code, file + ": " + record.error().context);
        records[name.substr(0, name.size() - suffix.size())] = std::move(*record);
    }
    return records;
}

io::Result<void> RecordStore::keep(const std::string &bond, const Record &record) const
{
    if (::mkdir(folder_.c_str(), 0755) < 0 && errno != EEXIST)
        return io::systemFail(folder_);
    const std::string fresh = folder_ + "/." + bond;
    {
        const io::UniqueFd fd(
            ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
        if (!fd)
            return io::systemFail(fresh);
    }
    if (const auto written = io::writeFile(fresh, serialise(record)); !written)
        return written;
    if (::rename(fresh.c_str(), path(bond).c_str()) < 0)
        return io::systemFail(path(bond));
    return {};
}

io::Result<void> RecordStore::drop(const std::string &bond) const
{
    if (::unlink(path(bond).c_str()) < 0 && errno != ENOENT)
        return io::systemFail(path(bond));
    return {};
}

} // namespace openipoib::bonding
