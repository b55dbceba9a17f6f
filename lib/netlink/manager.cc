// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/manager.hpp"

#include "io/file.hpp"

#include <algorithm>
#include <array>

namespace openipoib::netlink
{

namespace
{

constexpr std::size_t longest = 1 << 16; // bytes of such a file

// What stands behind "key=" at the start of a line; "": nothing does.
std::string_view valueOf(std::string_view text, std::string_view key)
{
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.starts_with(key) && line.substr(key.size()).starts_with('='))
            return line.substr(key.size() + 1);
    }
    return {};
}

} // namespace

bool isNetworkManagers(std::string_view text)
{
    const auto value = valueOf(text, "managed");
    return value == "true" || value == "1";
}

bool isNetworkds(std::string_view text)
{
    static constexpr std::array<std::string_view, 4> states{"configuring", "configured", "failed",
                                                            "linger"};
    return std::ranges::find(states, valueOf(text, "ADMIN_STATE")) != states.end();
}

std::vector<std::string> managersOf(const std::string &run, int index)
{
    const std::string number = std::to_string(index);
    const auto read = [&](const std::string &folder) {
        return io::readFile(run + folder + number, longest).value_or("");
    };
    std::vector<std::string> managers;
    if (isNetworkManagers(read("/NetworkManager/devices/")))
        managers.emplace_back("NetworkManager");
    if (isNetworkds(read("/systemd/netif/links/")))
        managers.emplace_back("systemd-networkd");
    return managers;
}

} // namespace openipoib::netlink
