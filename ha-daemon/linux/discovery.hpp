// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The messages of IPv6's neighbour discovery (RFC 4861) as they are on an IPoIB link:
// options have two bytes of padding before the 20-byte hardware address (RFC 4391,
// section 9.3). Addresses are of 16 bytes.
#pragma once

#include "io/bytes.hpp"

#include <optional>

namespace openipoib::ha
{

inline constexpr unsigned discoveryHops = 255; // of all these messages: no router was between

// All nodes of the link.
[[nodiscard]] io::Bytes allNodes();

// The group of all that have an address with these last 24 bits (RFC 4291, section 2.7.1).
[[nodiscard]] io::Bytes solicitedNode(io::View address);

// An IPv6 packet to all nodes, an unsolicited advertisement that says that @address is at
// @hardware. @router: whether this host is one.
[[nodiscard]] io::Bytes advertisement(io::View hardware, io::View address, bool router);

// The ICMPv6 message, its checksum left to the kernel, by which one at @hardware asks for
// @address.
[[nodiscard]] io::Bytes solicitation(io::View hardware, io::View address);

// Whose address this ICMPv6 message with a valid checksum advertises. nullopt: it is no
// advertisement, or not valid (RFC 4861, section 7.1.2); its options are not looked at.
// @hops: the limit that it came with
[[nodiscard]] std::optional<io::Bytes> advertised(io::View message, int hops);

} // namespace openipoib::ha
