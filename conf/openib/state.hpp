// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the machine looks like: adapters, ports, interfaces, modules, and what
// stands in the way of a stop. Plain data, read again before every decision.
#pragma once

#include "netlink/ethtool.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::openib
{

struct Port {
    unsigned number = 1;
    std::string state;    // "ACTIVE", "DOWN", ...
    std::string physical; // "LinkUp", "Polling", ...
    std::string layer;    // "InfiniBand", "Ethernet"
    std::string rate;     // "40 Gb/sec (4X QDR)"
    unsigned lid = 0;
    std::string gid; // index 0, 32 hexadecimal digits
};

struct Hca {
    std::string name;
    std::string description;
    std::vector<Port> ports;
};

struct Interface {
    std::string name;
    int index = 0;                 // of the kernel's; one that comes later has another
    std::optional<bool> connected; // nullopt: the driver has no modes
    unsigned mtu = 0;
    std::uint16_t pkey = 0xFFFF;
    bool up = false;
    bool running = false; // with a carrier
    std::string parent;   // of a P_Key child
    std::string master;   // bond it is in
    std::string hca;      // "" when unknown
    unsigned port = 0;
    bool takesConnections = false; // so its hardware address says (RFC 4755, 3.1)
    // nullopt: the driver has none
    std::optional<bool> umcast;
    std::optional<netlink::Rings> rings;
    std::optional<std::uint32_t> queues; // to transmit
    std::optional<netlink::Moderation> moderation;
};

struct Module {
    int references = 0;
    std::vector<std::string> holders;
};

// What tells one build of a module from another; "" where it says nothing, as the kernel's own do.
struct Build {
    std::string version;
    std::string source; // "srcversion", a digest of what it was built from

    bool operator==(const Build &) const = default;
};

struct Installed {
    std::string file; // that modprobe would load
    Build build;
};

// A module that is loaded, though another one of its name is installed.
struct Stale {
    std::string module;
    Build loaded;
    Installed installed;
};

struct State {
    std::vector<Hca> hcas;                              // by name
    std::vector<Interface> interfaces;                  // by name
    std::map<std::string, Module, std::less<>> modules; // loaded, and can be unloaded
    std::set<std::string, std::less<>> builtIn;         // part of the kernel
    std::set<std::string, std::less<>> available;       // could be loaded
    // Parameter own_queues of ib_ipoib; nullopt: not loaded, or another driver
    std::optional<std::set<std::string>> ownQueues;
    std::set<std::string, std::less<>> hardware; // drivers that the PCI devices ask for
    std::set<std::string, std::less<>> adapters; // of those, not for Ethernet controllers alone
    std::map<std::string, std::set<std::string>, std::less<>> bonds; // and their slaves
    std::map<std::string, std::uint64_t, std::less<>> sysctls;
    bool haRunning = false; // the ipoib-ha that openib starts
    // What it keeps, each by its name, as it is configured: "ib0+ib1:ib2". "": one whose interfaces
    // it has not seen. nullopt: it is not known
    std::optional<std::vector<std::string>> haPairs;
    std::string haWrong; // why it does not say what it keeps
    // What interfaces had that may be gone since
    std::vector<Interface> kept;
    std::string keptWrong;          // why the document about them cannot be used
    std::vector<std::string> users; // of the stack, in words: "opensm (pid 12) uses umad0"

    // Whether ipoib-ha keeps these pairs, as far as is known
    [[nodiscard]] bool haKeeps(const std::vector<std::string> &pairs) const;
    [[nodiscard]] const Interface *interface(std::string_view name) const
    {
        for (const auto &one : interfaces)
            if (one.name == name)
                return &one;
        return nullptr;
    }
    [[nodiscard]] const Interface *wasKept(std::string_view name) const
    {
        for (const auto &one : kept)
            if (one.name == name)
                return &one;
        return nullptr;
    }
    [[nodiscard]] bool has(std::string_view module) const
    {
        return modules.contains(module) || builtIn.contains(module);
    }
};

} // namespace openipoib::openib
