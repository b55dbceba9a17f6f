// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "guard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

// How a message begins that says something is wrong. scripts/splat.py, which sees the whole
// console in the end, knows more of them; what it finds and this does not, comes late.
constexpr std::array<std::string_view, 18> headlines{
    "BUG: ",          "WARNING: ",    "UBSAN: ",      "Oops",
    "kernel BUG at ", "refcount_t: ", "ODEBUG: ",     "list_add",
    "list_del",       "ref_tracker:", "general prot", "unregister_netdevice: waiting",
    "INFO: task",     "INFO: trying", "[ BUG: ",      "GID entry",
    "Kernel panic",   "BUG kmalloc"};
void (*lastWords)() = [] {};
constexpr std::string_view rcuHeadline = "WARNING: suspicious RCU usage";
// Where User-Mode Linux has such a report of its own at a fork; see scripts/splat.py
constexpr std::string_view rcuAllowed = "lib/maple_tree.c:";

} // namespace

void need(bool condition, std::string_view what)
{
    if (condition)
        return;
    const int error = errno;
    std::fprintf(stderr, "fuzz: cannot go on: %.*s: %s\n", static_cast<int>(what.size()),
                 what.data(), std::strerror(error));
    _exit(1);
}

void atEnd(void (*last)())
{
    lastWords = last;
}

void found(const std::string &what)
{
    lastWords();
    std::fprintf(stderr, "fuzz: found: %s\n", what.c_str());
    std::ofstream(std::string(folder) + "/found") << what << '\n';
    _exit(foundStatus);
}

Guard::Guard()
    : journal_(::open((std::string(folder) + "/journal").c_str(),
                      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)),
      taint_(::open("/proc/sys/kernel/tainted", O_RDONLY | O_CLOEXEC)),
      log_(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC))
{
    need(journal_ >= 0 && taint_ >= 0 && log_ >= 0, "journal, taint and log");
    need(lseek(log_, 0, SEEK_END) >= 0, "end of the log");
    before_ = taint();
}

std::string Guard::taint() const
{
    std::array<char, 64> buffer{};
    const ssize_t size = pread(taint_, buffer.data(), buffer.size(), 0);
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

void Guard::begin(io::View input)
{
    io::Bytes entry;
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    io::append<4>(entry, input.size());
    io::append<4>(entry, static_cast<std::uint64_t>(now.tv_sec * 1000 + now.tv_nsec / 1'000'000));
    io::append(entry, input);
    need(write(journal_, entry.data(), entry.size()) == static_cast<ssize_t>(entry.size()),
         "the journal");
}

void Guard::line(std::string_view text)
{
    if (suspicious_ && text.find("suspicious rcu") != std::string_view::npos) {
        suspicious_ = false;
        if (text.find(rcuAllowed) == std::string_view::npos)
            found("kernel: suspicious RCU usage: " + std::string(text));
        return;
    }
    if (text.starts_with(rcuHeadline)) {
        suspicious_ = true;
        return;
    }
    for (const std::string_view headline : headlines)
        if (text.starts_with(headline))
            found("kernel: " + std::string(text));
}

void Guard::readLog()
{
    std::array<char, 8192> buffer{};
    for (;;) {
        const ssize_t size = read(log_, buffer.data(), buffer.size());
        if (size < 0 && errno == EPIPE)
            continue; // some were overwritten before they were read
        if (size <= 0)
            return;
        const std::string_view record(buffer.data(), static_cast<std::size_t>(size));
        const std::size_t begin = record.find(';');
        if (begin != std::string_view::npos)
            line(record.substr(begin + 1, record.find('\n', begin) - begin - 1));
    }
}

void Guard::check()
{
    readLog();
    if (const std::string now = taint(); now != before_)
        found("kernel: tainted " + now);
}

} // namespace openipoib::kfuzz
