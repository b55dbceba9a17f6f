// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ctl/amount.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace openipoib::fabric
{

namespace
{

constexpr std::array<std::pair<std::string_view, double>, 5> units{
    {{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"min", 60e6}, {"h", 3600e6}}};
constexpr double year = 365 * 24 * 3600e6; // microseconds
constexpr std::array<std::pair<std::string_view, double>, 3> rateUnits{
    {{"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}}};
constexpr double leastRate = 1e3;
constexpr double mostRate = 1e12;
constexpr double perCent = 0.01;

struct Number {
    double value = 0;
    std::string_view unit;
};

std::optional<Number> parseNumber(std::string_view text)
{
    Number number;
    const char *end = text.data() + text.size();
    const auto [rest, error] =
        std::from_chars(text.data(), end, number.value, std::chars_format::fixed);
    if (error != std::errc{})
        return std::nullopt;
    number.unit = text.substr(static_cast<std::size_t>(rest - text.data()));
    return number;
}

} // namespace

std::optional<std::chrono::microseconds> parseTime(std::string_view text)
{
    const auto number = parseNumber(text);
    if (!number)
        return std::nullopt;
    for (const auto &[name, factor] : units)
        if (const double time = number->value * factor;
            name == number->unit && time >= 1 && time <= year)
            return std::chrono::microseconds(static_cast<std::int64_t>(time));
    return std::nullopt;
}

std::optional<std::uint64_t> parseRate(std::string_view text)
{
    const auto number = parseNumber(text);
    if (!number)
        return std::nullopt;
    for (const auto &[name, factor] : rateUnits)
        if (const double rate = number->value * factor;
            name == number->unit && rate >= leastRate && rate <= mostRate)
            return static_cast<std::uint64_t>(rate);
    return std::nullopt;
}

std::optional<double> parseFraction(std::string_view text)
{
    const auto number = parseNumber(text);
    if (!number || !(number->unit.empty() || number->unit == "%"))
        return std::nullopt;
    const double fraction = number->value * (number->unit.empty() ? 1 : perCent);
    return fraction > 0 && fraction <= 1 ? std::optional(fraction) : std::nullopt;
}

} // namespace openipoib::fabric
