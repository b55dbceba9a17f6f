// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Other programs. No shell; the program is looked for in the system's own
// folders, whatever PATH says.
#pragma once

#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace openipoib::io
{

struct Finished {
    int status = 0; // exit status; 128 + N after signal N
    std::string output;
    std::string errors; // what it said on standard error, at most 64 KiB
};

struct RunOptions {
    std::size_t most = 64 << 10;          // bytes of its output; what follows is dropped
    std::chrono::milliseconds patience{}; // with it until it is killed; 0: without end
};

// Run to its end. Errors: ENOENT when there is no such program; ETIMEDOUT when it was killed.
[[nodiscard]] Result<Finished> runProgram(const std::vector<std::string> &argv,
                                          const RunOptions &options = {});

// The error of a program that has not succeeded: EIO, with its exit status and its last words.
[[nodiscard]] Error failureOf(const std::string &program, const Finished &finished);

// Run a program that has to succeed. Errors: failureOf(), those of runProgram.
[[nodiscard]] Result<void> runChecked(const std::vector<std::string> &argv);

struct StartOptions {
    std::vector<std::string> variables; // "NAME=value", beside those of this process
    bool speaks = false;                // what it prints goes to this process' standard error
};

// Start in a session and a process group of its own, without terminal, and leave it to itself:
// the process. It is not told the sockets by which systemd speaks with this process.
[[nodiscard]] Result<pid_t> startProgram(const std::vector<std::string> &argv,
                                         const StartOptions &options = {});

// A descriptor of a process that stays this one's even when the number is another's: readable
// when it has ended. Errors: ESRCH.
[[nodiscard]] Result<UniqueFd> openProcess(pid_t pid);

} // namespace openipoib::io
