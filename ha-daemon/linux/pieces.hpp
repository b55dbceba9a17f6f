// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The pieces of an identity as rtnetlink speaks of them: messages to items, and
// items back to messages for another interface. An item's body is the message
// without the interface.
#pragma once

#include "ha-daemon/core/item.hpp"
#include "ha-daemon/linux/legs.hpp"
#include "netlink/link.hpp"
#include "netlink/message.hpp"

#include <optional>

namespace openipoib::ha
{

// The piece that the message describes, if it is one of @link's. What the kernel
// has made by itself (link-local addresses, routes to connected networks, what
// routers announce) is none.
[[nodiscard]] std::optional<Item> readPiece(const nlmsghdr *message, const netlink::Link &link,
                                            Time now);

// The request that gives @item to an interface, or takes it away. @moved: interfaces that
// others take the places of at the same time, which may be legs of the same route.
[[nodiscard]] netlink::Message putMessage(const Item &item, int index, const std::string &name,
                                          Time now, const Indexes &moved = {});
[[nodiscard]] netlink::Message dropMessage(const Item &item, int index, const std::string &name);

// Of an address item; empty if it is none. 4 or 16 bytes.
[[nodiscard]] io::Bytes addressBytes(const Item &item);

// Of a neighbour or peer; nullopt if the item is none.
struct Peer {
    io::Bytes address; // 4 or 16 bytes
    io::Bytes hardware;
};
[[nodiscard]] std::optional<Peer> peerOf(const Item &item);

} // namespace openipoib::ha
