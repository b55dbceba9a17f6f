// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Finds the facts on this machine, and changes nothing. What cannot be looked at is left out, with
// the reason in Facts::unseen.
#pragma once

#include "conf/settings.hpp"
#include "diagnose/facts.hpp"
#include "io/bytes.hpp"
#include "io/error.hpp"

#include <optional>
#include <string>
#include <vector>

namespace openipoib::diagnose
{

struct Request {
    std::string interface; // "": all that are in use
    std::string peer;      // an IP address, "fe80::1%ib0" if it is of a link; "": none
    std::string configuration = "/etc/infiniband/openib.conf";
    conf::Environment environment; // to read that by
};

// Errors: the kernel tells nothing of its interfaces.
[[nodiscard]] io::Result<Facts> gather(const Request &request);

// An address of a peer, with the interface where it is one of a link.
struct PeerName {
    io::Bytes address{}; // 4 or 16 bytes
    std::string zone{};  // "": none

    [[nodiscard]] bool isOfLink() const;
};
// nullopt: it is none, or it has a zone that it does not need.
[[nodiscard]] std::optional<PeerName> parsePeer(const std::string &text);

// Of all IPoIB interfaces those to look at: the one that is wanted, with parent, bond and slaves;
// else those that are in use, or all if none is.
[[nodiscard]] std::vector<Interface> subjectsOf(std::vector<Interface> all,
                                                const std::string &wanted);

} // namespace openipoib::diagnose
