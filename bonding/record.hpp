// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What slaves were before a bond took them: kept while the bond is there, so
// that its end can give everything back.
#pragma once

#include "io/error.hpp"
#include "netlink/address.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::bonding
{

struct Before {
    bool up = false;
    unsigned mtu = 0;              // bytes
    std::optional<bool> connected; // nullopt: has no modes
    std::string master;            // another bond it was taken from, ""
    std::vector<netlink::Address> addresses;

    bool operator==(const Before &) const = default;
};

using Record = std::map<std::string, Before, std::less<>>; // by slave

[[nodiscard]] std::string serialise(const Record &record);
// Errors: EINVAL when the text is none.
[[nodiscard]] io::Result<Record> parseRecord(std::string_view text);

} // namespace openipoib::bonding
