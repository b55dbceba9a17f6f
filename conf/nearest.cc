// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/nearest.hpp"

#include "conf/keys.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace openipoib::conf
{

namespace
{

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string digits(std::string_view word)
{
    std::string out;
    std::ranges::copy_if(word, std::back_inserter(out),
                         [](char c) { return c >= '0' && c <= '9'; });
    return out;
}

bool isLoadKey(std::string_view key)
{
    return key.size() > loadSuffix.size() &&
           distance(key.substr(key.size() - loadSuffix.size()), loadSuffix) == 0;
}

// How many letters of @word may be wrong if @key is meant
std::size_t mostWrong(std::string_view word, std::string_view key)
{
    if (isLoadKey(word) && isLoadKey(key))
        return (key.size() - loadSuffix.size()) / 5;
    return std::min<std::size_t>(2, key.size() / 3);
}

} // namespace

std::size_t distance(std::string_view one, std::string_view other)
{
    const std::size_t width = other.size() + 1;
    // Three rows of the table of distances between beginnings of the words.
    std::vector<std::size_t> before(width), last(width), row(width);
    for (std::size_t j = 0; j < width; ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= one.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j < width; ++j) {
            const bool same = lower(one[i - 1]) == lower(other[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
            const bool swapped = i > 1 && j > 1 && lower(one[i - 1]) == lower(other[j - 2]) &&
                                 lower(one[i - 2]) == lower(other[j - 1]);
            if (swapped)
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[other.size()];
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> words)
{
    std::optional<std::string_view> best;
    std::size_t least = 0;
    for (const auto candidate : words) {
        if (std::max(word.size(), candidate.size()) > 3 * std::min(word.size(), candidate.size()))
            continue;
        const std::size_t wrong = distance(word, candidate);
        if (3 * wrong <= candidate.size() && (!best || wrong < least)) {
            best = candidate;
            least = wrong;
        }
    }
    return best;
}

std::optional<std::string_view> misspelt(std::string_view word,
                                         std::span<const std::string_view> keys)
{
    std::optional<std::string_view> best;
    std::size_t least = 0;
    for (const auto key : keys) {
        const std::size_t wrong = distance(word, key);
        if (wrong <= mostWrong(word, key) && digits(word) == digits(key) &&
            (!best || wrong < least)) {
            best = key;
            least = wrong;
        }
    }
    return best;
}

} // namespace openipoib::conf
