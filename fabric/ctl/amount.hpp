// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Times, fractions and rates as people write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace openipoib::fabric
{

// "500us", "20ms", "1.5s", "2min", "1h"; up to a year.
[[nodiscard]] std::optional<std::chrono::microseconds> parseTime(std::string_view text);
// "0.1", "10%"; more than 0, up to 1.
[[nodiscard]] std::optional<double> parseFraction(std::string_view text);
// "500kbit", "10Mbit", "1Gbit": bits a second; 1 kbit to 1000 Gbit.
[[nodiscard]] std::optional<std::uint64_t> parseRate(std::string_view text);

} // namespace openipoib::fabric
