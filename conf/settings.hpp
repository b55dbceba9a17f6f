// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a file openib.conf asks for, checked.
//
//   const Reading reading = readSettings(text, {.hostName = "node1"});
//   for (const auto &d : reading.diagnostics) print(render(d, path));
//   if (!hasErrors(reading.diagnostics)) use(reading.settings);
//
// A file with an error must not be used at all: what the settings hold then is
// not what its author meant.
#pragma once

#include "conf/diagnostic.hpp"
#include "conf/scan.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::conf
{

// SET_IPOIB_CM. automatic: connected where driver and adapter can, else datagram.
enum class Mode { datagram, connected, automatic };

struct HaPair {
    std::string primary;
    std::vector<std::string> secondaries; // at least one, the most preferred one first

    // As the file has them: "ib1:ib2"
    [[nodiscard]] std::string secondary() const;
    // All of them, the most preferred one first
    [[nodiscard]] std::vector<std::string> interfaces() const;
    [[nodiscard]] bool has(std::string_view interface) const;
};

// A host whose answers show that an interface reaches it.
struct HaTarget {
    std::string address;   // IPv4 or IPv6
    std::string interface; // one of the pair that asks for it; "": of the only pair

    bool operator==(const HaTarget &) const = default;
};

// What ipoib-ha is to do.
struct Ha {
    std::vector<HaPair> pairs; // at least one; no interface comes twice
    std::vector<HaTarget> targets;
    unsigned targetInterval = 1000; // milliseconds between two questions
    unsigned targetMisses = 3;      // questions without an answer, in a row
    // Link-local IPv6 addresses of ports of peers that speak BFD (RFC 5880)
    std::vector<HaTarget> probes;
    unsigned probeInterval = 100;     // milliseconds between two packets
    unsigned probeMisses = 3;         // packets missed until a session is down
    std::optional<unsigned> failback; // seconds for which the primary has to work; nullopt: never
    bool multicast = true;
    std::string notify; // the path of the program to be run after a failover; "": none
};

struct Bond {
    std::string name;
    std::vector<std::string> addresses; // as written, at least one
    std::vector<std::string> slaves;    // at least one
};

struct Settings {
    bool onBoot = true;
    bool allowStop = true;
    bool ipoib = true; // IPOIB_LOAD
    bool runSysctl = false;
    std::map<std::string, bool, std::less<>> load; // other *_LOAD keys, those that are set
    std::optional<std::string> nodeDescription;

    // IPOIB_OWN_QUEUES: HCAs, ports as "mlx5_0/1", or allHcas alone, that are not to
    // accelerate interfaces; empty: all may; nullopt: left as it is.
    std::optional<std::vector<std::string>> ownQueues;

    std::optional<Mode> mode; // of every interface; nullopt: left as it is
    std::optional<unsigned> mtu;
    std::map<std::string, Mode, std::less<>> modeOf;
    std::map<std::string, unsigned, std::less<>> mtuOf;
    std::map<std::string, std::vector<std::uint16_t>, std::less<>> childrenOf;

    std::optional<Ha> ha;
    std::vector<Bond> bonds; // empty with ha: it wins

    // What is wanted for one interface; a child without keys of its own is
    // treated as every other interface.
    [[nodiscard]] std::optional<Mode> modeFor(std::string_view interface) const;
    [[nodiscard]] std::optional<unsigned> mtuFor(std::string_view interface) const;
    // Whether the port's HCA is not to accelerate its interface.
    [[nodiscard]] bool wantsOwnQueues(std::string_view hca, unsigned port) const;
    // The value of a *_LOAD key.
    [[nodiscard]] bool loads(std::string_view key, bool byDefault) const;
};

struct Reading {
    Settings settings;
    Diagnostics diagnostics; // in the order of the file
};

inline constexpr std::string_view allHcas = "all";

inline constexpr unsigned minMtu = 68;
inline constexpr unsigned maxDatagramMtu = 4092;
inline constexpr unsigned maxConnectedMtu = 65520;

[[nodiscard]] Reading readSettings(std::string_view text, const Environment &environment);

} // namespace openipoib::conf
