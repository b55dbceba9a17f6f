// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What iptables-save prints, of which those rules and policies count that drop all there is of an
// interface or of an address.
#include "diagnose/gather_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace openipoib::diagnose
{

namespace
{

using Words = std::vector<std::string>;

// Words of a line; what is in double quotes is one.
Words wordsIn(const std::string &line)
{
    Words words;
    std::string word;
    bool isQuoted = false;
    const auto end = [&] {
        if (!word.empty())
            words.push_back(std::exchange(word, {}));
    };
    for (const char letter : line) {
        if (letter == '"')
            isQuoted = !isQuoted;
        else if (letter == ' ' && !isQuoted)
            end();
        else
            word += letter;
    }
    end();
    return words;
}

// "10.0.0.2" of "10.0.0.2/32"; "": a network
std::string hostIn(const std::string &text)
{
    const auto slash = text.find('/');
    const auto length = slash == std::string::npos ? "" : text.substr(slash + 1);
    return length.empty() || length == "32" || length == "128" ? text.substr(0, slash)
                                                               : std::string();
}

// An option with what follows it, narrowing what is dropped. False: to something that is not looked
// at here.
bool takeOption(const std::string &option, const std::string &value, Drop &drop)
{
    if ((option == "-i" || option == "-o") && drop.interface.empty()) {
        drop.interface = value;
        // "ib+": all that begin so
        return !value.ends_with('+');
    }
    if ((option == "-s" || option == "-d") && drop.address.empty()) {
        drop.address = hostIn(value);
        return !drop.address.empty();
    }
    return (option == "-m" && value == "comment") || option == "--comment" ||
           option == "--reject-with";
}

// Of "-A INPUT -i ib0 -j DROP"; nullopt: it does something else.
std::optional<Drop> dropIn(const Words &words)
{
    constexpr std::size_t firstAt = 2;
    Drop drop;
    bool drops = false;
    for (std::size_t at = firstAt; at + 1 < words.size(); at += 2) {
        if (words[at] == "-j") {
            if (words[at + 1] != "DROP" && words[at + 1] != "REJECT")
                return std::nullopt;
            drops = true;
        } else if (!takeOption(words[at], words[at + 1], drop)) {
            return std::nullopt;
        }
    }
    return drops ? std::optional(drop) : std::nullopt;
}

// Whether it sees what this host receives or sends
bool isHook(const std::string &chain)
{
    constexpr std::array<std::string_view, 4> hooks{"PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"};
    return std::ranges::find(hooks, chain) != hooks.end();
}

} // namespace

std::vector<Drop> dropsInIptables(std::string_view text, const std::string &program)
{
    const std::string family = program.starts_with("ip6") ? "ipv6" : "ipv4";
    std::vector<Drop> drops;
    std::set<std::string> policies;
    std::set<std::string> decided;
    std::string table;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const Words words = wordsIn(line);
        if (line.starts_with('*')) {
            table = line.substr(1);
        } else if (line.starts_with(':') && words.size() > 1) {
            if (words[1] == "DROP" && isHook(words[0].substr(1)))
                policies.insert(fmt::format("{} {}", table, words[0].substr(1)));
        } else if (words.size() > 1 && words[0] == "-A" && isHook(words[1])) {
            const std::string chain = fmt::format("{} {}", table, words[1]);
            auto drop = dropIn(words);
            if (!drop) {
                decided.insert(chain);
            } else if (!decided.contains(chain)) {
                drop->chain = chain;
                drop->family = family;
                drop->program = program;
                drops.push_back(std::move(*drop));
            }
        }
    }
    for (const auto &chain : policies)
        if (!decided.contains(chain))
            drops.push_back(
                {.chain = chain, .family = family, .program = program, .isPolicy = true});
    return drops;
}

} // namespace openipoib::diagnose
