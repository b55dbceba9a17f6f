// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The keys of openib.conf, from OFED 1.2 to MLNX_OFED, and our extensions.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace openipoib::conf
{

// What a value has to look like.
enum class Kind {
    yesNo,
    mode,      // yes, no or auto
    mtu,       // bytes
    devices,   // list of interfaces
    bonds,     // list of names of bonds
    addresses, // list of IPv4 and IPv6 addresses, each with or without /PREFIX
    pkeys,     // list of partition keys
    ports,     // list of HCAs and ports of them, or all, or none
    text,      // a node description
    failback,  // never, or seconds
    targets,   // list of hosts, each with or without %INTERFACE
    probes,    // list of ports of peers, likewise
    interval,  // milliseconds
    count,
    path,     // of a program
    anything, // of an obsolete key: not looked at
};

struct Key {
    std::string_view name;
    Kind kind = Kind::yesNo;
    // Why the key has no effect and what does its work today; empty: it works.
    std::string_view obsolete = {};
};

// Of keys that say whether a kernel module is loaded
inline constexpr std::string_view loadSuffix = "_LOAD";

// All keys with a fixed name.
[[nodiscard]] std::span<const Key> keys();
[[nodiscard]] const Key *findKey(std::string_view name);
// Their names, for suggestions.
[[nodiscard]] std::span<const std::string_view> keyNames();

// A key with an interface's or a bond's name in it: IPOIB_MTU_ib0, bond0_IP.
struct DeviceKey {
    Kind kind = Kind::mode;
    std::string_view pattern; // "IPOIB_MTU_<interface>"
    std::string device;
};

enum class DeviceKeyFamily { interface, bond };
// The key as one of that family; an empty device: it is none.
[[nodiscard]] DeviceKey splitDeviceKey(std::string_view name, DeviceKeyFamily family);

} // namespace openipoib::conf
