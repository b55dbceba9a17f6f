// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/request.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace openipoib::ha
{

namespace
{

constexpr std::array<std::string_view, 5> commands{"status", "explain", "metrics", "monitor",
                                                   "switch"};
constexpr auto dry = "--dry-run";

} // namespace

bool Request::concerns(const std::string &name, const std::vector<std::string> &interfaces) const
{
    return pair.empty() || pair == name || std::ranges::find(interfaces, pair) != interfaces.end();
}

std::string writeRequest(const Request &request)
{
    std::string out = request.command;
    if (request.dryRun)
        out += std::string(" ") + dry;
    if (!request.pair.empty())
        out += " " + request.pair;
    return out;
}

io::Result<Request> readRequest(const std::string &text)
{
    std::istringstream words(text);
    Request request{.command = {}, .pair = {}};
    words >> request.command;
    if (std::ranges::find(commands, request.command) == commands.end())
        return io::fail(EINVAL, "unknown command '" + request.command + "'");
    for (std::string word; words >> word;) {
        const bool isPair = request.pair.empty() && !word.starts_with("-");
        if (request.command != "switch" || (word != dry && !isPair))
            return io::fail(EINVAL, request.command + ": '" + word + "' is not understood");
        if (word == dry)
            request.dryRun = true;
        else
            request.pair = word;
    }
    return request;
}

} // namespace openipoib::ha
