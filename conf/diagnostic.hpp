// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the reader of openib.conf has to say about a place in the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace openipoib::conf
{

// Line and column count from 1; a column is a byte. Line 0: the whole file.
struct Place {
    unsigned line = 0;
    unsigned column = 0;

    bool operator==(const Place &) const = default;
};

// error: the file must not be used. warning: used, but probably not as meant.
// note: good to know.
enum class Severity { note, warning, error };

struct Diagnostic {
    Severity severity = Severity::error;
    Place place;
    std::string key;  // the key it is about, or empty
    std::string what; // what is wrong
    std::string cure; // what was expected or is to be done; may be empty
};

using Diagnostics = std::vector<Diagnostic>;

[[nodiscard]] std::string_view name(Severity severity);

// "FILE:LINE:COLUMN: error: KEY: WHAT; CURE", on one line, control characters
// made visible.
[[nodiscard]] std::string render(const Diagnostic &diagnostic, std::string_view file);

[[nodiscard]] bool hasErrors(const Diagnostics &diagnostics);

// Text for a message: what is not printable ASCII becomes \xNN, long text is cut.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 60);

} // namespace openipoib::conf
