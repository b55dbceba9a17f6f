// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/kernel_log.hpp"

#include "io/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>

namespace openipoib::bonding
{

namespace
{

constexpr std::uint64_t million = 1'000'000;

std::uint64_t now()
{
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * million +
           static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

} // namespace

// "6,1234,5678901,-;bond0: (slave ib0): making interface the new active one"
std::optional<ChangeOfActive> parseKernelRecord(std::string_view record)
{
    const auto semicolon = record.find(';');
    if (semicolon == std::string_view::npos)
        return std::nullopt;
    const auto message = record.substr(semicolon + 1);
    if (message.find("the new active one") == std::string_view::npos &&
        message.find("now running without any active interface") == std::string_view::npos)
        return std::nullopt;
    auto head = record.substr(0, semicolon);
    for (int field = 0; field < 2; ++field) {
        const auto comma = head.find(',');
        if (comma == std::string_view::npos)
            return std::nullopt;
        head.remove_prefix(comma + 1);
    }
    ChangeOfActive change;
    const auto [at, error] =
        std::from_chars(head.data(), head.data() + head.size(), change.microseconds);
    const auto colon = message.find(": ");
    if (error != std::errc{} || colon == std::string_view::npos)
        return std::nullopt;
    change.bond = message.substr(0, colon);
    return change;
}

std::map<std::string, unsigned> lastChanges(const std::string &log)
{
    std::map<std::string, unsigned> changes;
    const io::UniqueFd fd(::open(log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fd)
        return changes;
    const std::uint64_t present = now();
    std::array<char, 8192> record{}; // the longest that the kernel makes
    for (;;) {
        const ssize_t got = ::read(fd.get(), record.data(), record.size());
        if (got < 0 && (errno == EPIPE || errno == EINTR))
            continue; // overwritten before it was read
        if (got <= 0)
            return changes;
        const auto change = parseKernelRecord({record.data(), static_cast<std::size_t>(got)});
        if (change)
            changes[change->bond] = static_cast<unsigned>(
                change->microseconds < present ? (present - change->microseconds) / million : 0);
    }
}

} // namespace openipoib::bonding
