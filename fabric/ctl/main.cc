// SPDX-License-Identifier: GPL-2.0-only OR MIT
// ibfabric-ctl: looks at a running ibfabric, and lets things go wrong in it. See
// --help and docs/ibfabric.md.
#include "ctl/amount.hpp"
#include "ctl/client.hpp"
#include "ctl/render.hpp"

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <optional>

namespace
{

using namespace openipoib;
using nlohmann::json;

enum ExitStatus { ok = 0, usage = 1, degraded = 2, notReached = 3 };

struct Arguments {
    std::string socket = "/run/ibfabric.socket";
    std::string place;
    std::string peer;
    std::string name;
    std::string addresses;
    std::string state;
    std::string amount;
    std::string time;
    std::vector<std::string> packets;
    std::vector<std::string> nodes;
    std::optional<unsigned> id;
    std::uint64_t count = 0;
    bool isJson = false;
    bool isDot = false;
};

int report(const std::string &text, ExitStatus status)
{
    std::cerr << "ibfabric-ctl: " << text << '\n';
    return status;
}

void addFaults(CLI::App &app, Arguments &arguments)
{
    CLI::App *faults = app.add_subcommand("fault", "let something go wrong, or right again");
    faults->require_subcommand(1);
    const auto lasting = [&](const char *name, const char *about) {
        CLI::App *fault = faults->add_subcommand(name, about);
        fault->add_option("--for", arguments.time,
                          "how long, such as 500ms or 5s (default: for ever)");
        return fault;
    };
    const auto add = [&](const char *name, const char *about, const char *place) {
        CLI::App *fault = lasting(name, about);
        fault->add_option(place, arguments.place, "such as sw1:3 or h1:1, or sw1")->required();
        return fault;
    };
    for (const auto &[name, about, place] :
         {std::tuple{"link", "pull the cable at a port, or plug it in", "PORT"},
          {"port", "switch a port off or on", "PORT"},
          {"switch", "switch a switch off or on; it comes back with empty tables", "SWITCH"}})
        add(name, about, place)
            ->add_option("STATE", arguments.state, "down or up")
            ->required()
            ->check(CLI::IsMember({"down", "up"}));
    add("stuck", "a switch answers no MAD, and forwards", "SWITCH");
    lasting("cut", "pull all cables between some nodes and the others")
        ->add_option("NODE", arguments.nodes, "the nodes on one side")
        ->required();
    for (const auto &[name, about, amount] :
         {std::tuple{"drop", "packets get lost at a port", "FRACTION"},
          {"duplicate", "packets come twice", "FRACTION"},
          {"corrupt", "a bit of a packet is changed", "FRACTION"},
          {"reorder", "packets are overtaken by later ones", "FRACTION"},
          {"delay", "packets are late at a port", "TIME"}}) {
        CLI::App *fault = add(name, about, "PORT");
        fault->add_option(amount, arguments.amount, "such as 10%, or 20ms")->required();
        fault
            ->add_option("--packets", arguments.packets,
                         "only mad (or smp, gmp), ud, rc or other (default: all)")
            ->delimiter(',');
    }
    add("rate", "limit how much passes at a port", "PORT")
        ->add_option("RATE", arguments.amount, "bits a second, such as 10Mbit")
        ->required();
    faults->add_subcommand("list", "the faults there are");
    faults->add_subcommand("clear", "clear a fault, or all")
        ->add_option("ID", arguments.id, "its number in the list");
}

void addChanges(CLI::App &app, Arguments &arguments)
{
    CLI::App *links = app.add_subcommand("link", "add a link between ports, or remove it");
    links->require_subcommand(1);
    CLI::App *link = links->add_subcommand("add", "a cable between two free ports");
    link->add_option("PORT", arguments.place, "such as sw1:3")->required();
    link->add_option("PEER", arguments.peer, "the other end")->required();
    links->add_subcommand("remove", "the cable at a port")
        ->add_option("PORT", arguments.place, "either end")
        ->required();
    CLI::App *hosts = app.add_subcommand("host", "add or remove an emulated host");
    hosts->require_subcommand(1);
    CLI::App *host = hosts->add_subcommand("add", "one that answers MADs, with one port");
    host->add_option("NAME", arguments.name, "a new one")->required();
    host->add_option("PORT", arguments.place, "the free port of a switch")->required();
    hosts->add_subcommand("remove", "one that is emulated, with its cables")
        ->add_option("NAME", arguments.name, "its name")
        ->required();
    CLI::App *peers = app.add_subcommand("peer", "add or remove an emulated IPoIB interface");
    peers->require_subcommand(1);
    CLI::App *peer = peers->add_subcommand("add", "further addresses that a port answers for");
    peer->add_option("PORT", arguments.place, "of an emulated host, such as h9:1")->required();
    peer->add_option("ADDRESSES", arguments.addresses, "FIRST[-LAST], IPv4 or IPv6")->required();
    peers->add_subcommand("remove", "all addresses of a port")
        ->add_option("PORT", arguments.place, "of an emulated host")
        ->required();
}

// The words of the command, such as "fault drop".
std::string wordsOf(const CLI::App &app)
{
    std::string words;
    for (const CLI::App *at = &app; !at->get_subcommands().empty();) {
        at = at->get_subcommands().front();
        words += (words.empty() ? "" : " ") + at->get_name();
    }
    return words.empty() ? "status" : words;
}

// Packets to the standard output.
int capturePackets(const Arguments &arguments)
{
    json request{{"command", "capture"}, {"at", arguments.place}};
    if (arguments.count != 0)
        request["count"] = arguments.count;
    std::optional<std::chrono::milliseconds> time;
    if (!arguments.time.empty()) {
        const auto parsed = fabric::parseTime(arguments.time);
        if (!parsed)
            return report("--for " + arguments.time + ": expected a time such as 5s", usage);
        time = std::chrono::ceil<std::chrono::milliseconds>(*parsed);
    }
    if (::isatty(STDOUT_FILENO) != 0)
        return report("a capture is not for a terminal: > FILE, or | tshark -r -", usage);
    std::signal(SIGPIPE, SIG_IGN);
    const auto answer = fabric::capture(arguments.socket, request, time, STDOUT_FILENO);
    if (!answer)
        return report(answer.error().text(), notReached);
    return answer->contains("error") ? report(answer->value("error", ""), usage) : ok;
}

// What a fault is by, and for how long. Errors: in words.
std::expected<void, std::string> readAmounts(const std::string &kind, const Arguments &arguments,
                                             json &request)
{
    if (kind == "drop" || kind == "duplicate" || kind == "corrupt" || kind == "reorder") {
        const auto fraction = fabric::parseFraction(arguments.amount);
        if (!fraction)
            return std::unexpected(arguments.amount + ": expected a fraction such as 0.1 or 10%");
        request["fraction"] = *fraction;
    } else if (kind == "delay") {
        const auto delay = fabric::parseTime(arguments.amount);
        if (!delay)
            return std::unexpected(arguments.amount + ": expected a time such as 20ms");
        request["delay_us"] = delay->count();
    } else if (kind == "rate") {
        const auto rate = fabric::parseRate(arguments.amount);
        if (!rate)
            return std::unexpected(arguments.amount + ": expected a rate such as 10Mbit");
        request["rate_bps"] = *rate;
    }
    if (!arguments.time.empty()) {
        const auto time = fabric::parseTime(arguments.time);
        if (!time)
            return std::unexpected("--for " + arguments.time + ": expected a time such as 5s");
        request["for_ms"] = std::chrono::ceil<std::chrono::milliseconds>(*time).count();
    }
    return {};
}

std::expected<json, std::string> requestOf(const std::string &words, const Arguments &arguments)
{
    json request{{"command", "status"}};
    if (words == "counters") {
        request["command"] = "counters";
        if (!arguments.place.empty())
            request["at"] = arguments.place;
    } else if (words == "link add") {
        request = {{"command", "link"}, {"at", arguments.place}, {"peer", arguments.peer}};
    } else if (words == "link remove") {
        request = {{"command", "unlink"}, {"at", arguments.place}};
    } else if (words == "host add") {
        request = {{"command", "add-host"}, {"name", arguments.name}, {"at", arguments.place}};
    } else if (words == "host remove") {
        request = {{"command", "remove-host"}, {"name", arguments.name}};
    } else if (words == "peer add") {
        request = {
            {"command", "add-peer"}, {"at", arguments.place}, {"addresses", arguments.addresses}};
    } else if (words == "peer remove") {
        request = {{"command", "remove-peer"}, {"at", arguments.place}};
    } else if (words == "fault clear") {
        request["command"] = "clear";
        if (arguments.id)
            request["id"] = *arguments.id;
    } else if (words.starts_with("fault ") && words != "fault list") {
        const std::string kind = words.substr(words.find(' ') + 1);
        request = {{"command", arguments.state == "up" ? "clear" : "fault"}, {"kind", kind}};
        if (kind == "cut")
            request["nodes"] = arguments.nodes;
        else
            request["at"] = arguments.place;
        if (!arguments.packets.empty())
            request["packets"] = arguments.packets;
        if (const auto done = readAmounts(kind, arguments, request); !done)
            return std::unexpected(done.error());
    }
    return request;
}

std::string textOf(const std::string &words, const json &result, const Arguments &arguments)
{
    if (words == "status")
        return fabric::statusText(result);
    if (words == "topology")
        return arguments.isDot ? fabric::topologyDot(result) : fabric::topologyText(result);
    if (words == "counters")
        return fabric::countersText(result);
    if (words.starts_with("link ") || words.starts_with("host ") || words.starts_with("peer "))
        return "";
    if (result.is_array())
        return fabric::faultsText(result);
    return fabric::faultsText(json::array({result}));
}

int work(const std::string &words, const Arguments &arguments)
{
    if (words == "capture")
        return capturePackets(arguments);
    const auto request = requestOf(words, arguments);
    if (!request)
        return report(request.error(), usage);
    const auto answer = fabric::ask(arguments.socket, *request);
    if (!answer)
        return report(answer.error().text(), notReached);
    if (answer->contains("error"))
        return report(answer->value("error", ""), usage);
    const json &all = answer->at("result");
    const json &result = words == "fault list" ? all.at("faults") : all;
    std::cout << (arguments.isJson ? result.dump(2) + "\n" : textOf(words, result, arguments))
              << std::flush;
    const bool isFaulty = words == "status" && !result.at("faults").empty();
    return isFaulty || !std::cout ? degraded : ok;
}

int run(int argc, char **argv)
{
    Arguments arguments;
    CLI::App app{"Looks at a running ibfabric, and lets things go wrong in it.\n"
                 "Exit status: 0 all well; 1 usage, or refused; 2 status: there are faults;\n"
                 "3 ibfabric does not answer."};
    app.fallthrough();
    app.require_subcommand(0, 1);
    app.add_option("--socket", arguments.socket, "where ibfabric listens: its --control")
        ->capture_default_str();
    app.add_flag("-j,--json", arguments.isJson, "JSON instead of text");
    app.add_subcommand("status", "switches, ports, faults (the default)");
    app.add_subcommand("topology", "switches and what they are cabled to")
        ->add_flag("--dot", arguments.isDot, "for Graphviz");
    app.add_subcommand("counters", "counters, and why packets were dropped")
        ->add_option("PLACE", arguments.place, "a port such as sw1:3, or a node (default: all)");
    CLI::App *capture = app.add_subcommand(
        "capture", "the packets of a port, both ways, to the standard output as pcap");
    capture->add_option("PORT", arguments.place, "such as sw1:3 or h1:1")->required();
    capture->add_option("--count", arguments.count, "end after so many packets");
    capture->add_option("--for", arguments.time, "end after so long, such as 5s");
    addChanges(app, arguments);
    addFaults(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? ok : usage;
    }
    return work(wordsOf(app), arguments);
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
