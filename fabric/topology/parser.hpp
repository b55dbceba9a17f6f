// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Reads a topology in the format that ibnetdiscover prints and ibsim reads:
//
//   switchguid=0x2c90000000001
//   Switch 8 "S-0002c90000000001"      # "leaf1" base port 0 lid 1 lmc 0
//   [1]  "H-0002c90000000101"[1]       # "h1" lid 2 4xQDR
//
//   Ca 2 "H-0002c90000000101"          # "h1"
//   [1]  "S-0002c90000000001"[1]       # lid 2 lmc 0 "leaf1" lid 1 4xQDR
//
// A cable may be written at one end or at both, and then they must agree. The
// comment of a node holds its name, that of a port its width and speed; `w=4`
// and `s=4` before the comment say the same in ibsim's way. vendid, devid,
// sysimgguid and the GUID may precede a node; a GUID that is missing is made up.
#pragma once

#include "topology/topology.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace openipoib::fabric
{

struct ParseError {
    std::string file;
    std::size_t line = 0; // from 1
    std::size_t column = 0;
    std::string message;

    [[nodiscard]] std::string text() const
    {
        return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
    }
};

// file is for messages alone. guidBase: what GUIDs that are missing are counted from.
[[nodiscard]] std::expected<Topology, ParseError>
parseTopology(std::string_view text, std::string file,
              std::optional<std::uint64_t> guidBase = std::nullopt);

} // namespace openipoib::fabric
