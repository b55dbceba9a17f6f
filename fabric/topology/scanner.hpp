// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Walks over the words, numbers and quoted strings of one line, and knows where
// it is.
#pragma once

#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace openipoib::fabric
{

class Scanner
{
  public:
    explicit Scanner(std::string_view line) : line_(line) {}

    [[nodiscard]] std::size_t column() const { return at_ + 1; }
    [[nodiscard]] std::string_view rest() const { return line_.substr(at_); }
    [[nodiscard]] bool atEnd()
    {
        skipSpace();
        return at_ == line_.size();
    }

    void skipSpace()
    {
        while (at_ < line_.size() && isSpace(line_[at_]))
            ++at_;
    }

    // Take the character c, if it is next.
    [[nodiscard]] bool take(char c)
    {
        skipSpace();
        if (at_ == line_.size() || line_[at_] != c)
            return false;
        ++at_;
        return true;
    }

    // Letters and digits up to something else; may be empty.
    std::string_view word()
    {
        skipSpace();
        const std::size_t start = at_;
        while (at_ < line_.size() && std::isalnum(static_cast<unsigned char>(line_[at_])) != 0)
            ++at_;
        return line_.substr(start, at_ - start);
    }

    [[nodiscard]] std::optional<std::uint64_t> number(int base = 10)
    {
        skipSpace();
        std::size_t start = at_;
        if (base == 16 &&
            (line_.substr(at_).starts_with("0x") || line_.substr(at_).starts_with("0X")))
            start += 2;
        std::uint64_t value = 0;
        const char *const end = line_.data() + line_.size();
        const auto result = std::from_chars(line_.data() + start, end, value, base);
        if (result.ec != std::errc{})
            return std::nullopt;
        at_ = static_cast<std::size_t>(result.ptr - line_.data());
        return value;
    }

    // A string in double quotes.
    [[nodiscard]] std::optional<std::string_view> quoted()
    {
        skipSpace();
        if (at_ == line_.size() || line_[at_] != '"')
            return std::nullopt;
        const auto end = line_.find('"', at_ + 1);
        if (end == std::string_view::npos)
            return std::nullopt;
        const auto text = line_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return text;
    }

  private:
    [[nodiscard]] static bool isSpace(char c)
    {
        return std::isspace(static_cast<unsigned char>(c)) != 0;
    }

    std::string_view line_;
    std::size_t at_ = 0;
};

} // namespace openipoib::fabric
