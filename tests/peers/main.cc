// SPDX-License-Identifier: GPL-2.0-only OR MIT
// ib-peers: a crowd of peers in connected mode, at the other end of a sib port's cable.
// See --help.
#include "peers/crowd.hpp"
#include "wire/fabric.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <poll.h>

#include <charconv>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

namespace
{

using namespace openipoib;

enum ExitStatus { ok = 0, usage = 1, notReached = 3 };

struct Arguments {
    std::string netdev;
    std::string addresses;
    std::uint64_t guid = 0x0200'00FF'FE00'F4A4;
};

int report(const io::Error &error)
{
    std::cerr << "ib-peers: " << error.text() << '\n';
    return notReached;
}

bool inputReady()
{
    pollfd wait{.fd = 0, .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, 0) > 0;
}

void obey(peers::Crowd &crowd, const std::string &line)
{
    static constexpr std::string_view flood = "flood ";
    std::uint32_t requests = 0;
    if (line == "forget")
        crowd.forget();
    else if (line.starts_with(flood) &&
             std::from_chars(line.data() + flood.size(), line.data() + line.size(), requests).ec ==
                 std::errc{})
        crowd.flood(requests);
    const auto count = crowd.count();
    std::cout << nlohmann::json{{"in", count.in}, {"out", count.out}, {"echoes", count.echoes}}
              << std::endl;
}

// What the crowd has to say; while the port is not active, it is lost.
io::Result<void> sendAll(wire::Fabric &fabric, peers::Crowd &crowd)
{
    for (const auto &packet : crowd.takeOutput()) {
        if (fabric.sma().state() != ib::PortState::active || !fabric.endpoint().isUp())
            continue;
        if (auto sent = fabric.send(packet); !sent && sent.error().code != ETIMEDOUT)
            return sent;
    }
    return {};
}

int serve(wire::Fabric &fabric, peers::Crowd &crowd)
{
    const auto gid = ib::makeGid(ib::defaultPrefix, fabric.sma().guid());
    fabric.onPacket(
        [&crowd](io::View packet) { crowd.receive(packet, std::chrono::steady_clock::now()); });
    for (std::string line;;) {
        if (auto turned = fabric.turn(); !turned)
            return report(turned.error());
        crowd.onPort({.lid = fabric.sma().lid(), .gid = gid, .guid = fabric.sma().guid()});
        crowd.onTime(std::chrono::steady_clock::now());
        if (auto sent = sendAll(fabric, crowd); !sent)
            return report(sent.error());
        if (!inputReady())
            continue;
        if (!std::getline(std::cin, line))
            return ok;
        obey(crowd, line);
    }
}

int run(int argc, char **argv)
{
    Arguments arguments;
    CLI::App app{"Many IPoIB peers in connected mode, as the host at the other end of a sib port's "
                 "cable.\nEach address has a queue pair, and a connection each way with whoever "
                 "pings it.\nReads lines: `forget` loses all connections and tells nobody; `flood "
                 "N` asks whoever\nhas asked last for N connections, each for another interface, "
                 "and ignores the answers;\nthese and any other line are answered by the number "
                 "of connections and of pings. Ends\nwith its input."};
    app.add_option("--netdev", arguments.netdev, "lower network device of the cable")->required();
    app.add_option("--addresses", arguments.addresses, "IPv4 addresses, FIRST-LAST")->required();
    app.add_option("--guid", arguments.guid, "own port GUID");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? ok : usage;
    }
    const auto range = fabric::AddressRange::parse(arguments.addresses);
    if (!range || range->isIpv6) {
        std::cerr << "ib-peers: --addresses wants two IPv4 addresses with a hyphen between\n";
        return usage;
    }
    std::random_device random;
    auto fabric = wire::Fabric::open(arguments.netdev, arguments.guid, random() | 1U);
    if (!fabric)
        return report(fabric.error());
    peers::Crowd crowd(*range, random());
    return serve(*fabric, crowd);
}

} // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::cerr << "ib-peers: " << error.what() << '\n';
        return notReached;
    }
}
