// SPDX-License-Identifier: GPL-2.0-only OR MIT
// ipoib-ha: the command line.
#include "conf/settings.hpp"
#include "ha-daemon/daemon.hpp"
#include "ha-daemon/document.hpp"
#include "ha-daemon/linux/priority.hpp"
#include "ha-daemon/metrics.hpp"
#include "ha-daemon/request.hpp"
#include "io/file.hpp"

#include <CLI/CLI.hpp>
#include <arpa/inet.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <charconv>
#include <iostream>
#include <optional>
#include <set>

namespace
{

using namespace openipoib;

// systemd starts it again after all but 0 and 1.
enum Status { healthy = 0, usage = 1, degraded = 2, notReachable = 3, failed = 4 };

struct CommandLine {
    std::string command;
    std::string pair;
    bool dryRun = false;
    std::vector<std::string> primaries;
    std::vector<std::string> secondaries;
    std::string failback = "never";
    std::string file = "/etc/infiniband/openib.conf";
    std::vector<std::string> targets;
    unsigned targetEvery = 1000; // milliseconds
    bool arping = false;
    bool noArping = false;
    bool json = false;
    ha::Options options;
};

void describe(CLI::App &app, CommandLine &line)
{
    app.set_version_flag("-V,--version", "ipoib-ha " OPENIPOIB_VERSION);
    app.add_option("-p", line.primaries, "primary interface (default: ib0); again for more pairs")
        ->allow_extra_args(false);
    app.add_option("-s", line.secondaries, "its secondary interface (default: ib1)")
        ->allow_extra_args(false);
    app.add_flag("--with-arping", line.arping, "announce addresses that have moved (the default)");
    app.add_flag("--no-arping", line.noArping, "do not")->excludes("--with-arping");
    app.add_flag("--with-multicast", line.options.multicast,
                 "keep the multicast groups of programs joined on both interfaces");
    app.add_flag("-v,--verbose", line.options.verbose, "say more");
    app.add_option("--failback", line.failback,
                   "when the primary works again: never, or after so many seconds")
        ->capture_default_str();
    app.add_option("--target", line.targets,
                   "IP address that should answer by either interface; again for more")
        ->allow_extra_args(false);
    app.add_option("--target-every", line.targetEvery, "milliseconds between two questions")
        ->check(CLI::Range(10U, 60000U))
        ->capture_default_str();
    app.add_option("--target-misses", line.options.targets.misses,
                   "unanswered questions in a row until an interface counts as cut off")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
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
    change->add_option("PAIR", line.pair, "of this pair alone: one of its interfaces, or IF+IF");
    change->add_flag("--dry-run", line.dryRun, "only say what would be done");
    add("metrics", "the status for Prometheus");
    add("check-config", "say what the configuration file lacks");
    app.footer("With -p or -s it is the daemon. Exit status: 0 healthy, 1 usage or a broken file,\n"
               "2 degraded, 3 no daemon is there, 4 the daemon cannot go on.");
}

int complain(const std::string &text, Status status = usage)
{
    std::cerr << "ipoib-ha: " << text << '\n';
    return status;
}

bool setFailback(const std::string &text, ha::Policy &policy)
{
    if (text == "never")
        return true;
    unsigned seconds = 0;
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc{} || at != text.data() + text.size() || seconds > 86400)
        return false;
    policy.failback = std::chrono::seconds(seconds);
    return true;
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

std::vector<ha::Names> pairsOf(const CommandLine &line)
{
    std::vector<ha::Names> pairs;
    const std::size_t count =
        std::max<std::size_t>({line.primaries.size(), line.secondaries.size(), 1});
    for (std::size_t i = 0; i < count; ++i)
        pairs.push_back({{i < line.primaries.size() ? line.primaries[i] : "ib0",
                          i < line.secondaries.size() ? line.secondaries[i] : "ib1"}});
    return pairs;
}

io::Result<std::vector<ha::Names>> usable(std::vector<ha::Names> pairs)
{
    std::set<std::string> names;
    for (const auto &pair : pairs)
        for (const auto &name : pair.values)
            if (!names.insert(name).second || name.empty() || name.find('/') != std::string::npos)
                return io::fail(EINVAL, "'" + name + "' cannot be used, or not twice");
    return pairs;
}

io::Result<std::vector<ha::Names>> configuredPairs(const std::string &path)
{
    const auto settings = readConfiguration(path);
    if (!settings)
        return io::fail(EINVAL, path);
    if (!settings->ha)
        return io::fail(EINVAL, path + ": IPOIBHA_ENABLE is not yes");
    return usable({{{settings->ha->primary, settings->ha->secondary}}});
}

// nullopt: no address, or not one that a single other host has
std::optional<io::Bytes> hostAddress(const std::string &text)
{
    in_addr four{};
    if (::inet_pton(AF_INET, text.c_str(), &four) == 1) {
        const io::View bytes(reinterpret_cast<const std::uint8_t *>(&four), sizeof four);
        if (bytes[0] == 0 || bytes[0] == IN_LOOPBACKNET || bytes[0] >= 224)
            return std::nullopt;
        return io::Bytes(bytes.begin(), bytes.end());
    }
    in6_addr six{};
    if (::inet_pton(AF_INET6, text.c_str(), &six) != 1 || IN6_IS_ADDR_UNSPECIFIED(&six) ||
        IN6_IS_ADDR_LOOPBACK(&six) || IN6_IS_ADDR_MULTICAST(&six) || IN6_IS_ADDR_V4MAPPED(&six))
        return std::nullopt;
    return io::Bytes(std::begin(six.s6_addr), std::end(six.s6_addr));
}

io::Result<void> setTargets(const CommandLine &line, ha::TargetPolicy &policy)
{
    policy.every = std::chrono::milliseconds(line.targetEvery);
    for (const auto &text : line.targets) {
        auto address = hostAddress(text);
        if (!address)
            return io::fail(EINVAL, "--target: '" + text + "' is not the address of a host");
        policy.addresses.push_back(std::move(*address));
    }
    return {};
}

int runDaemon(CommandLine &line)
{
    if (line.command == "run")
        line.options.reread = [file = line.file] { return configuredPairs(file); };
    else if (line.primaries.size() > 1 && line.primaries.size() != line.secondaries.size())
        return complain("every -p needs its -s");
    auto pairs = line.options.reread ? line.options.reread() : usable(pairsOf(line));
    if (!pairs)
        return complain(pairs.error().text());
    line.options.pairs = std::move(*pairs);
    if (const auto set = setTargets(line, line.options.targets); !set)
        return complain(set.error().context);
    if (!line.targets.empty() && line.options.pairs.size() > 1)
        return complain("--target: with several pairs it is not known whose it is");
    if (!setFailback(line.failback, line.options.policy))
        return complain("--failback: '" + line.failback + "' is neither never nor seconds");
    line.options.policy.announce = !line.noArping;
    if (::geteuid() != 0)
        return complain("only root can run it");
    auto daemon = ha::Daemon::open(line.options);
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

int askDaemon(const CommandLine &line)
{
    const std::string path = line.options.runFolder + "/" + ha::controlName;
    std::string answer;
    const auto request = ha::writeRequest({line.command, line.pair, line.dryRun});
    const auto asked = ha::ask(path, request, [&](const std::string &piece) {
        if (line.command == "monitor")
            std::cout << piece << std::flush;
        else
            answer += piece;
        return static_cast<bool>(std::cout);
    });
    if (!asked) {
        std::cerr << "ipoib-ha: no daemon: " << asked.error().text() << '\n';
        return notReachable;
    }
    if (line.command == "monitor")
        return healthy;
    const auto document = nlohmann::json::parse(answer, nullptr, false);
    if (document.is_discarded()) {
        std::cerr << "ipoib-ha: the daemon has not answered\n";
        return notReachable;
    }
    if (document.contains("error")) {
        std::cerr << "ipoib-ha: the daemon: " << document["error"].get<std::string>() << '\n';
        return line.command == "switch" ? usage : notReachable;
    }
    if (line.command == "metrics")
        std::cout << ha::metricsText(document, std::chrono::system_clock::now());
    else if (line.json)
        std::cout << document.dump(2) << '\n';
    else if (line.command == "explain")
        std::cout << ha::explainText(document);
    else
        std::cout << ha::switchText(document) << ha::statusText(document);
    return ha::isHealthy(document) && !ha::isRefused(document) ? healthy : degraded;
}

} // namespace

int main(int argc, char **argv)
try {
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
                          line.noArping || line.options.multicast;
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
