// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Which interface stands by, as a matter of order, health and time alone.
#include "ha-daemon/core/choice.hpp"

#include <gtest/gtest.h>

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

class HaChoice : public testing::Test
{
  protected:
    std::vector<Candidate> all = std::vector<Candidate>(4);
    Time now = 1h;
    std::optional<Time> failback;
    std::size_t active = 0;
    std::size_t standby = 1;
    bool settled = true;

    HaChoice()
    {
        for (std::size_t place = 0; place < all.size(); ++place)
            mend(place);
        now += 1h;
    }
    void fail(std::size_t place)
    {
        all[place].health.note("the port is down", now);
        all[place].alive = false;
    }
    void cutOff(std::size_t place) { all[place].health.note("no target answers", now); }
    void mend(std::size_t place)
    {
        all[place].health.note("", now);
        all[place].alive = all[place].fit = true;
    }
    [[nodiscard]] Choice choose() const
    {
        return chooseStandby(all, active, standby, failback, settled, now);
    }
    // Time passes until something else is chosen, or nothing will be.
    std::optional<std::size_t> chooseInTime()
    {
        for (;;) {
            const Choice choice = choose();
            if (choice.standby || !choice.again)
                return choice.standby;
            EXPECT_GT(*choice.again, now);
            now = *choice.again;
        }
    }
};

TEST_F(HaChoice, TheMostPreferredOtherOneStandsBy)
{
    EXPECT_FALSE(chooseInTime());
    standby = 3;
    EXPECT_EQ(choose().standby, 1u);
    active = 1;
    EXPECT_EQ(choose().standby, 0u);
}

TEST_F(HaChoice, AStandbyThatDoesNotWorkIsReplaced)
{
    fail(1);
    EXPECT_EQ(choose().standby, 2u);
    fail(2);
    EXPECT_EQ(choose().standby, 3u);
    fail(3);
    EXPECT_FALSE(chooseInTime()) << "nobody is left";
}

TEST_F(HaChoice, OneThatIsNotFitIsNotTaken)
{
    all[2].fit = false;
    fail(1);
    EXPECT_EQ(choose().standby, 3u);
    mend(1);
    all[1].fit = false;
    EXPECT_EQ(choose().standby, 3u) << "nor kept";
}

TEST_F(HaChoice, AStandbyThatIsNewHasTimeUnlessItIsNeeded)
{
    settled = false;
    fail(1);
    EXPECT_FALSE(choose().standby);
    fail(0);
    EXPECT_EQ(choose().standby, 2u);
}

TEST_F(HaChoice, ThePairMovesToAStandbyThatWorks)
{
    standby = 2;
    fail(0);
    EXPECT_FALSE(choose().standby) << "another one would cost time";
}

TEST_F(HaChoice, AMorePreferredOneComesBackAfterTheTimeOfFailback)
{
    active = 2;
    standby = 3;
    fail(0);
    fail(1);
    now += 1h;
    mend(1);
    failback = 30s;
    EXPECT_FALSE(choose().standby);
    EXPECT_EQ(choose().again, now + 30s);
    now += 29s;
    mend(0);
    EXPECT_EQ(chooseInTime(), 1u);
    standby = 1;
    EXPECT_EQ(chooseInTime(), 0u);
}

TEST_F(HaChoice, WithoutFailbackItComesBackAsWell)
{
    active = 1;
    standby = 2;
    fail(0);
    now += 1h;
    mend(0);
    const Time from = now;
    EXPECT_EQ(chooseInTime(), 0u);
    EXPECT_EQ(now, from + 10s);
}

TEST_F(HaChoice, OneThatFailsAgainAndAgainWaitsForLonger)
{
    failback = 0s;
    Time waited{};
    for (int round = 0; round < 5; ++round) {
        fail(1);
        EXPECT_EQ(choose().standby, 2u);
        standby = 2;
        mend(1);
        const Time from = now;
        EXPECT_EQ(chooseInTime(), 1u);
        EXPECT_TRUE(round == 0 || now - from >= std::max<Time>(1s, 2 * waited))
            << (now - from).count() << " us in round " << round;
        waited = now - from;
        standby = 1;
    }
}

TEST_F(HaChoice, BetweenDeadOnesOneThatReachesNobodyIsTaken)
{
    cutOff(2);
    fail(1);
    EXPECT_EQ(choose().standby, 3u);
    fail(3);
    EXPECT_FALSE(choose().standby) << "the active one works";
    fail(0);
    EXPECT_EQ(choose().standby, 2u);
    standby = 2;
    EXPECT_FALSE(choose().standby);
    mend(3);
    EXPECT_EQ(choose().standby, 3u);
}

TEST_F(HaChoice, WhereNobodyReachesAnybodyNothingChanges)
{
    for (std::size_t place = 0; place < all.size(); ++place)
        cutOff(place);
    EXPECT_FALSE(chooseInTime());
}

} // namespace
} // namespace openipoib::ha
