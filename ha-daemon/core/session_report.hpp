// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What sessions are like, as plain data that can be handed from one thread to another as bytes.
#pragma once

#include "ha-daemon/core/event.hpp"
#include "ha-daemon/core/sessions.hpp"

#include <type_traits>

namespace openipoib::ha
{

struct SessionLine {
    Side side = Side::primary;
    std::uint8_t peer = 0; // in the policy
    BfdState state = BfdState::down;
    BfdState remote = BfdState::down;
    bool serves = false;
    BfdDiag diag = BfdDiag::none;
    BfdDiag remoteDiag = BfdDiag::none;
    Time sendEvery{};
    Time hearEvery{};
    Time detection{};
    SessionCounts counts;
};

struct SessionsReport {
    std::uint8_t count = 0;
    std::array<SessionLine, 2 * maxSessionPeers> lines;
    Both<bool> cutOff;
    Both<int> errors; // errno: why nothing can be sent or heard there; or 0
    SessionDrops drops;
    std::uint64_t stalls = 0;
};

static_assert(std::is_trivially_copyable_v<SessionsReport>);

[[nodiscard]] SessionsReport reportOf(const Sessions &sessions);

// Whether one has to know at once what is new, beyond numbers that grow.
[[nodiscard]] bool isNews(const SessionsReport &before, const SessionsReport &now);

// By sessions that are up
[[nodiscard]] Met metBy(const SessionsReport &report, Side side);

// Why nobody is reached by this interface; "": somebody is, or it is not known
[[nodiscard]] std::string whyCutOff(const SessionsReport &report, Side side);

} // namespace openipoib::ha
