// SPDX-License-Identifier: GPL-2.0-only OR MIT
// ib-fleet: a subnet of many hosts, and its subnet manager, at the other end of a sib port's
// cable. See --help.
#include "fleet/administration.hpp"
#include "fleet/hosts.hpp"
#include "ib/packet_builder.hpp"
#include "wire/fabric.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <poll.h>

#include <iostream>
#include <random>
#include <string>

namespace
{

using namespace openipoib;

enum ExitStatus { ok = 0, usage = 1, notReached = 3 };

constexpr std::uint64_t guid = 0x0200'00FF'FE00'F1EE;
constexpr std::uint32_t smiQpn = 0;
constexpr std::uint32_t gsiQpn = 1;

struct Arguments {
    std::string netdev;
    std::string addresses;
    unsigned rate = 1000;
    fleet::Faults::Rates faults;
    std::uint32_t seed = 0;
};

class Fleet
{
  public:
    Fleet(wire::Fabric fabric, const fabric::AddressRange &range, const Arguments &arguments)
        : fabric_(std::move(fabric)), hosts_(range),
          administration_([this](const ib::Gid &gid) { return hosts_.lidOf(gid); }, arguments.rate,
                          fleet::Faults(arguments.faults, arguments.seed))
    {
    }

    // Until the input ends.
    io::Result<void> serve();

  private:
    void receive(io::View packet);
    void receiveManagement(io::View packet, const fabric::PacketHeaders &headers);
    io::Result<void> sendAll();
    void obey(const std::string &line);
    void takeOver(bool renumbers);
    void say();

    wire::Fabric fabric_;
    fleet::Hosts hosts_;
    fleet::Administration administration_;
    fleet::SubnetManager manager_;
    bool wasUp_ = false;
    std::uint16_t asker_ = 0;
    std::vector<io::Bytes> output_;
};

fleet::Time now()
{
    return std::chrono::steady_clock::now();
}

void Fleet::receive(io::View packet)
{
    const auto headers = fabric::PacketHeaders::parse(packet);
    if (!headers || headers->isRaw)
        return;
    if (headers->qpn == smiQpn || headers->qpn == gsiQpn)
        return receiveManagement(packet, *headers);
    if (auto answer = hosts_.answer(packet, now()))
        output_.push_back(std::move(*answer));
}

void Fleet::receiveManagement(io::View packet, const fabric::PacketHeaders &headers)
{
    const std::size_t at = headers.bthAt + ib::Bth::size + ib::Deth::size;
    if (packet.size() < at + ib::Mad::size)
        return;
    const io::View mad = packet.subspan(at, ib::Mad::size);
    if (headers.qpn == smiQpn)
        return manager_.receive(mad);
    // What is sent to the manager before is lost, as with a host that is down.
    if (headers.lrh.dlid != manager_.lid() ||
        ib::Mad::parse(mad)->mgmtClass != ib::MgmtClass::subnAdm)
        return;
    asker_ = headers.lrh.slid;
    administration_.receive(mad, now());
}

io::Result<void> Fleet::sendAll()
{
    if (auto smp = manager_.due(now()))
        output_.push_back(std::move(*smp));
    for (const auto &mad : administration_.due(now()))
        output_.push_back(ib::PacketBuilder{}
                              .lrh({.dlid = asker_, .slid = manager_.lid()})
                              .bth({.qpn = gsiQpn})
                              .deth({.qkey = ib::gsiQkey, .sourceQpn = gsiQpn})
                              .payload(mad)
                              .build());
    for (const auto &packet : std::exchange(output_, {})) {
        if (!fabric_.endpoint().isUp())
            continue;
        if (auto sent = fabric_.send(packet); !sent && sent.error().code != ETIMEDOUT)
            return sent;
    }
    return {};
}

void Fleet::takeOver(bool renumbers)
{
    manager_.takeOver();
    administration_.takeOver();
    if (renumbers)
        hosts_.renumber();
    hosts_.watch(now());
}

void Fleet::say()
{
    const auto count = administration_.takeCount();
    const auto reached = hosts_.reached();
    std::cout << nlohmann::json{{"registered", manager_.hasAll()},
                                {"requests", count.requests},
                                {"paths", count.paths},
                                {"joins", count.joins},
                                {"again", count.again},
                                {"most_waiting", count.mostWaiting},
                                {"wrong", count.wrong},
                                {"twice", count.twice},
                                {"reached", reached.hosts},
                                {"half_ms", reached.half.count()},
                                {"last_ms", reached.last.count()}}
              << std::endl;
}

void Fleet::obey(const std::string &line)
{
    if (line == "watch")
        hosts_.watch(now());
    if (line == "right")
        administration_.endFaults();
    if (line == "takeover" || line == "renumber")
        takeOver(line == "renumber");
    say();
}

io::Result<void> Fleet::serve()
{
    fabric_.onPacket([this](io::View packet) { receive(packet); });
    for (std::string line;;) {
        if (auto turned = fabric_.turn(); !turned)
            return turned;
        if (fabric_.endpoint().isUp() && !wasUp_)
            manager_.begin();
        wasUp_ = fabric_.endpoint().isUp();
        if (auto sent = sendAll(); !sent)
            return sent;
        pollfd wait{.fd = 0, .events = POLLIN, .revents = 0};
        if (::poll(&wait, 1, 0) <= 0)
            continue;
        if (!std::getline(std::cin, line))
            return {};
        obey(line);
    }
}

int report(const io::Error &error)
{
    std::cerr << "ib-fleet: " << error.text() << '\n';
    return notReached;
}

int run(int argc, char **argv)
{
    Arguments arguments;
    CLI::App app{
        "A subnet of many hosts, each with a port, a LID and an IPv4 address, and its subnet "
        "manager,\nat the other end of a sib port's cable. The hosts answer ARP and pings.\n"
        "Reads lines, each after the answer to the one before: `watch` begins to note when hosts "
        "are\nreached; `takeover` has another subnet manager take over, at another LID; `renumber` "
        "as well,\nand all hosts get other LIDs; both watch; `right` has all answers right from "
        "then "
        "on. These\nand any other line are answered by an object: requests to the SA since the "
        "last "
        "line, paths and\njoins among them, those asked `again` before they were answered, the "
        "most "
        "that waited at a\ntime; answers that were `wrong`, or came `twice`; hosts `reached`, and "
        "after how many\nmilliseconds half of these and the last were. Ends with its input."};
    app.add_option("--netdev", arguments.netdev, "lower network device of the cable")->required();
    app.add_option("--addresses", arguments.addresses, "IPv4 addresses, FIRST-LAST")->required();
    app.add_option("--rate", arguments.rate, "answers of the SA a second (1000)")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--wrong", arguments.faults.wrong,
                   "percent of path records and memberships that are wrong (0)")
        ->check(CLI::Range(0, 100));
    app.add_option("--twice", arguments.faults.twice, "percent of answers that come twice (0)")
        ->check(CLI::Range(0, 100));
    app.add_option("--seed", arguments.seed, "what both are drawn from (0)");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? ok : usage;
    }
    const auto range = fabric::AddressRange::parse(arguments.addresses);
    if (!range || range->isIpv6 || range->count() > fleet::Hosts::most) {
        std::cerr << "ib-fleet: --addresses wants two IPv4 addresses with a hyphen between, for no "
                     "more than "
                  << fleet::Hosts::most << " hosts\n";
        return usage;
    }
    std::random_device random;
    auto fabric = wire::Fabric::open(arguments.netdev, guid, random() | 1U);
    if (!fabric)
        return report(fabric.error());
    Fleet fleet(std::move(*fabric), *range, arguments);
    if (auto served = fleet.serve(); !served)
        return report(served.error());
    return ok;
}

} // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::cerr << "ib-fleet: " << error.what() << '\n';
        return notReached;
    }
}
