// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Tells the peers the hardware address that an IP address has now: unsolicited
// ARP replies (RFC 826 with the 20-byte addresses of RFC 4391) and neighbour
// advertisements (RFC 4861).
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"
#include "netlink/link.hpp"

#include <utility>

namespace openipoib::ha
{

// The payload of an ARP reply that says that @address (4 bytes) is at @hardware.
[[nodiscard]] io::Bytes arpReply(io::View hardware, io::View address);

// The payload of an ARP request for @address (4 bytes) by one who has no address yet
// (RFC 5227, a probe): nobody learns anything from it, and who has it answers.
[[nodiscard]] io::Bytes arpProbe(io::View hardware, io::View address);

// The hardware address of an IPv6 group on the link with this @broadcast address.
[[nodiscard]] io::Bytes groupHardware(io::View broadcast, io::View group);

class Announcer
{
  public:
    [[nodiscard]] static io::Result<Announcer> open();

    // To everybody on the link; the interface need not have the address yet. @address: 4
    // or 16 bytes. @router: for IPv6, whether this host is one.
    [[nodiscard]] io::Result<void> announce(const netlink::Link &link, io::View address,
                                            bool router) const;
    // One packet to whoever has the IPv4 @address at @hardware, and one back: then both
    // ends know a path to the other.
    [[nodiscard]] io::Result<void> probe(const netlink::Link &link, io::View address,
                                         io::View hardware) const;

  private:
    explicit Announcer(io::UniqueFd packets) : packets_(std::move(packets)) {}

    [[nodiscard]] io::Result<void> send(const netlink::Link &link, unsigned protocol,
                                        io::View packet, io::View hardware) const;

    // Kept: the kernel takes tens of milliseconds to close a packet socket. Sends both
    // families: no other socket could before the interface has the address.
    io::UniqueFd packets_;
};

} // namespace openipoib::ha
