// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/request.hpp"

#include "netlink/device_name.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>

namespace openipoib::bonding
{

namespace
{

constexpr unsigned maxNotifications = 255;
constexpr unsigned maxTargets = 16; // of the bonding driver
constexpr unsigned maxInterval = 60'000;

// The words as written.
struct Words {
    std::string command;
    std::vector<std::string> names; // as options
    std::optional<std::string> operand;
    std::vector<std::string> addresses;
    std::vector<std::string> slaves;
    std::vector<std::string> targets;
    std::string mode{"active-backup"};
    std::optional<unsigned> miimon, arpInterval, notifications;
    std::optional<std::string> primary, reselect;
    bool stop = false, stopAll = false, status = false, statusAll = false;
    bool take = false, json = false, dryRun = false;
};

std::vector<std::string> split(const std::vector<std::string> &lists)
{
    std::vector<std::string> words;
    for (const auto &list : lists)
        for (std::size_t from = 0; from <= list.size();) {
            const auto to = std::min(list.find(',', from), list.size());
            words.push_back(list.substr(from, to - from));
            from = to + 1;
        }
    return words;
}

void describe(CLI::App &app, Words &words)
{
    app.set_version_flag("-V,--version", "ib-bond " OPENIPOIB_VERSION);
    app.set_help_flag("-h,--help", "print this and end");
    const auto list = [&](const char *name, auto &to, const char *what) {
        app.add_option(name, to, what)->allow_extra_args(false)->type_name("LIST");
    };
    app.add_option("--bond-name,--name", words.names, "the bond")->allow_extra_args(false);
    list("--bond-ip,--ip", words.addresses, "its addresses, IPv4 and IPv6");
    list("--slaves", words.slaves, "its IPoIB interfaces");
    app.add_option("--miimon", words.miimon, "ms between looks at the carriers (100)");
    app.add_option("--arp-interval", words.arpInterval, "ms between questions, instead of miimon");
    list("--arp-targets,--ns-targets", words.targets, "whom to ask, IPv4 and IPv6");
    app.add_option("--primary", words.primary, "the preferred slave");
    app.add_option("--primary-reselect", words.reselect, "when it takes over again")
        ->check(CLI::IsMember({"always", "better", "failure"}));
    app.add_option("--num-peer-notif", words.notifications, "announcements after a failover (1)")
        ->check(CLI::Range(0U, maxNotifications));
    app.add_option("--mode", words.mode, "active-backup is the only one for IPoIB");
    app.add_flag("--take", words.take, "take slaves that have addresses or are in another bond");
    app.add_flag("--stop", words.stop, "remove the bond, give back what it took");
    app.add_flag("--stop-all", words.stopAll, "remove all bonds of IPoIB interfaces");
    app.add_flag("--status", words.status, "show the bond");
    app.add_flag("--status-all", words.statusAll, "show all bonds of IPoIB interfaces");
    app.add_flag("-j,--json", words.json, "answer in JSON");
    app.add_flag("-n,--dry-run", words.dryRun, "print the equivalent ip commands, do nothing");
    app.require_subcommand(0, 1);
    app.fallthrough();
    for (const auto &[name, what] :
         {std::pair("up", "create the bond, or complete it"), std::pair("down", "as --stop"),
          std::pair("status", "as --status, or --status-all without a bond (the default)"),
          std::pair("check", "say what `up` would do or why it would refuse")}) {
        auto *sub = app.add_subcommand(name, what);
        sub->add_option("BOND", words.operand);
        sub->callback([&words, name = std::string(name)] { words.command = name; });
    }
    app.footer("Exit status: 0 done, 1 usage, 2 not as it should be, 3 no such bond, 4 not root,\n"
               "5 failed and undone, 7 refused.");
}

// What of the words contradicts itself; "" if nothing does.
std::string choose(const Words &words, bool isNamed, Action &action)
{
    const bool options = words.stop || words.stopAll || words.status || words.statusAll;
    if (words.stop + words.stopAll + words.status + words.statusAll > 1)
        return "only one of --stop, --stop-all, --status and --status-all";
    if (options && !words.command.empty())
        return fmt::format("'{}' does not go with --stop or --status", words.command);
    const bool creates = !words.addresses.empty() || !words.slaves.empty();
    if (words.stop || words.command == "down")
        action = Action::down;
    else if (words.stopAll)
        action = Action::downAll;
    else if (words.status || (words.command == "status" && isNamed))
        action = Action::status;
    else if (words.command == "check")
        action = Action::check;
    else if (words.command == "up" || (words.command.empty() && !options && (creates || isNamed)))
        action = Action::up;
    if (action == Action::up || action == Action::check)
        return {};
    if (creates || words.miimon || words.arpInterval || words.primary || words.reselect ||
        words.notifications || words.take || !words.targets.empty())
        return "options of a new bond do not go with --stop or --status";
    if ((action == Action::statusAll || action == Action::downAll) && isNamed)
        return "all bonds, or one: not both";
    return {};
}

std::string checkMonitor(const Words &words, const std::vector<std::string> &targets)
{
    if (words.arpInterval && words.miimon)
        return "--miimon or --arp-interval: a bond has one monitor";
    if (words.miimon && (*words.miimon == 0 || *words.miimon > maxInterval))
        return fmt::format("--miimon: expected 1 to {} ms; without it no failure would be seen",
                           maxInterval);
    if (words.arpInterval && (*words.arpInterval == 0 || *words.arpInterval > maxInterval))
        return fmt::format("--arp-interval: expected 1 to {} ms", maxInterval);
    if (words.arpInterval.has_value() == targets.empty())
        return "--arp-interval and --arp-targets go together";
    if (targets.size() > maxTargets)
        return fmt::format("--arp-targets: more than {}", maxTargets);
    for (const auto &target : targets)
        if (target.find('/') != std::string::npos || !netlink::parseAddress(target))
            return fmt::format("--arp-targets: '{}' is no address", target);
    return {};
}

std::string checkSlaves(const Words &words, const std::vector<std::string> &slaves,
                        const std::string &bond)
{
    if (slaves.empty())
        return "--slaves is missing, for example --slaves ib0,ib1";
    for (const auto &slave : slaves)
        if (!netlink::isDeviceName(slave))
            return fmt::format("--slaves: '{}' is no name of an interface", slave);
    if (std::set(slaves.begin(), slaves.end()).size() != slaves.size())
        return "--slaves: one is named twice";
    if (std::ranges::find(slaves, bond) != slaves.end())
        return fmt::format("--slaves: {} cannot be its own slave", bond);
    if (words.primary && !words.primary->empty() &&
        std::ranges::find(slaves, *words.primary) == slaves.end())
        return fmt::format("--primary: '{}' is not among the slaves", *words.primary);
    if (words.reselect && !words.primary)
        return "--primary-reselect needs --primary";
    return {};
}

// The request, from words that do not contradict each other.
std::string fill(const Words &words, Request &request)
{
    const auto targets = split(words.targets);
    request.slaves = split(words.slaves);
    if (auto wrong = checkSlaves(words, request.slaves, request.bond); !wrong.empty())
        return wrong;
    if (words.addresses.empty())
        return "--bond-ip is missing, for example --bond-ip 10.10.10.1/24";
    for (const auto &word : split(words.addresses)) {
        const auto address = parseBondAddress(word);
        if (!address)
            return fmt::format("--bond-ip: '{}' is no address; for example 10.10.10.1/24", word);
        if (std::ranges::find(request.addresses, *address) != request.addresses.end())
            return fmt::format("--bond-ip: {} is named twice", word);
        request.addresses.push_back(*address);
    }
    if (auto wrong = checkMonitor(words, targets); !wrong.empty())
        return wrong;
    request.mode = words.mode;
    request.miimon = words.miimon;
    request.arpInterval = words.arpInterval;
    for (const auto &target : targets) {
        const std::string text = netlink::parseAddress(target)->text();
        request.arpTargets.push_back(text.substr(0, text.find('/')));
    }
    request.primary = words.primary;
    request.primaryReselect = words.reselect;
    request.notifications = words.notifications;
    request.take = words.take;
    return {};
}

std::string understand(const Words &words, Invocation &invocation)
{
    invocation.json = words.json;
    invocation.dryRun = words.dryRun;
    auto names = words.names;
    if (words.operand)
        names.push_back(*words.operand);
    if (auto wrong = choose(words, !names.empty(), invocation.action); !wrong.empty())
        return wrong;
    const Action action = invocation.action;
    if (action == Action::statusAll || action == Action::downAll)
        return {};
    if (names.empty())
        return "--bond-name is missing, for example --bond-name bond0";
    if (names.size() > 1)
        return fmt::format("one bond, not {} and {}", names[0], names[1]);
    if (!netlink::isDeviceName(names[0]))
        return fmt::format("--bond-name: '{}' is no name for an interface: 1 to {} characters, "
                           "without blanks, '/', ':' and '%'",
                           names[0], IFNAMSIZ - 1);
    invocation.request.bond = names[0];
    if (action == Action::up || action == Action::check)
        return fill(words, invocation.request);
    return {};
}

} // namespace

std::optional<netlink::Address> parseBondAddress(const std::string &text)
{
    auto address = netlink::parseAddress(text);
    if (address && text.find('/') == std::string::npos)
        address->prefix = address->family == AF_INET ? 24 : 64;
    return address;
}

std::expected<Invocation, Talk> parseCommandLine(int argc, const char *const *argv)
{
    CLI::App app("Set up and show bonds of IPoIB interfaces.", "ib-bond");
    Words words;
    describe(app, words);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        return std::unexpected(Talk{app.help(), false});
    } catch (const CLI::CallForVersion &) {
        return std::unexpected(Talk{"ib-bond " OPENIPOIB_VERSION "\n", false});
    } catch (const CLI::ParseError &error) {
        return std::unexpected(Talk{error.what()});
    }
    Invocation invocation;
    if (auto wrong = understand(words, invocation); !wrong.empty())
        return std::unexpected(Talk{wrong});
    return invocation;
}

} // namespace openipoib::bonding
