// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Tells the peers the hardware address that an IP address has now: unsolicited
// ARP replies (RFC 826 with the 20-byte addresses of RFC 4391) and neighbour
// advertisements (RFC 4861).
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"
#include "netlink/link.hpp"

namespace openipoib::ha
{

// The payload of an ARP reply that says that @address (4 bytes) is at @hardware.
[[nodiscard]] io::Bytes arpReply(io::View hardware, io::View address);

// A neighbour advertisement, without its checksum.
[[nodiscard]] io::Bytes advertisement(io::View hardware, io::View address, bool router);

// To everybody on the link. @address: 4 or 16 bytes.
[[nodiscard]] io::Result<void> announce(const netlink::Link &link, io::View address);

} // namespace openipoib::ha
