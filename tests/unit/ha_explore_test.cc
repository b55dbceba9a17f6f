// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Nothing that can happen, in any order, loses an identity.
#include "ha_explorer.hpp"

#include <gtest/gtest.h>

namespace openipoib::ha
{
namespace
{

void expectNothingWrong(const Limits &limits, std::size_t states)
{
    const Explored explored = explore(limits);
    EXPECT_FALSE(explored.finding) << textOf(explored);
    EXPECT_GT(explored.states, states) << textOf(explored);
}

TEST(HaExplore, FailoversKillsAndChangesByOthers)
{
    expectNothingWrong({.depth = 5}, 1000);
}

TEST(HaExplore, AnHcaThatIsUnplugged)
{
    expectNothingWrong({.depth = 5, .faults = 1, .stops = 0, .changes = 0, .unplugged = 1}, 1000);
}

TEST(HaExplore, APeerThatMissesAnnouncements)
{
    expectNothingWrong({.depth = 6, .kills = 0, .stops = 0, .changes = 0, .deafness = 1}, 500);
}

} // namespace
} // namespace openipoib::ha
