// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Network interfaces: what there is, and changes.
#pragma once

#include "io/bytes.hpp"
#include "netlink/socket.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace openipoib::netlink
{

struct Ipoib {
    std::uint16_t pkey = 0;
    bool connected = false;
    bool umcast = false;

    bool operator==(const Ipoib &) const = default;
};

struct Link {
    int index = 0;
    std::string name;
    std::uint16_t type = 0;     // ARPHRD_*
    unsigned flags = 0;         // IFF_*
    unsigned operState = 0;     // IF_OPER_*
    unsigned mtu = 0;           // bytes
    unsigned maxMtu = 0;        // bytes; 0: the driver has said nothing
    int master = 0;             // index, 0: none
    int parent = 0;             // index of the interface below, 0: none
    std::string kind;           // "ipoib", "bond" ...; "" for most hardware
    io::Bytes address;          // hardware address
    std::optional<Ipoib> ipoib; // where the driver reports it
    io::Bytes broadcast{};      // hardware address
    std::uint32_t vrfTable = 0; // of routes, if this is a VRF

    [[nodiscard]] bool isUp() const;
    [[nodiscard]] bool isRunning() const; // up, and with a carrier
    [[nodiscard]] bool isInfiniband() const;
    // The port's GID within the hardware address of an IPoIB interface.
    [[nodiscard]] io::Bytes gid() const;
};

// One RTM_NEWLINK message, or nullopt when it is none or makes no sense.
[[nodiscard]] std::optional<Link> parseLink(const nlmsghdr *message);

[[nodiscard]] io::Result<std::vector<Link>> links(Socket &socket);
// Errors: ENODEV.
[[nodiscard]] io::Result<Link> findLink(Socket &socket, const std::string &name);

[[nodiscard]] io::Result<void> setUp(Socket &socket, const Link &link, bool up);
// Errors: EINVAL beyond what the driver takes.
[[nodiscard]] io::Result<void> setMtu(Socket &socket, const Link &link, unsigned mtu);
// IF_OPER_DORMANT or IF_OPER_UP; the kernel takes a change only where it is one.
[[nodiscard]] io::Result<void> setOperState(Socket &socket, const Link &link,
                                            std::uint8_t operState);
// Put the link into a bond (or bridge); master 0 takes it out.
[[nodiscard]] io::Result<void> setMaster(Socket &socket, const Link &link, int master);
// A new interface for a partition of the parent's port. Errors: EEXIST,
// EOPNOTSUPP when the driver cannot.
[[nodiscard]] io::Result<void> addIpoibChild(Socket &socket, const Link &parent,
                                             const std::string &name, std::uint16_t pkey);
[[nodiscard]] io::Result<void> removeLink(Socket &socket, const Link &link);

} // namespace openipoib::netlink
