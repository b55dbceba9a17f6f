// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The assignments of a file in the shell's syntax, read without a shell.
//
//   # comment                  KEY=value          export KEY=value
//   KEY="a b"  # comment       KEY='a b'          A=1; B=2
//   KEY=one,\                  KEY=$OTHER         KEY="${OTHER}-2"
//       (continued)            KEY=$(hostname -s)
//
// Nothing is executed: of all command substitutions only the host name's are
// understood. A line with an error yields no assignment; reading goes on with
// the next one.
#pragma once

#include "conf/diagnostic.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace openipoib::conf
{

// What a value may refer to.
struct Environment {
    std::string hostName; // without the domain
};

struct Assignment {
    std::string key;
    Place keyPlace;
    std::string value; // quotes and escapes resolved
    Place valuePlace;
};

struct Scan {
    std::vector<Assignment> assignments; // in the file's order, duplicates kept
    Diagnostics diagnostics;
};

inline constexpr std::size_t maxFileBytes = 1 << 20;
inline constexpr std::size_t maxDiagnostics = 100;

[[nodiscard]] Scan scan(std::string_view text, const Environment &environment);

} // namespace openipoib::conf
