// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace openipoib::io
{

namespace
{

using Clock = std::chrono::steady_clock;

constexpr std::size_t maxErrors = 64 << 10;

std::string findProgram(const std::string &name)
{
    if (name.find('/') != std::string::npos)
        return name;
    for (const char *place : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"})
        if (std::string path = place + name; ::access(path.c_str(), X_OK) == 0)
            return path;
    return {};
}

// As exec takes it
std::vector<char *> pointers(const std::vector<std::string> &words)
{
    std::vector<char *> all;
    all.reserve(words.size() + 1);
    for (const auto &word : words)
        all.push_back(const_cast<char *>(word.c_str()));
    all.push_back(nullptr);
    return all;
}

std::vector<std::string> environmentWith(const std::vector<std::string> &variables)
{
    std::vector<std::string> all = variables;
    for (char **one = environ; *one; ++one) {
        const std::string_view text(*one);
        const auto name = text.substr(0, text.find('=') + 1);
        const bool replaced = std::ranges::any_of(
            variables, [&](const std::string &variable) { return variable.starts_with(name); });
        if (!replaced && name != "NOTIFY_SOCKET=" && name != "WATCHDOG_PID=" &&
            name != "WATCHDOG_USEC=")
            all.emplace_back(text);
    }
    return all;
}

struct Outputs {
    int output = -1;
    int errors = -1;
};

// It starts with no signal blocked, whatever this process blocks.
Result<pid_t> spawn(const std::vector<std::string> &argv,
                    const std::vector<std::string> &environment, const Outputs &to, bool session)
{
    const std::string path = argv.empty() ? std::string() : findProgram(argv[0]);
    if (path.empty())
        return fail(ENOENT, argv.empty() ? "" : argv[0]);
    std::vector<char *> words = pointers(argv);
    std::vector<char *> variables = pointers(environment);
    sigset_t none;
    ::sigemptyset(&none);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, to.output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, to.errors, STDERR_FILENO);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK |
                                                               (session ? POSIX_SPAWN_SETSID : 0)));
    pid_t pid = 0;
    const int status =
        ::posix_spawn(&pid, path.c_str(), &files, &attributes, words.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    if (status)
        return fail(status, argv[0]);
    return pid;
}

struct Pipe {
    UniqueFd reading;
    UniqueFd writing;
};

Result<Pipe> openPipe()
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) < 0)
        return systemFail("pipe");
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

class Deadline
{
  public:
    explicit Deadline(std::chrono::milliseconds patience)
        : limited_(patience.count() > 0), end_(Clock::now() + patience)
    {
    }
    // As poll() takes it
    [[nodiscard]] int left() const
    {
        if (!limited_)
            return -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
        return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }

  private:
    bool limited_;
    Clock::time_point end_;
};

// At its end it is closed.
void take(UniqueFd &from, std::string &to, std::size_t most)
{
    std::array<char, 4096> part{};
    const ssize_t got = ::read(from.get(), part.data(), part.size());
    if (got > 0)
        to.append(part.data(), std::min(static_cast<std::size_t>(got), most - to.size()));
    else if (got == 0 || errno != EINTR)
        from.reset();
}

// Until @process has ended and nobody writes any more.
Result<void> hear(UniqueFd process, UniqueFd output, UniqueFd errors, const RunOptions &options,
                  Finished &finished)
{
    const Deadline deadline(options.patience);
    while (process || output || errors) {
        std::array<pollfd, 3> polled{
            {{process.get(), POLLIN, 0}, {output.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}}};
        const int ready = ::poll(polled.data(), polled.size(), deadline.left());
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            return systemFail("poll");
        if (ready == 0)
            return fail(ETIMEDOUT, "has not ended");
        if (polled[0].revents)
            process.reset();
        if (polled[1].revents)
            take(output, finished.output, options.most);
        if (polled[2].revents)
            take(errors, finished.errors, maxErrors);
    }
    return {};
}

} // namespace

Result<Finished> runProgram(const std::vector<std::string> &argv, const RunOptions &options)
{
    auto output = openPipe();
    if (!output)
        return std::unexpected(output.error());
    auto errors = openPipe();
    if (!errors)
        return std::unexpected(errors.error());
    const auto pid =
        spawn(argv, environmentWith({}), {output->writing.get(), errors->writing.get()}, false);
    output->writing.reset();
    errors->writing.reset();
    if (!pid)
        return std::unexpected(pid.error());
    Finished finished;
    auto process = openProcess(*pid);
    const Result<void> done = process ? hear(std::move(*process), std::move(output->reading),
                                             std::move(errors->reading), options, finished)
                                      : std::unexpected(process.error());
    if (!done)
        ::kill(*pid, SIGKILL);
    int status = 0;
    while (::waitpid(*pid, &status, 0) < 0)
        if (errno != EINTR)
            return systemFail(argv[0]);
    if (!done)
        return fail(done.error().code, argv[0] + ": " + done.error().context);
    finished.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return finished;
}

Error failureOf(const std::string &program, const Finished &finished)
{
    std::string words = finished.errors.empty() ? finished.output : finished.errors;
    while (!words.empty() && words.back() == '\n')
        words.pop_back();
    return {EIO, program + ": exit status " + std::to_string(finished.status) + ": " +
                     words.substr(words.rfind('\n') + 1)};
}

Result<void> runChecked(const std::vector<std::string> &argv)
{
    const auto finished = runProgram(argv);
    if (!finished)
        return std::unexpected(finished.error());
    if (finished->status == 0)
        return {};
    return std::unexpected(failureOf(argv[0], *finished));
}

Result<pid_t> startProgram(const std::vector<std::string> &argv, const StartOptions &options)
{
    const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!nowhere)
        return systemFail("/dev/null");
    const int to = options.speaks ? STDERR_FILENO : nowhere.get();
    return spawn(argv, environmentWith(options.variables), {to, to}, true);
}

Result<UniqueFd> openProcess(pid_t pid)
{
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!fd)
        return systemFail("process " + std::to_string(pid));
    return fd;
}

} // namespace openipoib::io
