// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The way to a peer as steps, each of which needs the one before it.
#pragma once

#include "diagnose/facts.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace openipoib::diagnose
{

enum class StepResult : std::uint8_t { unknown, passed, failed };

struct Step {
    std::string_view name{};
    StepResult result = StepResult::unknown; // behind one that failed, or not looked at
    std::string text{};
    std::string cure{};

    void passes(std::string seen)
    {
        result = StepResult::passed;
        text = std::move(seen);
    }
    void fails(std::string what, std::string how)
    {
        result = StepResult::failed;
        text = std::move(what);
        cure = std::move(how);
    }
};

// None if no peer was asked about.
[[nodiscard]] std::vector<Step> walk(const Facts &facts);

} // namespace openipoib::diagnose
