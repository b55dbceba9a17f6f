// SPDX-License-Identifier: GPL-2.0-only OR MIT
// When the active slave of a bond changed: only the kernel's log knows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace openipoib::bonding
{

struct ChangeOfActive {
    std::string bond;
    std::uint64_t microseconds = 0; // of the kernel's clock
};

// One record of /dev/kmsg, if it is about a change.
[[nodiscard]] std::optional<ChangeOfActive> parseKernelRecord(std::string_view record);

// The last change of each bond that is still in the log, as seconds ago.
[[nodiscard]] std::map<std::string, unsigned> lastChanges(const std::string &log = "/dev/kmsg");

} // namespace openipoib::bonding
