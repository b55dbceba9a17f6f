// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Finds the facts on this machine, and changes nothing. What cannot be looked at is left out, with
// the reason in Facts::unseen.
#pragma once

#include "conf/settings.hpp"
#include "diagnose/facts.hpp"
#include "io/error.hpp"

#include <string>

namespace openipoib::diagnose
{

struct Request {
    std::string interface; // "": all that are in use
    std::string peer;      // an IP address; "": none
    std::string configuration = "/etc/infiniband/openib.conf";
    conf::Environment environment; // to read that by
};

// Errors: the kernel tells nothing of its interfaces.
[[nodiscard]] io::Result<Facts> gather(const Request &request);

// Of all IPoIB interfaces those to look at: the one that is wanted, with its parent and slaves;
// else those that are in use, or all if none is.
[[nodiscard]] std::vector<Interface> subjectsOf(std::vector<Interface> all,
                                                const std::string &wanted);

} // namespace openipoib::diagnose
