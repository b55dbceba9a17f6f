// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Documents as the daemon answers them, of pairs in as many states as there are members to see:
// one a line, {"name": ..., "document": ...}. With the argument monitor, what it says to those who
// listen; with metrics, the page of each document instead of the document. For check-schema and
// check-ha-metrics.
#include "ha-daemon/document.hpp"
#include "ha-daemon/metrics.hpp"
#include "ha-daemon/report.hpp"
#include "ha-daemon/session_document.hpp"
#include "ha_roster_world.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <functional>
#include <iostream>
#include <string_view>

namespace openipoib::ha
{
namespace
{

using nlohmann::json;

using Print = std::function<void(const char *name, json pairs)>;

const auto asked = std::chrono::system_clock::time_point(std::chrono::milliseconds(1767225600007));

void printDocument(const char *name, json pairs)
{
    std::cout << json{{"name", name}, {"document", answerOf(std::move(pairs))}}.dump() << '\n';
}

void printPage(const char *name, json pairs)
{
    const auto page = metricsText(answerOf(std::move(pairs)), asked);
    std::cout << json{{"name", name}, {"page", page}}.dump() << '\n';
}

// One session that is up and one that never was, and a port that cannot be opened
json sessions()
{
    const io::Bytes peer{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    Sessions all({.peers = {peer}, .times = {}}, [last = 0U]() mutable { return ++last; });
    const Time now = std::chrono::seconds(1);
    all.watch({{1, 0}}, now);
    all.advance(now, [](const Sessions::One &, const BfdPacket &) {});
    SessionsReport report = reportOf(all);
    report.errors[Side::secondary] = ENODEV;
    report.lines[0].state = report.lines[0].remote = BfdState::up;
    report.lines[0].serves = true;
    return describe(report, {.peers = {peer}, .times = {}}, {{"ib0", "ib1"}});
}

json of(const World &world, const json &outcome = {})
{
    return describeAll(*world.pair, world.now, 3, outcome);
}

World started()
{
    World world;
    world.kernel.give(Side::primary, item(Kind::address4, "10.0.0.1/24"));
    world.kernel.give(Side::primary, item(Kind::address6, "fd10::1/64"));
    world.kernel.give(Side::primary, item(Kind::route4, "192.0.2.0/24 table 254 priority 0"));
    world.kernel.side[Side::primary].manager = "NetworkManager";
    world.kernel.side[Side::secondary].manager = "systemd-networkd";
    world.start();
    world.quiesce();
    return world;
}

void fail(World &world, Side side)
{
    world.kernel.port[side] = "sib0 port 1 is down";
    world.announcePort(side);
    world.quiesce();
}

json of(const RosterWorld &world)
{
    json out = describeAll(world.roster->pair(), world.now, 0, {});
    addSpares(out, *world.roster, "ib0+ib1:ib2", world.now);
    return out;
}

void printSpares(const Print &print)
{
    RosterWorld world;
    world.kernel.give(ib0, item(Kind::address4, "10.0.0.1/24"));
    world.roster.emplace(std::vector<std::string>{"ib0", "ib1", "ib2"}, world.policy, std::nullopt);
    print("with a spare interface, not yet started", json::array({of(world)}));
    world.start();
    world.quiesce();
    world.fail(ib0);
    world.quiesce();
    world.kernel.refused.insert("ib0: arp_ignore 1");
    world.kernel.side[ib0].settings["arp_ignore"] = "0";
    world.look();
    print("a spare interface that fails, and refuses a change", json::array({of(world)}));
}

void printAll(const Print &print)
{
    print("no pair", json::array());
    World unseen;
    unseen.pair.emplace(unseen.policy, std::nullopt);
    print("not yet started", json::array({of(unseen)}));
    print("healthy", json::array({of(started())}));

    json probed = of(started());
    probed["sessions"] = sessions();
    print("probed by BFD", json::array({probed}));

    World moved = started();
    moved.kernel.refused.insert("ib1: add route 192.0.2.0/24 table 254 priority 0");
    fail(moved, Side::primary);
    print("moved, and a change refused", json::array({of(moved)}));

    World connected;
    for (auto &side : connected.kernel.side.values)
        side.connected = true;
    connected.start();
    connected.kernel.side[Side::secondary] = {};
    connected.kernel.side[Side::secondary].name = "ib1";
    connected.announceLink(Side::secondary);
    connected.quiesce();
    connected.look();
    print("connected, and the secondary gone", json::array({of(connected)}));

    printSpares(print);

    World dry = started();
    print("to be switched, two pairs",
          json::array(
              {of(dry, switchOutcome("ib1", dry.pair->whyNotSwitched(), true)), of(started())}));
    dry.tell(SwitchAsked{});
    print("switched", json::array({of(dry, switchOutcome("ib1", "", false))}));
    World refused = started();
    fail(refused, Side::secondary);
    const json outcome = switchOutcome("ib1", refused.pair->whyNotSwitched(), false);
    print("not switched", json::array({of(refused, outcome)}));
}

// One of each event that a pair of two has, and of a replaced standby.
void printSaid()
{
    World world = started();
    fail(world, Side::primary);
    world.kernel.refused.insert("ib0: add route 192.0.2.0/24 table 254 priority 0");
    world.kernel.port[Side::primary] = "";
    world.announcePort(Side::primary);
    world.quiesce();
    world.tell(SwitchAsked{});
    world.quiesce();
    fail(world, Side::secondary);
    world.tell(SwitchAsked{});
    fail(world, Side::primary);
    RosterWorld more;
    more.kernel.give(ib0, item(Kind::address4, "10.0.0.1/24"));
    more.roster.emplace(std::vector<std::string>{"ib0", "ib1", "ib2"}, more.policy, std::nullopt);
    more.start();
    more.quiesce();
    more.fail(ib1);
    more.quiesce();
    std::vector<Say> said = world.said;
    said.insert(said.end(), more.said.begin(), more.said.end());
    for (const auto &one : said)
        std::cout << json{{"name", one.text},
                          {"document", reportDocument({{"ib0", "ib1"}}, one, asked)}}
                         .dump()
                  << '\n';
}

} // namespace
} // namespace openipoib::ha

int main(int argc, char **argv)
{
    using namespace openipoib::ha;
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "monitor") {
        printSaid();
    } else if (what == "metrics") {
        printAll(printPage);
        std::cout << json{{"name", "no daemon"}, {"page", absenceText()}}.dump() << '\n';
    } else {
        printAll(printDocument);
    }
    return testing::UnitTest::GetInstance()->Failed();
}
