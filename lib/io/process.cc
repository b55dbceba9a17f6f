// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace openipoib::io
{

namespace
{

constexpr std::size_t maxOutput = 64 << 10;

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

// It starts with no signal blocked, whatever this process blocks. output: where standard
// output and error go.
Result<pid_t> spawn(const std::vector<std::string> &argv,
                    const std::vector<std::string> &environment, int output, bool session)
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
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
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

} // namespace

Result<Finished> runProgram(const std::vector<std::string> &argv)
{
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) < 0)
        return systemFail("pipe");
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const auto pid = spawn(argv, environmentWith({}), writing.get(), false);
    writing.reset();
    if (!pid)
        return std::unexpected(pid.error());
    Finished finished;
    std::array<char, 4096> part{};
    for (;;) {
        const ssize_t got = ::read(reading.get(), part.data(), part.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (finished.output.size() < maxOutput)
            finished.output.append(part.data(), static_cast<std::size_t>(got));
    }
    int status = 0;
    while (::waitpid(*pid, &status, 0) < 0)
        if (errno != EINTR)
            return systemFail(argv[0]);
    finished.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return finished;
}

Result<void> runChecked(const std::vector<std::string> &argv)
{
    const auto finished = runProgram(argv);
    if (!finished)
        return std::unexpected(finished.error());
    if (finished->status == 0)
        return {};
    std::string words = finished->output;
    while (!words.empty() && words.back() == '\n')
        words.pop_back();
    return fail(EIO, argv[0] + ": exit status " + std::to_string(finished->status) + ": " +
                         words.substr(words.rfind('\n') + 1));
}

Result<pid_t> startProgram(const std::vector<std::string> &argv, const StartOptions &options)
{
    const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!nowhere)
        return systemFail("/dev/null");
    return spawn(argv, environmentWith(options.variables),
                 options.speaks ? STDERR_FILENO : nowhere.get(), true);
}

Result<UniqueFd> openProcess(pid_t pid)
{
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!fd)
        return systemFail("process " + std::to_string(pid));
    return fd;
}

} // namespace openipoib::io
