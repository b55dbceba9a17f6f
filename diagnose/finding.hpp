// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What is wrong, or worth knowing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::diagnose
{

enum class Severity {
    wrong, // something does not work, or will not
    note,  // it works, and could do so better or otherwise
};

// Of events that have come while this was looked at: a few are lost or stray anywhere.
[[nodiscard]] constexpr Severity severityOf(std::uint64_t events)
{
    constexpr std::uint64_t worthwhile = 10;
    return events < worthwhile ? Severity::note : Severity::wrong;
}

struct Finding {
    std::string_view rule{}; // its name
    Severity severity = Severity::wrong;
    std::string on{};   // interface, port, adapter ...
    std::string what{}; // is wrong
    std::string why{};  // how that comes about, or what follows from it
    std::string cure{};
};

class Findings
{
  public:
    void add(Finding finding) { all_.push_back(std::move(finding)); }
    // Whether one of these rules has found something wrong with it: what is but a consequence of
    // that need not be said.
    [[nodiscard]] bool isExplained(std::string_view on,
                                   std::initializer_list<std::string_view> causes) const
    {
        for (const auto &one : all_)
            for (const auto cause : causes)
                if (one.on == on && one.rule == cause && one.severity == Severity::wrong)
                    return true;
        return false;
    }
    [[nodiscard]] bool has(std::string_view rule, std::string_view on) const
    {
        for (const auto &one : all_)
            if (one.rule == rule && one.on == on)
                return true;
        return false;
    }
    [[nodiscard]] const std::vector<Finding> &all() const { return all_; }

  private:
    std::vector<Finding> all_;
};

} // namespace openipoib::diagnose
