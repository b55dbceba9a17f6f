// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a client asks the daemon for: a line of words.
#pragma once

#include "io/error.hpp"

#include <string>
#include <vector>

namespace openipoib::ha
{

struct Request {
    std::string command = "status";
    std::string pair;    // of switch: one of its interfaces, or all as "ib0+ib1"; "": all pairs
    bool dryRun = false; // of switch

    // @name: of the pair
    [[nodiscard]] bool concerns(const std::string &name,
                                const std::vector<std::string> &interfaces) const;

    bool operator==(const Request &) const = default;
};

[[nodiscard]] std::string writeRequest(const Request &request);
// Errors: EINVAL, with the word that is not understood.
[[nodiscard]] io::Result<Request> readRequest(const std::string &text);

} // namespace openipoib::ha
