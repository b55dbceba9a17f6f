// SPDX-License-Identifier: GPL-2.0-only OR MIT
// openib: the command line.
#include "conf/openib/commands.hpp"
#include "conf/openib/linux_system.hpp"
#include "diagnose/gather.hpp"
#include "diagnose/report.hpp"
#include "diagnose/rules.hpp"
#include "io/file.hpp"
#include "io/journal.hpp"
#include "io/lock_file.hpp"
#include "io/process.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <array>
#include <iostream>

namespace
{

using namespace openipoib;
using openib::Exit;

// One openib at a time: udev and an administrator may meet.
constexpr auto lockPath = "/run/openib.lock";

conf::Environment environment()
{
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    const std::string full(name.data());
    return {.hostName = full.substr(0, full.find('.'))};
}

bool isBooting()
{
    const auto state = io::runProgram({"systemctl", "is-system-running"});
    return state &&
           (state->output.starts_with("initializing") || state->output.starts_with("starting"));
}

struct Command {
    std::string name = "status";
    std::string argument;
    std::string peer;
};

void describe(CLI::App &app, openib::Options &options, Command &command)
{
    app.set_version_flag("-V,--version", "openib " OPENIPOIB_VERSION);
    app.add_option("-c,--config", options.file, "the configuration file")->capture_default_str();
    app.add_flag("-j,--json", options.json, "answer in JSON");
    app.add_flag("-n,--dry-run", options.dryRun, "say what would be done");
    app.require_subcommand(0, 1);
    app.fallthrough();
    const auto add = [&](const char *name, const char *what) {
        auto *sub = app.add_subcommand(name, what);
        sub->callback([&command, name] { command.name = name; });
        return sub;
    };
    add("status", "adapters, ports, interfaces, and what is not as configured (the default)");
    add("start", "load the stack and set it up")
        ->add_flag("--boot", options.boot, "only if ONBOOT=yes");
    add("stop", "take it down")->add_flag("--force", options.force, "even if it is in use");
    add("restart", "stop and start")->add_flag("--force", options.force, "even if it is in use");
    add("apply", "set up interfaces and adapters that are there")
        ->add_option("DEV", command.argument, "only this one");
    add("keep", "remember what the interfaces have, for when ib_ipoib is loaded again");
    add("check-config", "say what the configuration file lacks")
        ->add_option("FILE", options.file, "another file");
    auto *const look = add("diagnose", "say why an interface does not work, and what mends it");
    look->add_option("DEV", command.argument, "only this one");
    look->add_option("--peer", command.peer, "an address: walk the way to that host, too")
        ->check([](const std::string &text) {
            return diagnose::parsePeer(text) ? std::string() : text + " is no IP address";
        });
    add("show", "the settings that the configuration file makes");
    add("allows", "")
        ->group("")
        ->add_option("WHAT", command.argument)
        ->required()
        ->check(CLI::IsMember({"boot", "ipoib", "stop"}));
    app.footer(
        "Exit status: 0 done, or nothing is wrong; 1 usage; 2 done in part, not as configured, or\n"
        "something is wrong; 3 not started, or nothing to look at; 4 not root; 5 a module failed;\n"
        "6 the configuration file is broken; 7 refused.");
}

bool isAllowed(const Command &command, const openib::Options &options)
{
    const bool allowed = options.dryRun || ::geteuid() == 0;
    if (!allowed)
        std::cerr << "openib: only root can " << command.name << " it; try --dry-run\n";
    return allowed;
}

// What changes something; keep as well: what another has read of the kept settings and is about
// to write must not be older than what it writes.
Exit change(const Command &command, const openib::Options &options, openib::Commands &commands)
{
    if (!isAllowed(command, options))
        return Exit::notPermitted;
    io::UniqueFd lock;
    if (!options.dryRun) {
        auto taken = io::lockFile(lockPath, io::IfLocked::wait);
        if (!taken) {
            std::cerr << "openib: " << taken.error().text() << '\n';
            return Exit::degraded;
        }
        lock = std::move(*taken);
    }
    if (command.name == "keep")
        return commands.keep();
    if (command.name == "start")
        return commands.start();
    if (command.name == "stop")
        return commands.stop();
    if (command.name == "restart")
        return commands.restart();
    return commands.apply(command.argument);
}

Exit diagnoseMachine(const Command &command, const openib::Options &options)
{
    const auto facts = diagnose::gather({.interface = command.argument,
                                         .peer = command.peer,
                                         .configuration = options.file,
                                         .environment = environment()});
    if (!facts) {
        std::cerr << "openib: " << facts.error().text() << '\n';
        return Exit::degraded;
    }
    const auto findings = diagnose::diagnose(*facts);
    const auto document = diagnose::documentOf(*facts, findings);
    std::cout << (options.json ? diagnose::printed(document) : diagnose::textOf(document));
    // The same numbers, which are part of what is promised
    return static_cast<Exit>(diagnose::verdictOf(*facts, findings));
}

Exit execute(const Command &command, const openib::Options &options)
{
    if (command.name == "diagnose")
        return diagnoseMachine(command, options);
    auto system = openib::LinuxSystem::open(options.file);
    if (!system) {
        std::cerr << "openib: " << system.error().text() << '\n';
        return Exit::degraded;
    }
    openib::Commands commands(*system, options, std::cout, std::cerr);
    const auto text = io::readFile(options.file, conf::maxFileBytes);
    if (command.name == "check-config")
        return commands.checkConfig(text, environment());
    if (command.name == "allows")
        return commands.allows(command.argument, text, environment(),
                               command.argument == "boot" && isBooting());
    if (command.name == "keep")
        return change(command, options, commands);
    const Exit configured = commands.configure(text, environment());
    if (command.name == "status")
        return configured == Exit::done ? commands.status()
                                        : std::max(commands.status(), Exit::degraded);
    if (configured != Exit::done)
        return configured;
    return command.name == "show" ? commands.show() : change(command, options, commands);
}

} // namespace

int main(int argc, char **argv)
try {
    static const io::CerrToJournal toJournal;
    CLI::App app("Start, stop and set up the InfiniBand stack by openib.conf.", "openib");
    openib::Options options;
    Command command;
    describe(app, options, command);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) ? static_cast<int>(Exit::usage) : 0;
    }
    return static_cast<int>(execute(command, options));
} catch (const std::exception &error) {
    std::cerr << "openib: " << error.what() << '\n';
    return static_cast<int>(Exit::degraded);
}
