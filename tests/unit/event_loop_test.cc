// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The loop of events: who is called, in which order, and that nobody is called who is gone.
#include "io/event_loop.hpp"
#include "io/unique_fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>

namespace openipoib::io
{
namespace
{

using namespace std::chrono_literals;

class EventLoopTest : public testing::Test
{
  protected:
    EventLoop loop = EventLoop::open().value();
    UniqueFd one{::eventfd(1, EFD_CLOEXEC)}; // it stays readable
    UniqueFd two{::eventfd(1, EFD_CLOEXEC)};
    std::string called;

    EventSource watch(const UniqueFd &fd, char letter)
    {
        return loop.watch(fd.get(), EPOLLIN, [this, letter](std::uint32_t) { called += letter; })
            .value();
    }
    void turns(int count)
    {
        for (int i = 0; i < count; ++i)
            loop.turn(0us);
    }
};

TEST_F(EventLoopTest, AllThatAreReadyTakeTurns)
{
    const auto first = watch(one, '1');
    const auto second = watch(two, '2');
    turns(6);
    EXPECT_EQ(std::ranges::count(called, '1'), 3);
    EXPECT_EQ(std::ranges::count(called, '2'), 3);
}

TEST_F(EventLoopTest, OneThatHurriesIsBeforeAllOthers)
{
    const auto first = watch(one, '1');
    auto second = watch(two, '2');
    second.hurry();
    turns(3);
    EXPECT_EQ(called, "222");
    second.enable(false);
    turns(2);
    EXPECT_EQ(called, "22211");
}

TEST_F(EventLoopTest, WhatFollowsIsCalledAfterOthersAlsoWhileTheyStayReady)
{
    const auto first = watch(one, '1');
    const auto second = watch(two, '2');
    const auto after = loop.afterwards([this] { called += '.'; }).value();
    turns(9);
    EXPECT_EQ(std::ranges::count(called, '.'), 3) << called;
    EXPECT_NE(called.front(), '.');
}

TEST_F(EventLoopTest, NothingFollowsNothing)
{
    const auto after = loop.afterwards([this] { called += '.'; }).value();
    EXPECT_FALSE(loop.turn(0us));
    EXPECT_EQ(called, "");
}

TEST_F(EventLoopTest, ASourceMayEndItself)
{
    std::optional<EventSource> source;
    const std::string words(100, 'x'); // of the handler, on the heap
    source = loop.watch(one.get(), EPOLLIN,
                        [this, &source, words](std::uint32_t) {
                            source.reset();
                            called += words;
                        })
                 .value();
    turns(3);
    EXPECT_EQ(called, words);
}

TEST_F(EventLoopTest, ADescriptorOfTheSameNumberIsAnother)
{
    auto source = watch(one, '1');
    turns(1);
    const int number = one.get();
    source = {};
    one.reset();
    one = UniqueFd(::eventfd(0, EFD_CLOEXEC));
    ASSERT_EQ(one.get(), number);
    source = watch(one, '2');
    turns(1);
    EXPECT_EQ(called, "1");
    ASSERT_EQ(::eventfd_write(one.get(), 1), 0);
    turns(1);
    EXPECT_EQ(called, "12");
}

TEST_F(EventLoopTest, ATimerCallsOnceAndNotWhenItIsStopped)
{
    auto timer = loop.timer([this] { called += 't'; }).value();
    EXPECT_FALSE(timer.isSet());
    timer.setTime({});
    EXPECT_TRUE(timer.isSet());
    EXPECT_TRUE(loop.turn(10s));
    EXPECT_FALSE(timer.isSet());
    EXPECT_FALSE(loop.turn(0us));
    timer.setTime({});
    timer.stop();
    EXPECT_FALSE(loop.turn(0us));
    timer.setTime(EventSource::Time::max());
    EXPECT_FALSE(loop.turn(0us));
    EXPECT_EQ(called, "t");
}

TEST_F(EventLoopTest, ASignalIsHeardAndEndsTheLoop)
{
    sigset_t before;
    ::sigprocmask(SIG_SETMASK, nullptr, &before);
    {
        const auto source = loop.signal(SIGUSR1, [this] { loop.end(); }).value();
        ::kill(::getpid(), SIGUSR1);
        EXPECT_TRUE(loop.run());
    }
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(EventLoopTest, WhatAHandlerThrowsEndsTheLoop)
{
    const auto source =
        loop.watch(one.get(), EPOLLIN, [](std::uint32_t) { throw std::runtime_error("no"); })
            .value();
    EXPECT_THROW((void)loop.run(), std::runtime_error);
}

TEST_F(EventLoopTest, ATimerThatIsSetAgainKeepsItsTurn)
{
    std::optional<EventSource> timer = loop.timer([this] { called += 't'; }).value();
    timer->setTime(EventSource::Time(std::chrono::microseconds(1)));
    const auto again = [&](std::uint32_t) {
        called += '.';
        timer->setTime(EventSource::Time(std::chrono::microseconds(1)));
    };
    const auto first = loop.watch(one.get(), EPOLLIN, again).value();
    const auto second = loop.watch(two.get(), EPOLLIN, again).value();
    turns(6);
    EXPECT_NE(called.find('t'), std::string::npos) << called;
}

TEST_F(EventLoopTest, WhatCannotBePolledIsRefused)
{
    const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    const auto source = loop.watch(file.get(), EPOLLIN, [](std::uint32_t) {});
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().code, EPERM);
}

} // namespace
} // namespace openipoib::io
