// SPDX-License-Identifier: GPL-2.0-only OR MIT
// ib-frames: sends good and malformed frames and packets to a sib port, as the
// host at the other end of its cable. See --help.
#include "wire/sender.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <poll.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>

namespace
{

using namespace openipoib;
using namespace std::chrono_literals;

enum ExitStatus { ok = 0, usage = 1, degraded = 2, notReached = 3 };

struct Arguments {
    std::string netdev;
    std::string peer;
    std::string peerIp = "10.10.0.1";
    std::string ownIp = "10.10.0.2";
    std::uint32_t qkey = 0x0B1B;
    std::uint64_t guid = 0x0200'00FF'FE00'F4A3;
    std::uint64_t seed = 1;
    std::uint32_t count = 0;
    unsigned seconds = 60;
    bool json = false;
    bool list = false;
    bool interactive = false;
    std::vector<std::string> cases;
};

std::optional<ib::HardwareAddress> parseAddress(const std::string &text)
{
    io::Bytes bytes;
    for (std::size_t at = 0; at + 2 <= text.size(); at += 3) {
        std::uint8_t byte = 0;
        const char *end = text.data() + at + 2;
        if (std::from_chars(text.data() + at, end, byte, 16).ptr != end)
            return std::nullopt;
        bytes.push_back(byte);
    }
    if (bytes.size() != ib::HardwareAddress::size ||
        text.size() != 3 * ib::HardwareAddress::size - 1)
        return std::nullopt;
    return ib::HardwareAddress::parse(bytes);
}

std::optional<wire::Ipv4> parseIpv4(const std::string &text)
{
    wire::Ipv4 ip{};
    const char *at = text.data();
    const char *end = at + text.size();
    for (std::size_t i = 0; i < ip.size(); ++i) {
        if (i != 0 && (at == end || *at++ != '.'))
            return std::nullopt;
        const auto got = std::from_chars(at, end, ip[i]);
        if (got.ec != std::errc{})
            return std::nullopt;
        at = got.ptr;
    }
    return at == end ? std::optional(ip) : std::nullopt;
}

nlohmann::json describe(const wire::Case &what)
{
    return {{"case", what.name},
            {"what", what.what},
            {"counters", what.counters},
            {"ib0", what.ib0},
            {"count", what.defaultCount}};
}

void print(const nlohmann::json &document, bool json)
{
    if (json) {
        std::cout << document.dump() << std::endl;
        return;
    }
    for (const auto &[key, value] : document.items())
        std::cout << key << ' ' << value << "  ";
    std::cout << std::endl;
}

const wire::Case *find(const std::string &name)
{
    const auto found = std::ranges::find(wire::allCases(), name, &wire::Case::name);
    return found == wire::allCases().end() ? nullptr : &*found;
}

// One case, then a probe. The document says how many were sent.
io::Result<nlohmann::json> runCase(wire::Sender &sender, const wire::Case &what,
                                   std::uint32_t count)
{
    auto document = describe(what);
    document["count"] = count;
    if (auto done = sender.run(what, count); !done)
        return std::unexpected(
            io::Error{done.error().code, std::string(what.name) + ": " + done.error().context});
    document["sent"] = count;
    const auto asked = sender.probe(10s);
    if (!asked)
        return std::unexpected(
            io::Error{asked.error().code, std::string(what.name) + ": " + asked.error().context});
    document["probes"] = *asked;
    return document;
}

std::uint32_t countOf(const wire::Case &what, const Arguments &arguments)
{
    return arguments.count != 0 ? arguments.count : what.defaultCount;
}

int report(const io::Error &error)
{
    std::cerr << "ib-frames: " << error.text() << '\n';
    if (error.code == EINVAL)
        return usage;
    return error.code == ENETRESET ? degraded : notReached;
}

bool inputReady()
{
    pollfd wait{.fd = 0, .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, 0) > 0;
}

std::optional<io::Bytes> parseHex(const std::string &text)
{
    io::Bytes bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char *at = text.data() + 2 * i;
        if (std::from_chars(at, at + 2, bytes[i], 16).ptr != at + 2)
            return std::nullopt;
    }
    return text.size() % 2 == 0 ? std::optional(bytes) : std::nullopt;
}

// A line "packet QPN OPCODE PSN [BYTES]", with the extension headers and the payload
// in hexadecimal.
io::Result<nlohmann::json> sendPacket(wire::Sender &sender, std::istream &words)
{
    wire::Connected what;
    unsigned opcode = 0;
    std::string hex;
    words >> what.qpn >> opcode >> what.psn >> hex;
    const auto payload = parseHex(hex);
    if (opcode > 0xFF || !payload)
        return io::fail(EINVAL, "packet");
    what.opcode = static_cast<std::uint8_t>(opcode);
    what.payload = *payload;
    if (auto sent = sender.send(what); !sent)
        return std::unexpected(sent.error());
    return nlohmann::json{{"case", "packet"}, {"sent", 1}};
}

// A line "fuzz COUNT QPN..."
io::Result<nlohmann::json> fuzz(wire::Sender &sender, std::istream &words)
{
    std::uint32_t count = 0;
    words >> count;
    const std::vector<std::uint32_t> qpns(std::istream_iterator<std::uint32_t>(words), {});
    if (qpns.empty())
        return io::fail(EINVAL, "fuzz");
    if (auto sent = sender.fuzz(qpns, count); !sent)
        return std::unexpected(sent.error());
    return nlohmann::json{{"case", "fuzz"}, {"sent", count}};
}

// What one line of input asks for.
io::Result<nlohmann::json> obey(wire::Sender &sender, const std::string &line,
                                const Arguments &arguments)
{
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "packet")
        return sendPacket(sender, words);
    if (name == "fuzz")
        return fuzz(sender, words);
    std::uint32_t count = 0;
    words >> count;
    const auto *what = find(name);
    if (what == nullptr)
        return io::fail(EINVAL, "no case '" + name + "' (see --list)");
    return runCase(sender, *what, count != 0 ? count : countOf(*what, arguments));
}

// Obey lines until the end of standard input, keeping the link alive in between.
int converse(wire::Fabric &fabric, wire::Sender &sender, const Arguments &arguments)
{
    for (std::string line;;) {
        if (auto turned = fabric.until(inputReady, 24h, "input"); !turned)
            return report(turned.error());
        if (!std::getline(std::cin, line))
            return ok;
        auto done = obey(sender, line, arguments);
        if (!done)
            return report(done.error());
        print(*done, arguments.json);
    }
}

int runAll(wire::Sender &sender, const Arguments &arguments)
{
    std::vector<const wire::Case *> chosen;
    for (const auto &name : arguments.cases) {
        chosen.push_back(find(name));
        if (chosen.back() == nullptr) {
            std::cerr << "ib-frames: no case '" << name << "' (see --list)\n";
            return usage;
        }
    }
    if (chosen.empty())
        for (const auto &what : wire::allCases())
            chosen.push_back(&what);
    for (const auto *what : chosen) {
        auto done = runCase(sender, *what, countOf(*what, arguments));
        if (!done)
            return report(done.error());
        print(*done, arguments.json);
    }
    return ok;
}

int work(const Arguments &arguments)
{
    const auto peer = parseAddress(arguments.peer);
    const auto peerIp = parseIpv4(arguments.peerIp);
    const auto ownIp = parseIpv4(arguments.ownIp);
    if (!peer || !peerIp || !ownIp) {
        std::cerr << "ib-frames: --peer wants 20 bytes as `ip link` prints them, --peer-ip and "
                     "--own-ip four numbers with dots\n";
        return usage;
    }
    const auto session = static_cast<std::uint32_t>(std::random_device{}() | 1u);
    auto fabric = wire::Fabric::open(arguments.netdev, arguments.guid, session);
    if (!fabric)
        return report(fabric.error());
    wire::Sender sender(*fabric, {.peer = *peer,
                                  .peerIp = *peerIp,
                                  .ownIp = *ownIp,
                                  .qkey = arguments.qkey,
                                  .seed = arguments.seed});
    const auto limit = std::chrono::seconds(arguments.seconds);
    if (auto up = sender.bringUp(limit); !up)
        return report(up.error());
    const auto asked = sender.probe(limit);
    if (!asked)
        return report(asked.error());
    print({{"up", true},
           {"lid", fabric->sma().lid()},
           {"sm_lid", fabric->sma().smLid()},
           {"probes", *asked}},
          arguments.json);
    return arguments.interactive ? converse(*fabric, sender, arguments) : runAll(sender, arguments);
}

int run(int argc, char **argv)
{
    Arguments arguments;
    CLI::App app{"Send good and malformed frames to a sib port, as the host at the other end of "
                 "its cable:\ntrains the link, lets the subnet manager at the peer make the port "
                 "ACTIVE, then sends\neach case and asks the peer by ARP whether it still works.\n"
                 "No sib device may be on the network device at the same time."};
    app.add_option("--netdev", arguments.netdev, "lower network device of the cable");
    app.add_option("--peer", arguments.peer, "hardware address of the peer's ib0 (20 bytes)");
    app.add_option("--peer-ip", arguments.peerIp, "its IPv4 address")->capture_default_str();
    app.add_option("--own-ip", arguments.ownIp, "address to ask from")->capture_default_str();
    app.add_option("--qkey", arguments.qkey, "Q_Key of the IPoIB group")->capture_default_str();
    app.add_option("--guid", arguments.guid, "own port GUID");
    app.add_option("--seed", arguments.seed, "of everything random")->capture_default_str();
    app.add_option("--count", arguments.count, "how many of each case (default: each its own)");
    app.add_option("--seconds", arguments.seconds, "to wait for the link and the subnet manager")
        ->capture_default_str();
    app.add_flag("-j,--json", arguments.json, "print JSON, one object a line");
    app.add_flag("--list", arguments.list, "list the cases and end");
    app.add_flag("--interactive", arguments.interactive,
                 "read lines `CASE [COUNT]`, `packet QPN OPCODE PSN [BYTES]` and\n"
                 "`fuzz COUNT QPN...`, for connected queue pairs");
    app.add_option("cases", arguments.cases, "cases to send (default: all)");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? ok : usage;
    }
    if (arguments.list) {
        for (const auto &what : wire::allCases())
            print(describe(what), arguments.json);
        return ok;
    }
    if (arguments.netdev.empty() || arguments.peer.empty()) {
        std::cerr << "ib-frames: --netdev and --peer are needed (see --help)\n";
        return usage;
    }
    return work(arguments);
}

} // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::cerr << "ib-frames: " << error.what() << '\n';
        return notReached;
    }
}
