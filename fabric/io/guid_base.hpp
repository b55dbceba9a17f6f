// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Where the GUIDs begin that a fabric makes up. Those of fabrics that may be cabled together
// must be different, and those of one fabric the same each time.
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace openipoib::fabric
{

// Of this machine, and the name of the topology's file. A machine without an id has others
// each time.
[[nodiscard]] std::uint64_t guidBaseOfFile(const std::string &file);
// Of a word, the same on all machines.
[[nodiscard]] std::uint64_t guidBaseOfWord(std::string_view word);
// Of a place that has that name, on a machine.
[[nodiscard]] std::uint64_t guidBase(io::View machine, std::string_view place);

} // namespace openipoib::fabric
