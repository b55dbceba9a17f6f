// SPDX-License-Identifier: GPL-2.0-only OR MIT
// ibfabric: a virtual InfiniBand fabric. See --help and docs/ibfabric.md.
#include "core/fabric.hpp"

#include "io/guid_base.hpp"
#include "io/key_file.hpp"
#include "io/loop.hpp"
#include "io/open_cable.hpp"
#include "topology/parser.hpp"

#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>

namespace
{

using namespace openipoib;

enum ExitStatus { ok = 0, usage = 1, notReached = 3 };

struct Arguments {
    std::string topology;
    std::string guids;
    std::string key;
    std::string control;
    std::string capture;
    std::uint64_t captureMiB = 64;
    std::vector<std::string> ports;
    std::vector<std::string> peers;
    std::optional<std::uint32_t> seed;
};

int report(const std::string &text, ExitStatus status)
{
    std::cerr << "ibfabric: " << text << '\n';
    return status;
}

std::expected<fabric::Topology, std::string> load(const std::string &name, const std::string &guids)
{
    std::ifstream file(name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file)
        return std::unexpected(name + ": cannot be read");
    auto topology = fabric::parseTopology(
        text, name, guids.empty() ? fabric::guidBaseOfFile(name) : fabric::guidBaseOfWord(guids));
    if (!topology)
        return std::unexpected(topology.error().text());
    return std::move(*topology);
}

std::expected<void, std::string> addPeer(fabric::Fabric &net, const std::string &word)
{
    const auto equals = word.find('=');
    const auto port = net.topology().findPort(std::string_view(word).substr(0, equals));
    if (equals == std::string::npos || !port)
        return std::unexpected("expected HOST:PORT=FIRST[-LAST], a port of the topology");
    const auto addresses = fabric::AddressRange::parse(std::string_view(word).substr(equals + 1));
    if (!addresses)
        return std::unexpected("expected FIRST[-LAST], unicast IP addresses of one family");
    const auto added = net.addPeer(*port, *addresses, std::chrono::steady_clock::now());
    return added ? std::expected<void, std::string>{} : std::unexpected(added.error().context);
}

// Plug a cable in, where --port says it.
std::expected<void, std::pair<std::string, ExitStatus>>
addCable(fabric::Loop &loop, const fabric::Topology &topology, const std::string &word,
         io::View key, const fabric::FdCable::Random &random)
{
    const auto failed = [&word](const std::string &text, ExitStatus status) {
        return std::unexpected(std::pair("--port " + word + ": " + text, status));
    };
    const auto equals = word.find('=');
    const auto port = topology.findPort(std::string_view(word).substr(0, equals));
    if (equals == std::string::npos || !port)
        return failed("expected HOST:PORT=KIND:NAME, a port of the topology", usage);
    auto cable = fabric::openCable(std::string_view(word).substr(equals + 1), key, random);
    if (!cable)
        return failed(cable.error().text(), cable.error().code == EINVAL ? usage : notReached);
    if (auto added = loop.add(*port, std::move(*cable)); !added)
        return failed(added.error().text(), usage);
    return {};
}

int work(const Arguments &arguments)
{
    auto topology = load(arguments.topology, arguments.guids);
    if (!topology)
        return report(topology.error(), usage);
    io::Bytes key;
    if (!arguments.key.empty()) {
        auto read = fabric::readKey(arguments.key);
        if (!read)
            return report("--key " + read.error().text(), usage);
        key = std::move(*read);
    }
    std::random_device device;
    const auto random = [&device] { return static_cast<std::uint32_t>(device()); };
    std::mt19937 chance(arguments.seed.value_or(random()));
    const auto next = [&chance] { return static_cast<std::uint32_t>(chance()); };
    fabric::Fabric net(std::move(*topology), random, next);
    auto loop = fabric::Loop::open(net);
    if (!loop)
        return report(loop.error().text(), notReached);
    for (const auto &word : arguments.ports)
        if (const auto added = addCable(**loop, net.topology(), word, key, random); !added)
            return report(added.error().first, added.error().second);
    for (const auto &word : arguments.peers)
        if (const auto added = addPeer(net, word); !added)
            return report("--peer " + word + ": " + added.error(), usage);
    if (!arguments.capture.empty())
        if (auto open = (*loop)->record(arguments.capture, arguments.captureMiB << 20); !open)
            return report("--pcap " + open.error().text(), notReached);
    if (!arguments.control.empty())
        if (auto listening = (*loop)->listen(arguments.control); !listening)
            return report("--control " + listening.error().text(), notReached);
    const auto done = (*loop)->run();
    return done ? ok : report(done.error().text(), notReached);
}

int run(int argc, char **argv)
{
    Arguments arguments;
    CLI::App app{
        "A virtual InfiniBand fabric: switches that a subnet manager sweeps and programs,\n"
        "joined to hosts with sib devices. Ends on SIGTERM and SIGINT."};
    app.add_option("--topology", arguments.topology,
                   "switches, hosts and cables, as ibnetdiscover prints them")
        ->required();
    app.add_option("--guids", arguments.guids,
                   "make GUIDs that the topology does not have from this word, instead of from\n"
                   "this machine and the name of the topology's file");
    app.add_option(
        "--port", arguments.ports,
        "HOST:PORT=netdev:NAME|tap:NAME|unix:PATH|fd:NUMBER|udp:[LOCAL]:PORT[=REMOTE:PORT],\n"
        "where a host's port is really, or what a switch's free port is cabled to; may be\n"
        "repeated. Hosts without one are emulated: they answer MADs.");
    app.add_option("--key", arguments.key,
                   "a file with 64 hexadecimal digits, which both ends of udp: cables have");
    app.add_option(
        "--peer", arguments.peers,
        "HOST:PORT=FIRST[-LAST], IPv4 or IPv6 addresses for which the port of an emulated\n"
        "host answers ARP, neighbour solicitations and pings; may be repeated");
    app.add_option("--control", arguments.control, "a socket to be made for ibfabric-ctl");
    app.add_option("--pcap", arguments.capture,
                   "write all packets there, for tshark; the previous file is FILE.1");
    app.add_option("--pcap-size", arguments.captureMiB, "MiB of both files together")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    app.add_option("--seed", arguments.seed,
                   "a number: faults choose their packets by it (default: by chance)");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? ok : usage;
    }
    return work(arguments);
}

} // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        return report(error.what(), notReached);
    }
}
