// SPDX-License-Identifier: GPL-2.0-only OR MIT
// ipoib-ha: the command line.
#include "conf/values.hpp"
#include "ha-daemon/daemon.hpp"
#include "ha-daemon/document.hpp"
#include "ha-daemon/linux/priority.hpp"
#include "ha-daemon/metrics.hpp"
#include "ha-daemon/request.hpp"
#include "io/file.hpp"
#include "io/journal.hpp"
#include "netlink/device_name.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <iostream>
#include <optional>

namespace
{

using namespace openipoib;

// systemd starts it again after all but 0 and 1.
enum Status { healthy = 0, usage = 1, degraded = 2, notReachable = 3, failed = 4 };

struct CommandLine {
    std::string command;
    std::string pair;
    std::string output; // of metrics
    bool dryRun = false;
    std::vector<std::string> primaries;
    std::vector<std::string> secondaries;
    std::string file = "/etc/infiniband/openib.conf";
    // nullopt: as the file says, or as it is without one
    std::optional<std::string> failback;
    std::optional<unsigned> targetEvery; // milliseconds
    std::optional<unsigned> targetMisses;
    std::optional<std::string> notify;
    std::vector<std::string> targets;
    std::vector<std::string> probes;
    std::optional<unsigned> probeEvery; // milliseconds
    std::optional<unsigned> probeMisses;
    bool multicast = false;
    bool arping = false;
    bool noArping = false;
    bool json = false;
    ha::Options options;
};

void describeProbes(CLI::App &app, CommandLine &line)
{
    app.add_option("--probe", line.probes,
                   "link-local IPv6 address of a peer's port, with which either interface has a "
                   "BFD session; again for more")
        ->allow_extra_args(false);
    app.add_option("--probe-every", line.probeEvery,
                   "milliseconds between two packets of BFD (default: 100)")
        ->check(CLI::Range(10U, 60000U));
    app.add_option("--probe-misses", line.probeMisses,
                   "packets missed until a session is down (the detection multiplier; default: 3)")
        ->check(CLI::Range(1U, 255U));
}

void describe(CLI::App &app, CommandLine &line)
{
    app.set_version_flag("-V,--version", "ipoib-ha " OPENIPOIB_VERSION);
    app.add_option("-p", line.primaries, "primary interface (default: ib0); again for more pairs")
        ->allow_extra_args(false);
    app.add_option("-s", line.secondaries,
                   "its secondary interface (default: ib1), or several, the most preferred one "
                   "first: ib1:ib2")
        ->allow_extra_args(false);
    app.add_flag("--with-arping", line.arping, "announce addresses that have moved (the default)");
    app.add_flag("--no-arping", line.noArping, "do not")->excludes("--with-arping");
    app.add_flag("--with-multicast", line.multicast,
                 "keep the multicast groups of programs joined on both interfaces");
    app.add_flag("-v,--verbose", line.options.verbose, "say more");
    app.add_option("--failback", line.failback,
                   "when the primary works again: never (the default), or after so many seconds");
    app.add_option("--target", line.targets,
                   "IP address that should answer by either interface; again for more; with "
                   "several pairs ADDRESS%INTERFACE")
        ->allow_extra_args(false);
    app.add_option("--target-every", line.targetEvery,
                   "milliseconds between two questions (default: 1000)")
        ->check(CLI::Range(10U, 60000U));
    app.add_option("--target-misses", line.targetMisses,
                   "unanswered questions in a row until an interface counts as cut off "
                   "(default: 3)")
        ->check(CLI::Range(1U, 1000U));
    describeProbes(app, line);
    app.add_option("--notify", line.notify, "program to be run after each move of the identity");
    app.add_option("-c,--config", line.file, "the configuration file")->capture_default_str();
    app.add_option("--run-folder", line.options.runFolder, "journals and control socket")
        ->capture_default_str();
    app.add_flag("-j,--json", line.json, "answer in JSON");
    app.require_subcommand(0, 1);
    app.fallthrough();
    const auto add = [&](const char *name, const char *what) {
        app.add_subcommand(name, what)->callback([&line, name] { line.command = name; });
    };
    add("run", "be the daemon, for the pair that the configuration file names");
    add("status", "which interface is active, whether the other is fit, past failovers (default)");
    add("monitor", "print every decision as it is made, one JSON object a line");
    add("explain", "the last decisions and their reasons");
    add("switch", "make the other interface the active one, and stay there");
    CLI::App *change = app.get_subcommand("switch");
    change->add_option("PAIR", line.pair,
                       "of this pair alone: one of its interfaces, or all, as IF+IF");
    change->add_flag("--dry-run", line.dryRun, "only say what would be done");
    add("metrics", "the status for Prometheus");
    app.get_subcommand("metrics")->add_option(
        "--output", line.output, "replace this file, for node_exporter, and print nothing");
    add("check-config", "say what the configuration file lacks");
    app.footer("With -p or -s it is the daemon. Exit status: 0 healthy, 1 usage or a broken file,\n"
               "2 degraded, 3 no daemon answers, 4 the daemon cannot go on.");
}

int complain(const std::string &text, Status status = usage)
{
    std::cerr << "ipoib-ha: " << text << '\n';
    return status;
}

// From the file, its complaints printed. nullopt: it is broken, or cannot be read.
std::optional<conf::Settings> readConfiguration(const std::string &path)
{
    const auto text = io::readFile(path);
    if (!text) {
        complain(text.error().text());
        return std::nullopt;
    }
    auto reading = conf::readSettings(*text, {});
    for (const auto &one : reading.diagnostics)
        std::cerr << conf::render(one, path) << '\n';
    if (conf::hasErrors(reading.diagnostics))
        return std::nullopt;
    return std::move(reading.settings);
}

// The value of an option by the parser of openib.conf
template <typename T>
io::Result<void> set(const char *option, const std::string &text,
                     conf::Parsed<T> (*parse)(std::string_view), T &to)
{
    auto parsed = parse(text);
    if (!parsed)
        return io::fail(EINVAL, std::string(option) + ": " + parsed.error().what + "; " +
                                    parsed.error().cure);
    to = std::move(*parsed);
    return {};
}

io::Result<std::vector<conf::HaPair>> pairsOf(const CommandLine &line)
{
    const auto orDefault = [](std::vector<std::string> names, const char *byDefault) {
        if (names.empty())
            names.emplace_back(byDefault);
        return names;
    };
    const auto primaries = orDefault(line.primaries, "ib0");
    for (const auto &name : primaries)
        if (!netlink::isDeviceName(name))
            return io::fail(EINVAL, "'" + name + "' is not the name of an interface");
    std::vector<std::vector<std::string>> secondaries;
    for (const auto &names : orDefault(line.secondaries, "ib1")) {
        std::vector<std::vector<std::string>> some;
        if (const auto done = set("-s", names, conf::parseSecondaries, some); !done)
            return std::unexpected(done.error());
        std::ranges::move(some, std::back_inserter(secondaries));
    }
    auto pairs = conf::pairUp(primaries, secondaries);
    if (!pairs)
        return io::fail(EINVAL, pairs.error().what + "; " + pairs.error().cure);
    return std::move(*pairs);
}

// What openib.conf asks for.
io::Result<conf::Ha> configured(const std::string &path)
{
    auto settings = readConfiguration(path);
    if (!settings)
        return io::fail(EINVAL, path + " is not used");
    if (!settings->ha)
        return io::fail(EINVAL, path + ": IPOIBHA_ENABLE is not yes");
    return std::move(*settings->ha);
}

// The value of an option that can be given again by the parser of a list
io::Result<void> setList(const char *option, const std::vector<std::string> &values,
                         conf::Parsed<std::vector<conf::HaTarget>> (*parse)(std::string_view),
                         std::vector<conf::HaTarget> &to)
{
    std::string all;
    for (const auto &value : values)
        all += value + ",";
    return values.empty() ? io::Result<void>() : set(option, all, parse, to);
}

io::Result<void> checked(const char *option, const conf::Parsed<void> &fit)
{
    if (fit)
        return {};
    return io::fail(EINVAL,
                    std::string(option) + ": " + fit.error().what + "; " + fit.error().cure);
}

// What the command line says goes before what the file says.
io::Result<void> override(const CommandLine &line, conf::Ha &ha)
{
    ha.targetInterval = line.targetEvery.value_or(ha.targetInterval);
    ha.targetMisses = line.targetMisses.value_or(ha.targetMisses);
    ha.probeInterval = line.probeEvery.value_or(ha.probeInterval);
    ha.probeMisses = line.probeMisses.value_or(ha.probeMisses);
    ha.multicast = ha.multicast || line.multicast;
    io::Result<void> done;
    if (line.failback)
        done = set("--failback", *line.failback, conf::parseFailback, ha.failback);
    if (done && line.notify)
        done = set("--notify", *line.notify, conf::parseProgram, ha.notify);
    if (done)
        done = setList("--target", line.targets, conf::parseTargets, ha.targets);
    if (done)
        done = setList("--probe", line.probes, conf::parseProbes, ha.probes);
    if (done)
        done = checked("--target", conf::checkTargets(ha.targets, ha.pairs));
    if (done)
        done = checked("--probe", conf::checkProbes(ha.probes, ha.pairs));
    return done;
}

io::Result<ha::Configuration> configuration(const CommandLine &line)
{
    conf::Ha ha;
    ha.multicast = false;
    if (line.command == "run") {
        auto read = configured(line.file);
        if (!read)
            return std::unexpected(read.error());
        ha = std::move(*read);
    } else {
        auto pairs = pairsOf(line);
        if (!pairs)
            return std::unexpected(pairs.error());
        ha.pairs = std::move(*pairs);
    }
    if (const auto done = override(line, ha); !done)
        return std::unexpected(done.error());
    auto made = ha::configurationOf(ha);
    made.policy.announce = !line.noArping;
    return made;
}

int runDaemon(const CommandLine &line)
{
    ha::Options options = line.options;
    if (line.command == "run")
        options.reread = [line] { return configuration(line); };
    auto wanted = configuration(line);
    if (!wanted)
        return complain(wanted.error().context);
    options.configuration = std::move(*wanted);
    if (::geteuid() != 0)
        return complain("only root can run it");
    auto daemon = ha::Daemon::open(options);
    if (!daemon && daemon.error().code == EBUSY)
        return complain("another one runs: " + daemon.error().context + " is locked");
    if (!daemon)
        return complain(daemon.error().text(), failed);
    if (const auto done = ha::hurry(); !done)
        complain(done.error().text());
    if (const auto done = (*daemon)->run(); !done)
        return complain(done.error().text(), failed);
    return healthy;
}

// The metrics are where they should be; @status: of the daemon
int publish(const CommandLine &line, const std::string &text, Status status)
{
    constexpr mode_t forAll = 0644;
    if (line.output.empty())
        std::cout << text;
    else if (const auto done = io::replaceFile(line.output, text, forAll); !done)
        return complain(done.error().text(), failed);
    return status;
}

// A reader of metrics is told that the daemon is not there, since silence looks like what was
// true before. Others are told why.
int noAnswer(const CommandLine &line, const std::string &why)
{
    if (line.output.empty())
        complain(why);
    return line.command == "metrics" ? publish(line, ha::absenceText(), notReachable)
                                     : notReachable;
}

int askDaemon(const CommandLine &line)
{
    constexpr auto patience = std::chrono::seconds(5);
    const std::string path = line.options.runFolder + "/" + ha::controlName;
    std::string answer;
    const auto request = ha::writeRequest({line.command, line.pair, line.dryRun});
    const auto asked = ha::ask(
        path, request,
        [&](const std::string &piece) {
            if (line.command == "monitor")
                std::cout << piece << std::flush;
            else
                answer += piece;
            return static_cast<bool>(std::cout);
        },
        line.command == "monitor" ? ha::Time{} : patience);
    if (!asked)
        return noAnswer(line, (asked.error().code == ETIMEDOUT ? "the daemon does not answer: "
                                                               : "no daemon: ") +
                                  asked.error().text());
    if (line.command == "monitor")
        return healthy;
    const auto document = nlohmann::json::parse(answer, nullptr, false);
    if (document.is_discarded())
        return noAnswer(line, "the daemon has not answered");
    if (document.contains("error")) {
        const std::string why = "the daemon: " + document["error"].get<std::string>();
        return line.command == "switch" ? complain(why) : noAnswer(line, why);
    }
    const Status status = ha::isHealthy(document) && !ha::isRefused(document) ? healthy : degraded;
    if (line.command == "metrics")
        return publish(line, ha::metricsText(document, std::chrono::system_clock::now()), status);
    if (line.json)
        std::cout << document.dump(2) << '\n';
    else if (line.command == "explain")
        std::cout << ha::explainText(document);
    else
        std::cout << ha::switchText(document) << ha::statusText(document);
    return status;
}

} // namespace

int main(int argc, char **argv)
try {
    static const io::CerrToJournal toJournal;
    CLI::App app("Keeps the IP identity of an IPoIB interface alive when its port fails.",
                 "ipoib-ha");
    CommandLine line;
    describe(app, line);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) ? usage : 0;
    }
    const bool asDaemon = !line.primaries.empty() || !line.secondaries.empty() || line.arping ||
                          line.noArping || line.multicast || line.failback || line.notify ||
                          !line.targets.empty() || !line.probes.empty();
    if (line.command == "check-config")
        return readConfiguration(line.file) ? healthy : usage;
    if (line.command == "run" || (line.command.empty() && asDaemon))
        return runDaemon(line);
    if (line.command.empty())
        line.command = "status";
    return askDaemon(line);
} catch (const std::exception &error) {
    return complain(error.what(), failed);
}
