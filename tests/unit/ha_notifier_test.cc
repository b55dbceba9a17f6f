// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The program that is run after a move: what it is told, that nothing waits for it, and that
// its failures are heard of.
#include "ha-daemon/linux/notifier.hpp"
#include "io/file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace openipoib::ha
{
namespace
{

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class HaNotifier : public testing::Test
{
  protected:
    HaNotifier() : top(fs::path(testing::TempDir()) / ("notifier-" + std::to_string(::getpid())))
    {
        fs::create_directories(top);
    }
    ~HaNotifier() override { fs::remove_all(top); }

    [[nodiscard]] std::string path(const std::string &name) const { return (top / name).string(); }
    std::string script(const std::string &text)
    {
        const std::string file = path("program");
        std::ofstream(file) << "#!/bin/sh\n" << text;
        fs::permissions(file, fs::perms::owner_all);
        return file;
    }
    // Until no program runs, or one waits for @now to pass
    std::vector<std::string> collect()
    {
        std::vector<std::string> words = started_;
        started_.clear();
        while (notifier.running()) {
            if (!loop.turn(10s)) {
                words.emplace_back("it runs for ever");
                break;
            }
            for (const auto &failure : notifier.collect(now))
                words.push_back(nameOf(failure.names) + ": " + failure.words);
        }
        return words;
    }
    void notify(const std::string &program, Side active = Side::secondary)
    {
        notifier.notify(program, names,
                        {names[active], names[other(active)], "ib0: no carrier", 1234us, 2});
        EXPECT_TRUE(notifier.wake()) << "nothing else would have it started";
        for (const auto &failure : notifier.collect(now))
            started_.push_back(nameOf(failure.names) + ": " + failure.words);
    }

    fs::path top;
    Names names{{"ib0", "ib1"}};
    io::EventLoop loop = io::EventLoop::open().value();
    Notifier notifier{loop};
    Time now = 1000s;

  private:
    std::vector<std::string> started_; // what failed at once
};

TEST_F(HaNotifier, TellsWhatHasMovedWhereAndWhy)
{
    ::setenv("NOTIFY_SOCKET", "/none", 1);
    sigset_t blocked, before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &blocked, &before);
    notify(script("echo \"$*\" > " + path("told") + "; env | grep -c NOTIFY_SOCKET >> " +
                  path("told") + "; env | grep ^IPOIBHA_ | sort >> " + path("told") +
                  "; grep SigBlk /proc/self/status >> " + path("told") + "\n"));
    EXPECT_EQ(collect(), std::vector<std::string>{});
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::unsetenv("NOTIFY_SOCKET");
    EXPECT_EQ(io::readFile(path("told")), "moved ib0+ib1 ib1\n0\nIPOIBHA_ACTIVE=ib1\n"
                                          "IPOIBHA_CAUSE=ib0: no carrier\nIPOIBHA_EVENT=moved\n"
                                          "IPOIBHA_FAILED=2\nIPOIBHA_MICROSECONDS=1234\n"
                                          "IPOIBHA_PAIR=ib0+ib1\nIPOIBHA_PRIMARY=ib0\n"
                                          "IPOIBHA_SECONDARY=ib1\nIPOIBHA_STANDBY=ib0\n"
                                          "SigBlk:\t0000000000000000\n");
}

TEST_F(HaNotifier, NothingIsStartedBeforeAllElseIsDone)
{
    notifier.notify(script("exit 0\n"), names, {"ib1", "ib0", "", 0us, 0});
    EXPECT_EQ(notifier.running(), 0U);
    EXPECT_EQ(notifier.wake(), Time{});
    EXPECT_TRUE(notifier.collect(now).empty());
    EXPECT_EQ(notifier.running(), 1U);
    EXPECT_TRUE(collect().empty());
}

TEST_F(HaNotifier, FailuresAreHeardOf)
{
    notify(script("exit 3\n"));
    EXPECT_EQ(collect(),
              std::vector{"ib0+ib1: IPOIBHA_NOTIFY: " + path("program") + ": exit status 3"});
    notify(script("kill -SEGV $$\n"));
    EXPECT_EQ(collect(),
              std::vector{"ib0+ib1: IPOIBHA_NOTIFY: " + path("program") + ": ended by signal 11"});
    notify(path("none"));
    EXPECT_EQ(collect(), std::vector{"ib0+ib1: IPOIBHA_NOTIFY: " + path("none") +
                                     ": No such file or directory"});
    EXPECT_FALSE(notifier.wake());
}

TEST_F(HaNotifier, RunsOnceMoreForWhatHappensMeanwhile)
{
    const auto program =
        script("echo $3 >> " + path("told") + "; read line < " + path("gate") + "\n");
    ASSERT_EQ(::mkfifo(path("gate").c_str(), 0600), 0);
    notify(program, Side::secondary);
    notify(program, Side::primary);
    notify(program, Side::secondary);
    EXPECT_EQ(notifier.running(), 1U);
    for (int runs = 0; runs < 2; ++runs) {
        std::ofstream(path("gate")) << "go\n";
        ASSERT_TRUE(loop.turn(10s));
        EXPECT_TRUE(notifier.collect(now).empty());
    }
    EXPECT_EQ(notifier.running(), 0U);
    EXPECT_EQ(io::readFile(path("told")), "ib1\nib1\n");
}

TEST_F(HaNotifier, OneThatDoesNotEndIsEnded)
{
    notify(script("sleep 1000 & echo $! > " + path("child") + "; wait\n"));
    while (io::readLine(path("child")).empty())
        ::usleep(1000);
    EXPECT_EQ(notifier.wake(), now + notifyPatience);
    EXPECT_TRUE(notifier.collect(now + notifyPatience - 1us).empty());
    now += notifyPatience;
    EXPECT_TRUE(notifier.collect(now).empty());
    EXPECT_FALSE(notifier.wake()) << "it would be called again and again";
    EXPECT_EQ(collect(), std::vector{"ib0+ib1: IPOIBHA_NOTIFY: " + path("program") +
                                     ": killed, it has not ended within 60 s"});
    const pid_t child = std::stoi(io::readLine(path("child")));
    // Killed with it, and reaped by whoever adopts it
    const auto lives = [child] {
        const std::string stat = io::readLine("/proc/" + std::to_string(child) + "/stat");
        return ::kill(child, 0) == 0 && stat.find(") Z ") == std::string::npos;
    };
    for (int tries = 0; lives() && tries < 10000; ++tries)
        ::usleep(1000);
    EXPECT_FALSE(lives());
}

} // namespace
} // namespace openipoib::ha
