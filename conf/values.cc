// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/values.hpp"

#include "conf/nearest.hpp"
#include "netlink/device_name.hpp"

#include <arpa/inet.h>
#include <limits.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

namespace openipoib::conf
{

namespace
{

constexpr std::size_t maxHcaName = 63;
constexpr unsigned maxPort = 254;
constexpr std::size_t maxPorts = 32; // that ib_ipoib takes
constexpr std::size_t maxTargets = 64;
constexpr std::ptrdiff_t maxProbes = 8;
constexpr std::size_t maxSecondaries = 7; // for one primary

std::unexpected<Misfit> misfit(std::string_view value, std::string cure)
{
    return std::unexpected(
        Misfit{"'" + printable(value) + "' is no possible value", std::move(cure)});
}

std::string lower(std::string_view text)
{
    std::string out(text);
    for (char &c : out)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return out;
}

std::vector<std::string> split(std::string_view value, const char *separators = ", \t")
{
    std::vector<std::string> out;
    while (!value.empty()) {
        const auto at = value.find_first_of(separators);
        if (at != 0)
            out.emplace_back(value.substr(0, at));
        value = at == std::string_view::npos ? std::string_view{} : value.substr(at + 1);
    }
    return out;
}

template <typename T> std::optional<T> number(std::string_view text, int base = 10)
{
    T value{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || stop != text.data() + text.size() || text.empty())
        return std::nullopt;
    return value;
}

// "mlx5_0" or "mlx5_0/1", as ib_ipoib compares it
bool isHcaOrPort(std::string_view word)
{
    const auto slash = word.find('/');
    const auto hca = word.substr(0, slash);
    if (hca.empty() || hca.size() > maxHcaName || !std::ranges::all_of(hca, [](unsigned char c) {
            return c < 0x80 && (std::isalnum(c) || c == '_' || c == '-' || c == '.');
        }))
        return false;
    if (slash == std::string_view::npos)
        return true;
    const auto digits = word.substr(slash + 1);
    const auto port = number<unsigned>(digits);
    return port && *port >= 1 && *port <= maxPort && !digits.starts_with('0');
}

// Text that means yes or no to a human, but never did in this file.
std::optional<std::string_view> meantAs(std::string_view value)
{
    static constexpr std::array<std::string_view, 7> yes{"y", "true",   "t",      "on",
                                                         "1", "enable", "enabled"};
    static constexpr std::array<std::string_view, 8> no{"n", "false",   "f",        "off",
                                                        "0", "disable", "disabled", "none"};
    const std::string word = lower(value);
    if (std::ranges::find(yes, word) != yes.end() || distance(word, "yes") == 1)
        return "yes";
    if (std::ranges::find(no, word) != no.end())
        return "no";
    return std::nullopt;
}

// Neither unspecified, nor this host's own, nor many hosts'
bool isHostAddress(const std::string &text)
{
    in_addr four{};
    if (::inet_pton(AF_INET, text.c_str(), &four) == 1) {
        const unsigned first = ntohl(four.s_addr) >> 24;
        return first != 0 && first != IN_LOOPBACKNET && first < 224;
    }
    in6_addr six{};
    return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && !IN6_IS_ADDR_UNSPECIFIED(&six) &&
           !IN6_IS_ADDR_LOOPBACK(&six) && !IN6_IS_ADDR_MULTICAST(&six) &&
           !IN6_IS_ADDR_V4MAPPED(&six);
}

bool isLinkLocal(const std::string &text)
{
    in6_addr six{};
    return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LINKLOCAL(&six);
}

// "ADDRESS" or "ADDRESS%INTERFACE", each once
Parsed<std::vector<HaTarget>> parseHosts(std::string_view value, bool (*fits)(const std::string &),
                                         std::size_t most, const std::string &expected)
{
    std::vector<HaTarget> all;
    for (const auto &word : split(value)) {
        const auto percent = word.find('%');
        HaTarget one{.address = word.substr(0, percent), .interface = {}};
        if (percent != std::string::npos)
            one.interface = word.substr(percent + 1);
        if (!fits(one.address) ||
            (percent != std::string::npos && !netlink::isDeviceName(one.interface)))
            return misfit(word, expected);
        if (std::ranges::find(all, one) != all.end())
            return std::unexpected(
                Misfit{"'" + printable(word) + "' comes twice", "remove one of them"});
        all.push_back(std::move(one));
    }
    if (all.empty())
        return misfit(value, expected);
    if (all.size() > most)
        return std::unexpected(Misfit{"there are " + std::to_string(all.size()) + " addresses",
                                      "expected at most " + std::to_string(most)});
    return all;
}

Parsed<unsigned> parseWithin(std::string_view value, unsigned least, unsigned most,
                             const std::string &expected)
{
    const auto parsed = number<unsigned>(value);
    if (!parsed || *parsed < least || *parsed > most)
        return misfit(value,
                      expected + " from " + std::to_string(least) + " to " + std::to_string(most));
    return *parsed;
}

} // namespace

Parsed<bool> parseYesNo(std::string_view value)
{
    const std::string word = lower(value);
    if (word == "yes" || word == "no")
        return word == "yes";
    const auto meant = meantAs(value);
    return misfit(value, "expected yes or no" +
                             (meant ? ", write " + std::string(*meant) : std::string()));
}

Parsed<Mode> parseMode(std::string_view value)
{
    const std::string word = lower(value);
    if (word == "yes")
        return Mode::connected;
    if (word == "no")
        return Mode::datagram;
    if (word == "auto")
        return Mode::automatic;
    if (word == "connected" || word == "datagram")
        return misfit(value, "expected yes, no or auto, write " +
                                 std::string(word == "connected" ? "yes" : "no"));
    const auto meant = meantAs(value);
    return misfit(value, "expected yes, no or auto" +
                             (meant ? ", write " + std::string(*meant) : std::string()));
}

Parsed<unsigned> parseMtu(std::string_view value)
{
    const auto bytes = number<unsigned>(value);
    if (!bytes || *bytes < minMtu || *bytes > maxConnectedMtu)
        return misfit(value, "expected a number of bytes from 68 to 65520");
    return *bytes;
}

Parsed<std::vector<std::string>> parseDevices(std::string_view value)
{
    const auto names = split(value);
    if (names.empty())
        return misfit(value, "expected names separated by commas, for example ib0,ib1");
    for (auto name = names.begin(); name != names.end(); ++name) {
        if (!netlink::isDeviceName(*name))
            return misfit(*name, "expected names of at most 15 characters, separated by commas");
        if (std::find(names.begin(), name, *name) != name)
            return std::unexpected(
                Misfit{"'" + printable(*name) + "' comes twice", "remove one of them"});
    }
    return names;
}

Parsed<std::vector<std::vector<std::string>>> parseSecondaries(std::string_view value)
{
    static constexpr auto expected =
        "expected a name for each primary interface, separated by commas, or several in the order "
        "of preference, for example ib1:ib2";
    std::vector<std::vector<std::string>> all;
    std::set<std::string> known;
    for (const auto &word : split(value)) {
        auto names = split(word, ":");
        if (names.empty() || word.starts_with(':') || word.ends_with(':') ||
            word.find("::") != std::string::npos ||
            !std::ranges::all_of(names, netlink::isDeviceName))
            return misfit(word, expected);
        for (const auto &name : names)
            if (!known.insert(name).second)
                return std::unexpected(
                    Misfit{"'" + printable(name) + "' comes twice", "remove one of them"});
        if (names.size() > maxSecondaries)
            return misfit(word, "expected at most " + std::to_string(maxSecondaries) +
                                    " secondary interfaces for a primary one");
        all.push_back(std::move(names));
    }
    if (all.empty())
        return misfit(value, expected);
    return all;
}

Parsed<std::vector<std::string>> parseAddresses(std::string_view value)
{
    const auto words = split(value);
    if (words.empty())
        return misfit(value, "expected an address, for example 10.10.10.1/24");
    for (const auto &word : words) {
        const auto slash = word.find('/');
        const std::string address = word.substr(0, slash);
        std::array<unsigned char, 16> binary{};
        const bool ipv4 = ::inet_pton(AF_INET, address.c_str(), binary.data()) == 1;
        if (!ipv4 && ::inet_pton(AF_INET6, address.c_str(), binary.data()) != 1)
            return misfit(word, "expected an IPv4 or IPv6 address, for example 10.10.10.1/24");
        if (slash == std::string::npos)
            continue;
        const auto bits = number<unsigned>(std::string_view(word).substr(slash + 1));
        if (!bits || *bits > (ipv4 ? 32U : 128U))
            return misfit(word, std::string("expected a prefix length from 0 to ") +
                                    (ipv4 ? "32" : "128") + " behind the slash");
    }
    return words;
}

Parsed<std::vector<std::uint16_t>> parsePkeys(std::string_view value)
{
    static constexpr auto expected = "expected partition keys, for example 0x8001,0x8002";
    std::vector<std::uint16_t> pkeys;
    for (const auto &word : split(value)) {
        auto digits = std::string_view(word);
        if (digits.starts_with("0x") || digits.starts_with("0X"))
            digits.remove_prefix(2);
        const auto pkey = number<std::uint16_t>(digits, 16);
        if (!pkey || (*pkey & 0x7FFF) == 0)
            return misfit(word, expected);
        const auto full = static_cast<std::uint16_t>(*pkey | 0x8000);
        if (full == 0xFFFF)
            return misfit(word, "the parent itself is the interface of this partition");
        if (std::ranges::find(pkeys, full) != pkeys.end())
            return std::unexpected(
                Misfit{"'" + printable(word) + "' comes twice", "remove one of them"});
        pkeys.push_back(full);
    }
    if (pkeys.empty())
        return misfit(value, expected);
    return pkeys;
}

Parsed<std::vector<std::string>> parsePorts(std::string_view value)
{
    static constexpr auto expected =
        "expected HCAs or ports of them, for example mlx5_0,mlx5_1/2, or all or none";
    const auto words = split(value);
    if (words.empty())
        return misfit(value, expected);
    if (words.size() == 1 && words.front() == "none")
        return std::vector<std::string>{};
    for (auto word = words.begin(); word != words.end(); ++word) {
        if (!isHcaOrPort(*word))
            return misfit(*word, expected);
        if (words.size() > 1 && (*word == allHcas || *word == "none"))
            return std::unexpected(
                Misfit{"'" + *word + "' is not alone", "leave it, or the others, out"});
        if (std::find(words.begin(), word, *word) != word)
            return std::unexpected(
                Misfit{"'" + printable(*word) + "' comes twice", "remove one of them"});
    }
    if (words.size() > maxPorts)
        return misfit(value, "expected at most 32 HCAs and ports; all is short for all of them");
    return words;
}

Parsed<std::string> parseText(std::string_view value)
{
    if (value.size() > 56)
        return misfit(value, "expected at most 56 bytes, \" HCA-1\" is added");
    if (!std::ranges::all_of(value, [](char c) { return c >= ' ' && c < 0x7F; }))
        return misfit(value, "expected printable ASCII characters");
    return std::string(value);
}

Parsed<std::optional<unsigned>> parseFailback(std::string_view value)
{
    if (lower(value) == "never")
        return std::nullopt;
    return parseWithin(value, 0, 86400, "expected never, or seconds");
}

Parsed<std::vector<HaTarget>> parseTargets(std::string_view value)
{
    return parseHosts(value, isHostAddress, maxTargets,
                      "expected addresses of other hosts, for example 10.10.10.1, or "
                      "10.10.10.1%ib0 with several pairs");
}

Parsed<std::vector<HaTarget>> parseProbes(std::string_view value)
{
    return parseHosts(value, isLinkLocal, maxTargets,
                      "expected link-local addresses of peers' ports, for example "
                      "fe80::2:c903:0:1491, or fe80::2:c903:0:1491%ib0 with several pairs");
}

Parsed<unsigned> parseInterval(std::string_view value)
{
    return parseWithin(value, 10, 60000, "expected milliseconds");
}

Parsed<unsigned> parseTargetMisses(std::string_view value)
{
    return parseWithin(value, 1, 1000, "expected a number");
}

Parsed<unsigned> parseProbeMisses(std::string_view value)
{
    return parseWithin(value, 1, 255, "expected a number");
}

Parsed<std::string> parseProgram(std::string_view value)
{
    if (!value.starts_with('/') || value.ends_with('/') || value.size() >= PATH_MAX)
        return misfit(value, "expected the path of a program, from the root");
    return std::string(value);
}

Parsed<std::vector<HaPair>> pairUp(const std::vector<std::string> &primaries,
                                   const std::vector<std::vector<std::string>> &secondaries)
{
    if (primaries.size() != secondaries.size())
        return std::unexpected(
            Misfit{"there are primary interfaces: " + std::to_string(primaries.size()) +
                       ", secondary ones: " + std::to_string(secondaries.size()),
                   "name a secondary interface for each primary one, or join several for one by "
                   "colons, as in ib1:ib2"});
    std::vector<HaPair> pairs;
    std::set<std::string> names;
    for (std::size_t i = 0; i < primaries.size(); ++i) {
        pairs.push_back({primaries[i], secondaries[i]});
        for (const auto &name : pairs.back().interfaces())
            if (!names.insert(name).second)
                return std::unexpected(Misfit{"'" + printable(name) + "' comes twice",
                                              "name another port's interface"});
    }
    return pairs;
}

Parsed<void> checkTargets(const std::vector<HaTarget> &targets, const std::vector<HaPair> &pairs)
{
    for (const auto &target : targets) {
        if (target.interface.empty() && pairs.size() > 1)
            return std::unexpected(
                Misfit{"it is not known which pair asks for '" + printable(target.address) + "'",
                       "append % and one of its interfaces, as in " + target.address + "%" +
                           printable(pairs.front().primary)});
        const bool known = std::ranges::any_of(
            pairs, [&](const HaPair &pair) { return pair.has(target.interface); });
        if (!target.interface.empty() && !known)
            return std::unexpected(Misfit{"'" + printable(target.interface) + "' is in no pair",
                                          "append % and the interface of a pair"});
    }
    return {};
}

Parsed<void> checkProbes(const std::vector<HaTarget> &probes, const std::vector<HaPair> &pairs)
{
    for (const auto &pair : pairs) {
        const auto count = std::ranges::count_if(probes, [&](const HaTarget &probe) {
            return probe.interface.empty() || pair.has(probe.interface);
        });
        if (count > maxProbes)
            return std::unexpected(Misfit{"there are " + std::to_string(count) + " addresses for " +
                                              printable(pair.primary) + " and " +
                                              printable(pair.secondary()),
                                          "expected at most " + std::to_string(maxProbes)});
    }
    return checkTargets(probes, pairs);
}

} // namespace openipoib::conf
