// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What one daemon leaves to the next about a pair.
#pragma once

#include "ha-daemon/core/view.hpp"
#include "io/error.hpp"

#include <set>
#include <utility>

namespace openipoib::ha
{

struct Journal {
    struct Entry {
        std::uint16_t child = 0; // as Lane
        Both<int> index;         // of the interfaces
        Items identity;
        Items own; // of the active interface

        bool operator==(const Entry &) const = default;
    };

    // Settings that are as the daemon needs them, and were "0" before: the index of
    // the interface, the name.
    using Guards = std::set<std::pair<int, std::string>>;

    // Which two they are, if there are more to choose from; otherwise empty.
    Both<std::string> names;
    Side active = Side::primary;
    // It ended when all was well: what is missing now was removed by somebody.
    bool clean = false;
    std::uint64_t moves = 0;
    std::string cause; // of a move that nobody has been notified of; "": there is none
    std::vector<Entry> lanes;
    Guards guards;

    bool operator==(const Journal &) const = default;
};

[[nodiscard]] std::string writeJournal(const Journal &journal);
// Errors: EBADMSG, with what is wrong.
[[nodiscard]] io::Result<Journal> readJournal(const std::string &text);

} // namespace openipoib::ha
