// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Where a directed route SMP goes from here (IBA volume 1, 14.2.2). Pure: it
// changes hop pointer and return path of the MAD, and says what to do with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace openipoib::fabric
{

struct SmpRoute {
    enum class To : std::uint8_t {
        discard,
        agent,  // a request that ends here
        port,   // out of the port, to the next node
        lid,    // on by LID: the directed part is over
        manager // a response that ends here
    };
    To to = To::discard;
    std::uint8_t port = 0;
    std::uint16_t lid = 0; // agent: where the response goes; 0: the way the request came

    bool operator==(const SmpRoute &) const = default;
};

// How a MAD has come. A route may begin with a part by LID, up to the switch where the
// directed part begins, and end with one, from the switch where that ends.
struct SmpEntry {
    std::uint8_t port = 0;
    std::uint16_t ownLid = 0;                           // the node's; 0: it has none
    std::optional<std::uint16_t> source = std::nullopt; // LID, of what came by LID
};

// A MAD of class 0x81 that has come in. ports: how many the node has; mayForward: a switch
// may, a channel adapter may not.
[[nodiscard]] SmpRoute routeSmp(std::span<std::uint8_t> mad, const SmpEntry &entry, unsigned ports,
                                bool mayForward);

// A response made here, to what came in by a port.
[[nodiscard]] SmpRoute routeSmpResponse(std::span<std::uint8_t> mad, unsigned ports);

} // namespace openipoib::fabric
