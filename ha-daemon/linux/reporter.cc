// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/reporter.hpp"

#include "ha-daemon/report.hpp"
#include "io/journal.hpp"
#include "io/unique_fd.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace openipoib::ha
{

namespace
{

constexpr std::string_view journalSocket = "/run/systemd/journal/socket";

// By the journal's native protocol, a datagram of lines NAME=value. Not by sd_journal_sendv(),
// which waits for a journal that hangs, and so would the next failover.
bool sent(const Both<std::string> &names, const Say &what)
{
    static const io::UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::ranges::copy(journalSocket, to.sun_path);
    std::string text;
    for (auto &field : reportFields(names, what)) {
        std::ranges::replace(field, '\n', ' '); // would begin the next field
        text += field + "\n";
    }
    return ::sendto(socket.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr *>(&to), sizeof to) == std::ssize(text);
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
