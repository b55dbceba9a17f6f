// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Other programs. No shell; the program is looked for in the system's own
// folders, whatever PATH says.
#pragma once

#include "io/error.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

namespace openipoib::io
{

struct Finished {
    int status = 0;     // exit status; 128 + N after signal N
    std::string output; // standard output and error, at most 64 KiB
};

// Run to its end. Errors: ENOENT when there is no such program.
[[nodiscard]] Result<Finished> runProgram(const std::vector<std::string> &argv);

// Run a program that has to succeed. Errors: EIO with its last words when it has
// not, those of runProgram.
[[nodiscard]] Result<void> runChecked(const std::vector<std::string> &argv);

// Start in a session of its own, without terminal, and leave it to itself: the process.
[[nodiscard]] Result<pid_t> startProgram(const std::vector<std::string> &argv);

} // namespace openipoib::io
