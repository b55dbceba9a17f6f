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
// Lists are separated by commas or blanks; an empty list and a name that comes
// twice do not fit.
[[nodiscard]] Parsed<std::vector<std::string>> parseDevices(std::string_view value);
// Secondary interfaces: for each primary one, those that stand by for it, as "ib1:ib2".
[[nodiscard]] Parsed<std::vector<std::vector<std::string>>>
parseSecondaries(std::string_view value);
[[nodiscard]] Parsed<std::vector<std::string>> parseAddresses(std::string_view value);
[[nodiscard]] Parsed<std::vector<std::uint16_t>> parsePkeys(std::string_view value);
// HCAs, ports as "mlx5_0/1", or allHcas alone; "none" alone: none of them.
[[nodiscard]] Parsed<std::vector<std::string>> parsePorts(std::string_view value);
// At most 56 bytes of printable ASCII: an HCA holds 63, " HCA-1" is added.
[[nodiscard]] Parsed<std::string> parseText(std::string_view value);

// Of ipoib-ha. "never", or 0 to 86400 seconds
[[nodiscard]] Parsed<std::optional<unsigned>> parseFailback(std::string_view value);
// Addresses that a single other host can have, as "10.10.10.1" or "fe80::1%ib0"
[[nodiscard]] Parsed<std::vector<HaTarget>> parseTargets(std::string_view value);
// Link-local IPv6 addresses, as "fe80::1" or "fe80::1%ib0"
[[nodiscard]] Parsed<std::vector<HaTarget>> parseProbes(std::string_view value);
// 10 to 60000 milliseconds
[[nodiscard]] Parsed<unsigned> parseInterval(std::string_view value);
// 1 to 1000
[[nodiscard]] Parsed<unsigned> parseTargetMisses(std::string_view value);
// 1 to 255, the detection multiplier (RFC 5880, section 4.1)
[[nodiscard]] Parsed<unsigned> parseProbeMisses(std::string_view value);
// The path of a program, from the root
[[nodiscard]] Parsed<std::string> parseProgram(std::string_view value);
// The first primary with the first secondary ones, and so on. What does not fit: their numbers
// differ, or an interface comes twice.
[[nodiscard]] Parsed<std::vector<HaPair>>
pairUp(const std::vector<std::string> &primaries,
       const std::vector<std::vector<std::string>> &secondaries);
// Whether it is known for each target which pair asks for it
[[nodiscard]] Parsed<void> checkTargets(const std::vector<HaTarget> &targets,
                                        const std::vector<HaPair> &pairs);
// That, and at most 8 for each pair
[[nodiscard]] Parsed<void> checkProbes(const std::vector<HaTarget> &probes,
                                       const std::vector<HaPair> &pairs);

} // namespace openipoib::conf
