// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One request to a running ibfabric.
#pragma once

#include "io/error.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace openipoib::fabric
{

// The answer: a document with a "result" or an "error". Errors: those of the
// socket; ETIMEDOUT if there is none within ten seconds; EPROTO if it is no answer.
[[nodiscard]] io::Result<nlohmann::json> ask(const std::string &path,
                                             const nlohmann::json &request);
// Ask for packets; they are written to a file descriptor as they come, for so long, or
// until there are no more. The answer, and errors, as above, and those of writing.
[[nodiscard]] io::Result<nlohmann::json> capture(const std::string &path,
                                                 const nlohmann::json &request,
                                                 std::optional<std::chrono::milliseconds> time,
                                                 int to);

} // namespace openipoib::fabric
