// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What IPoIB interfaces are besides links. sysfs says it of every driver's; netlink is asked
// where that says nothing.
#pragma once

#include "netlink/link.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace openipoib::netlink
{

struct IpoibLink {
    std::optional<std::uint16_t> pkey; // nullopt: nobody says
    std::optional<bool> connected;     // nullopt: the driver has no modes
    std::optional<bool> umcast;        // nullopt: the driver has none
    std::string parent;                // of a child; "": it is none

    bool operator==(const IpoibLink &) const = default;
};

// @sys: "/sys", or another folder for tests; @all: links among which the parent may be.
[[nodiscard]] IpoibLink readIpoibLink(const std::string &sys, const Link &link,
                                      std::span<const Link> all = {});

// What a child is called unless somebody wants another name: "ib0.8001"
[[nodiscard]] std::string childName(const std::string &parent, std::uint16_t pkey);

} // namespace openipoib::netlink
