// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/linux_ha.hpp"

#include "conf/openib/state.hpp"
#include "io/file.hpp"
#include "io/lock_file.hpp"
#include "io/process.hpp"
#include "io/unique_fd.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>

namespace openipoib::openib
{

namespace
{

using Clock = std::chrono::steady_clock;

constexpr auto unit = "ipoib-ha.service";
constexpr std::chrono::seconds patience{10};
constexpr std::chrono::seconds startPatience{3};
constexpr int lookEvery = 20; // milliseconds
// The daemon's limit is 16 MiB, and its client indents the lines.
constexpr std::size_t longestStatus = 64 << 20;

// Exit statuses of ipoib-ha
constexpr int healthy = 0;
constexpr int degraded = 2;
constexpr int notReachable = 3;

bool hasSystemd(const HaPlaces &places)
{
    return ::access(places.systemd.c_str(), F_OK) == 0;
}

// The process that openib has started, 0 if there is none any more.
pid_t started(const HaPlaces &places)
{
    const std::string text = io::readLine(places.record);
    pid_t pid = 0;
    std::from_chars(text.data(), text.data() + text.size(), pid);
    return pid > 0 && io::isLockedBy(places.lock, pid) ? pid : 0;
}

bool hasEnded(const io::UniqueFd &process, int milliseconds)
{
    pollfd polled{process.get(), POLLIN, 0};
    return ::poll(&polled, 1, milliseconds) > 0;
}

io::Result<void> record(const HaPlaces &places, pid_t pid)
{
    const std::string folder = places.record.substr(0, places.record.rfind('/'));
    if (::mkdir(folder.c_str(), 0700) < 0 && errno != EEXIST)
        return io::systemFail(folder);
    return io::replaceFile(places.record, fmt::format("{}\n", pid));
}

std::unexpected<io::Error> endedAtOnce(const HaPlaces &places, pid_t pid)
{
    int status = 0;
    ::waitpid(pid, &status, 0);
    std::string words = WIFEXITED(status) ? fmt::format("exit status {}", WEXITSTATUS(status))
                                          : fmt::format("signal {}", WTERMSIG(status));
    if (const pid_t holder = haProcess(places); holder > 0)
        words +=
            fmt::format("; process {}, which openib has not started, has {}", holder, places.lock);
    return io::fail(EIO, fmt::format("{}: {}", places.program, words));
}

io::Result<void> waitUntilAtWork(const HaPlaces &places, pid_t pid)
{
    const auto process = io::openProcess(pid);
    if (!process)
        return std::unexpected(process.error());
    for (const auto end = Clock::now() + patience; Clock::now() < end;) {
        if (io::isLockedBy(places.lock, pid))
            return {};
        if (hasEnded(*process, lookEvery))
            return endedAtOnce(places, pid);
    }
    return io::fail(ETIMEDOUT, fmt::format("{}: has not taken {}", places.program, places.lock));
}

// A pair of two interfaces has no member "name"; they come in the order that is configured.
std::string nameOf(const nlohmann::json &pair)
{
    if (pair.contains("name"))
        return pair.at("name").get<std::string>();
    std::vector<std::string> names;
    for (const auto &interface : pair.at("interfaces"))
        names.push_back(interface.at("name").get<std::string>());
    return fmt::format("{}", fmt::join(names, "+"));
}

// One that is starting has its lock, or is a unit that is activating, before it has its socket.
io::Result<std::string> askStatus(const HaPlaces &places)
{
    for (const auto end = Clock::now() + startPatience;;) {
        auto answer = io::runProgram({places.program, "--json", "status"},
                                     {.most = longestStatus, .patience = places.answerPatience});
        if (!answer)
            return std::unexpected(answer.error());
        if (answer->status == healthy || answer->status == degraded)
            return std::move(answer->output);
        if (answer->status != notReachable || Clock::now() >= end)
            return std::unexpected(io::failureOf(places.program, *answer));
        ::poll(nullptr, 0, lookEvery);
    }
}

} // namespace

io::Result<bool> askWhetherHaRuns(const HaPlaces &places)
{
    static constexpr std::array<std::string_view, 4> states{"active\n", "activating\n",
                                                            "reloading\n", "refreshing\n"};
    if (!hasSystemd(places))
        return started(places) > 0;
    const auto shown =
        io::runProgram({places.systemctl, "show", "--property=ActiveState", "--value", unit},
                       {.patience = places.systemctlPatience});
    if (!shown)
        return std::unexpected(shown.error());
    return shown->status == 0 && std::ranges::find(states, shown->output) != states.end();
}

pid_t haProcess(const HaPlaces &places)
{
    const std::string text = io::readLine(places.lock);
    pid_t holder = 0;
    std::from_chars(text.data(), text.data() + text.size(), holder);
    return holder > 0 && io::isLockedBy(places.lock, holder) ? holder : 0;
}

bool mayAskHa(const HaPlaces &places)
{
    return ::access(places.control.c_str(), W_OK) == 0 || errno != EACCES;
}

io::Result<void> startHa(const HaPlaces &places)
{
    if (hasSystemd(places))
        return io::runChecked({places.systemctl, "start", unit});
    const auto pid = io::startProgram({places.program, "run", "--config", places.configuration});
    if (!pid)
        return std::unexpected(pid.error());
    if (const auto recorded = record(places, *pid); !recorded) {
        ::kill(*pid, SIGTERM); // it could not be told from others
        return recorded;
    }
    return waitUntilAtWork(places, *pid);
}

io::Result<std::vector<std::string>> haPairs(const HaPlaces &places)
{
    const auto text = askStatus(places);
    if (!text)
        return std::unexpected(text.error());
    try {
        const auto document = nlohmann::json::parse(*text);
        std::vector<std::string> pairs;
        for (const auto &pair : document.at("pairs"))
            pairs.push_back(nameOf(pair));
        return pairs;
    } catch (const nlohmann::json::exception &) { // whose words may be all of the text
        return io::fail(EBADMSG, fmt::format("{}: a status of {} bytes that does not name pairs",
                                             places.program, text->size()));
    }
}

io::Result<void> reloadHa(const HaPlaces &places, const std::vector<std::string> &pairs)
{
    if (hasSystemd(places)) {
        if (const auto done = io::runChecked({places.systemctl, "reload", unit}); !done)
            return done;
    } else if (const pid_t pid = started(places); !pid || ::kill(pid, SIGHUP) < 0) {
        return io::fail(ESRCH, places.program);
    }
    for (const auto end = Clock::now() + patience; Clock::now() < end;) {
        auto now = haPairs(places);
        if (!now)
            return std::unexpected(now.error());
        State state;
        state.haPairs = std::move(*now);
        if (state.haKeeps(pairs))
            return {};
        ::poll(nullptr, 0, lookEvery);
    }
    return io::fail(ETIMEDOUT,
                    fmt::format("{}: keeps other pairs; see its journal", places.program));
}

io::Result<void> stopHa(const HaPlaces &places)
{
    if (hasSystemd(places))
        return io::runChecked({places.systemctl, "stop", unit});
    const pid_t pid = started(places);
    if (!pid)
        return {};
    const auto process = io::openProcess(pid);
    if (!process)
        return std::unexpected(process.error());
    // From here on it is this process that is meant, and no later one of the number.
    if (started(places) != pid)
        return {};
    if (::syscall(SYS_pidfd_send_signal, process->get(), SIGTERM, nullptr, 0) < 0)
        return io::systemFail(fmt::format("process {}", pid));
    const auto milliseconds = std::chrono::milliseconds(patience).count();
    if (!hasEnded(*process, static_cast<int>(milliseconds)))
        return io::fail(ETIMEDOUT, fmt::format("process {} does not end", pid));
    return {};
}

} // namespace openipoib::openib
