// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/notifier.hpp"

#include "io/process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

namespace openipoib::ha
{

namespace
{

std::vector<std::string> variables(const Names &names, const Notify &move)
{
    return {"IPOIBHA_EVENT=moved",
            "IPOIBHA_PAIR=" + nameOf(names),
            "IPOIBHA_PRIMARY=" + names[Side::primary],
            "IPOIBHA_SECONDARY=" + names[Side::secondary],
            "IPOIBHA_ACTIVE=" + move.active,
            "IPOIBHA_STANDBY=" + move.standby,
            "IPOIBHA_CAUSE=" + move.cause,
            fmt::format("IPOIBHA_MICROSECONDS={}", move.took.count()),
            fmt::format("IPOIBHA_FAILED={}", move.failed)};
}

} // namespace

io::Result<void> Notifier::start(Run &run, const Waiting &what, Time now)
{
    const auto process =
        io::startProgram({what.program, "moved", nameOf(run.names), what.move.active},
                         {.variables = variables(run.names, what.move), .speaks = true});
    if (!process)
        return std::unexpected(process.error());
    run.program = what.program;
    run.process = *process;
    run.until = now + notifyPatience;
    run.killed = false;
    run.source = {}; // of the one before
    auto ended = io::openProcess(*process);
    auto source = ended ? events_.watch(ended->get(), EPOLLIN, [](std::uint32_t) {})
                        : io::Result<io::EventSource>(std::unexpected(ended.error()));
    if (!source) {
        // When it ends could not be told.
        ::kill(-*process, SIGKILL);
        ::waitpid(*process, nullptr, 0);
        return std::unexpected(source.error());
    }
    run.ended = std::move(*ended);
    run.source = std::move(*source);
    return {};
}

void Notifier::notify(const std::string &program, const Names &names, const Notify &move)
{
    Run &run = runs_[nameOf(names)];
    run.names = names;
    run.next = Waiting{program, move};
}

std::size_t Notifier::running() const
{
    return static_cast<std::size_t>(
        std::ranges::count_if(runs_, [](const auto &one) { return one.second.process != 0; }));
}

std::optional<Time> Notifier::wake() const
{
    std::optional<Time> wake;
    for (const auto &[name, run] : runs_) {
        if (!run.process)
            return Time{};
        if (!run.killed)
            wake = std::min(wake.value_or(Time::max()), run.until);
    }
    return wake;
}

void Notifier::endIfLate(Run &run, Time now)
{
    if (run.killed || now < run.until)
        return;
    // Its group: what it has started as well
    ::kill(-run.process, SIGKILL);
    run.killed = true;
}

std::string Notifier::outcome(const Run &run, int status)
{
    if (run.killed)
        return fmt::format(
            "{}: killed, it has not ended within {} s", run.program,
            std::chrono::duration_cast<std::chrono::seconds>(notifyPatience).count());
    if (WIFSIGNALED(status))
        return fmt::format("{}: ended by signal {}", run.program, WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return fmt::format("{}: exit status {}", run.program, WEXITSTATUS(status));
    return {};
}

std::vector<Notifier::Failure> Notifier::collect(Time now)
{
    std::vector<Failure> failures;
    const auto fail = [&](const Run &run, const std::string &words) {
        failures.push_back({run.names, "IPOIBHA_NOTIFY: " + words});
    };
    for (auto slot = runs_.begin(); slot != runs_.end();) {
        Run &run = slot->second;
        int status = 0;
        if (run.process && ::waitpid(run.process, &status, WNOHANG) == 0) {
            endIfLate(run, now);
            ++slot;
            continue;
        }
        if (const auto words = run.process ? outcome(run, status) : std::string(); !words.empty())
            fail(run, words);
        const auto next = std::exchange(run.next, std::nullopt);
        const auto started = next ? start(run, *next, now) : io::Result<void>();
        if (!started)
            fail(run, started.error().text());
        slot = next && started ? std::next(slot) : runs_.erase(slot);
    }
    return failures;
}

} // namespace openipoib::ha
