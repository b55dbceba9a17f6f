// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Times and fractions as people write them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace openipoib::fabric
{

// "500us", "20ms", "1.5s", "2min", "1h"; up to a year.
[[nodiscard]] std::optional<std::chrono::microseconds> parseTime(std::string_view text);
// "0.1", "10%"; more than 0, up to 1.
[[nodiscard]] std::optional<double> parseFraction(std::string_view text);

} // namespace openipoib::fabric
