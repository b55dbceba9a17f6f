// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What is asked for: a command line, understood.
#pragma once

#include "netlink/address.hpp"

#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace openipoib::bonding
{

struct Request {
    std::string bond;
    std::vector<netlink::Address> addresses;
    std::vector<std::string> slaves;
    std::string mode = "active-backup";
    // Not asked for: left as it is, or as the kernel's default for a new bond.
    std::optional<unsigned> miimon;      // ms
    std::optional<unsigned> arpInterval; // ms
    std::vector<std::string> arpTargets;
    std::optional<std::string> primary;
    std::optional<std::string> primaryReselect;
    std::optional<unsigned> notifications;
    bool take = false; // slaves that have addresses or are in another bond
};

enum class Action { up, down, downAll, status, statusAll, check };

struct Invocation {
    Action action = Action::statusAll;
    Request request;
    bool json = false;
    bool dryRun = false;
};

// Nothing to be done but to print: help, a version, or what is wrong.
struct Talk {
    std::string text;
    bool isError = true;
};

// OFED's options, and the commands up, down, status and check.
[[nodiscard]] std::expected<Invocation, Talk> parseCommandLine(int argc, const char *const *argv);

// Addresses without a prefix length get one: /24, or /64 for IPv6.
[[nodiscard]] std::optional<netlink::Address> parseBondAddress(const std::string &text);

} // namespace openipoib::bonding
