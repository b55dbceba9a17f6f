// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The known word that somebody may have meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace openipoib::conf
{

// Insertions, deletions, replacements and swaps of neighbours that turn one
// word into the other; upper and lower case count as equal.
[[nodiscard]] std::size_t distance(std::string_view one, std::string_view other);

// The nearest of the words, if it is near enough to be meant: at most a third
// of its letters wrong. Of equally near ones the first.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> words);

// The key that is meant by one that is misspelt beyond doubt, if there is one: one or two
// letters are wrong, at most a third of them, and no digit. Keys that end in _LOAD name
// kernel modules, of which more than the known ones exist: one letter in five of what
// stands before _LOAD may be wrong.
[[nodiscard]] std::optional<std::string_view> misspelt(std::string_view word,
                                                       std::span<const std::string_view> keys);

} // namespace openipoib::conf
