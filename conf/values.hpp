// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Values of openib.conf: text to meaning. What does not fit gives a Misfit, in
// words that fit behind "KEY: ".
#pragma once

#include "conf/settings.hpp"

#include <expected>

namespace openipoib::conf
{

struct Misfit {
    std::string what;
    std::string cure;
};

template <typename T> using Parsed = std::expected<T, Misfit>;

[[nodiscard]] Parsed<bool> parseYesNo(std::string_view value);
[[nodiscard]] Parsed<Mode> parseMode(std::string_view value);
[[nodiscard]] Parsed<unsigned> parseMtu(std::string_view value);
[[nodiscard]] Parsed<std::string> parseDevice(std::string_view value);
// Lists are separated by commas or blanks; an empty list and a name that comes
// twice do not fit.
[[nodiscard]] Parsed<std::vector<std::string>> parseDevices(std::string_view value);
[[nodiscard]] Parsed<std::vector<std::string>> parseAddresses(std::string_view value);
[[nodiscard]] Parsed<std::vector<std::uint16_t>> parsePkeys(std::string_view value);
// HCAs, ports as "mlx5_0/1", or allHcas alone; "none" alone: none of them.
[[nodiscard]] Parsed<std::vector<std::string>> parsePorts(std::string_view value);
// At most 56 bytes of printable ASCII: an HCA holds 63, " HCA-1" is added.
[[nodiscard]] Parsed<std::string> parseText(std::string_view value);

} // namespace openipoib::conf
