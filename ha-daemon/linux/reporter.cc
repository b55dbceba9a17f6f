// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The file and the line of code would be this one's.
#define SD_JOURNAL_SUPPRESS_LOCATION

#include "ha-daemon/linux/reporter.hpp"

#include "ha-daemon/report.hpp"
#include "io/journal.hpp"

#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include <cstdio>

namespace openipoib::ha
{

namespace
{

// Without it the library drops what it is told, and says that all is well.
constexpr auto journalSocket = "/run/systemd/journal/socket";

bool sent(const Both<std::string> &names, const Say &what)
{
    if (::access(journalSocket, F_OK) < 0)
        return false;
    std::vector<std::string> fields = reportFields(names, what);
    std::vector<iovec> parts;
    parts.reserve(fields.size());
    for (auto &one : fields)
        parts.push_back({one.data(), one.size()});
    return sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
}

} // namespace

void report(const Both<std::string> &names, const Say &what)
{
    static const bool toJournal = io::isJournal(STDERR_FILENO);
    if (toJournal && sent(names, what))
        return;
    // The journal takes the number off the line.
    const std::string prefix =
        toJournal ? "<" + std::to_string(priorityOf(what.severity)) + ">" : "";
    std::fprintf(stderr, "%s%s\n", prefix.c_str(), reportLine(names, what).c_str());
}

} // namespace openipoib::ha
