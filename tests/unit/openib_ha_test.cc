// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Which ipoib-ha is the one that openib starts and stops, among processes of that name.
#include "conf/openib/linux_ha.hpp"
#include "conf/openib/linux_system.hpp"
#include "io/file.hpp"
#include "io/lock_file.hpp"
#include "io/process.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace openipoib::openib
{
namespace
{

namespace fs = std::filesystem;

class OpenibHa : public testing::Test
{
  protected:
    OpenibHa()
        : top(fs::path(testing::TempDir()) / ("openib-ha-" + std::to_string(::getpid()))),
          places{.systemd = path("systemd"),
                 .systemctl = path("systemctl"),
                 .program = path("ipoib-ha"),
                 .lock = path("lock"),
                 .control = path("control"),
                 .record = path("openib/ipoib-ha.pid")}
    {
        fs::create_directories(top);
        // Like the daemon, as far as openib looks
        script(places.program, "exec 9>>" + places.lock +
                                   "; flock -n 9 || exit 1\n"
                                   "echo $$ > " +
                                   places.lock + "; echo \"$*\" > " + path("said") +
                                   "; exec sleep 60\n");
    }
    ~OpenibHa() override
    {
        static_cast<void>(stopHa(places));
        fs::remove_all(top);
    }

    [[nodiscard]] std::string path(const std::string &name) const { return (top / name).string(); }
    static void script(const std::string &name, const std::string &text)
    {
        std::ofstream(name) << "#!/bin/sh\n" << text;
        fs::permissions(name, fs::perms::owner_all);
    }

    fs::path top;
    HaPlaces places;
};

// A process that somebody has given that name
class Impostor
{
  public:
    Impostor() : pid(::fork())
    {
        if (pid == 0) {
            ::prctl(PR_SET_NAME, "ipoib-ha");
            for (;;)
                ::pause();
        }
        while (io::readLine("/proc/" + std::to_string(pid) + "/comm") != "ipoib-ha")
            ::usleep(1000);
    }
    Impostor(const Impostor &) = delete;
    Impostor &operator=(const Impostor &) = delete;
    ~Impostor()
    {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    [[nodiscard]] bool isAlive() const { return ::waitpid(pid, nullptr, WNOHANG) == 0; }

    const pid_t pid;
};

TEST(OpenibHaName, AProcessOfThatNameIsNotTheDaemon)
{
    auto system = LinuxSystem::open({});
    ASSERT_TRUE(system) << system.error().text();
    const auto before = system->read();
    const Impostor impostor;
    const auto after = system->read();
    ASSERT_TRUE(before && after);
    EXPECT_EQ(after->haRunning, before->haRunning);
}

TEST_F(OpenibHa, WithSystemdItIsTheUnit)
{
    fs::create_directories(places.systemd);
    for (const char *state : {"active", "activating", "reloading"}) {
        script(places.systemctl, std::string("echo ") + state + "\n");
        EXPECT_TRUE(isHaRunning(places)) << state;
    }
    for (const char *state : {"inactive", "failed", "deactivating", ""}) {
        script(places.systemctl, std::string("echo ") + state + "\n");
        EXPECT_FALSE(isHaRunning(places)) << state;
    }
    script(places.systemctl, "echo \"$*\" >> " + path("asked") + "\n");
    EXPECT_TRUE(startHa(places));
    EXPECT_TRUE(stopHa(places));
    EXPECT_EQ(io::readFile(path("asked")), "start ipoib-ha.service\nstop ipoib-ha.service\n");
    script(places.systemctl, "echo active; exit 1\n");
    EXPECT_FALSE(isHaRunning(places)) << "nobody answers";
    script(places.systemctl, "exec sleep 60\n");
    places.systemctlPatience = std::chrono::milliseconds(50);
    const auto runs = askWhetherHaRuns(places);
    script(places.systemctl, ""); // for the end of the test, which has it stopped
    ASSERT_FALSE(runs);
    EXPECT_EQ(runs.error().code, ETIMEDOUT);
}

TEST_F(OpenibHa, OtherPairsAreThereWhenItHasReadThemAgain)
{
    fs::create_directories(places.systemd);
    const auto answer = [this](const char *interfaces) {
        return "echo '{\"pairs\": [{\"interfaces\": [" + std::string(interfaces) + "]}]}' > " +
               path("answer.new") + " && mv " + path("answer.new") + " " + path("answer") + "\n";
    };
    script(places.program, "cat " + path("answer") + "\n");
    EXPECT_FALSE(haPairs(places)) << "it does not answer";
    script(places.systemctl, answer(""));
    ASSERT_TRUE(io::runChecked({places.systemctl}));
    EXPECT_EQ(haPairs(places), std::vector<std::string>{""}) << "it has not seen them yet";
    script(places.systemctl, answer(R"({"name": "ib0"}, {"name": "ib1"})"));
    ASSERT_TRUE(io::runChecked({places.systemctl}));
    EXPECT_EQ(haPairs(places), std::vector<std::string>{"ib0+ib1"});
    // Later than systemctl ends
    script(places.systemctl, "[ \"$*\" = 'reload ipoib-ha.service' ] && (sleep 0.2; " +
                                 answer(R"({"name": "ib0"}, {"name": "ib2"})") +
                                 ") > /dev/null 2>&1 &\n");
    EXPECT_TRUE(reloadHa(places, {"ib0+ib2"}));
    EXPECT_EQ(haPairs(places), std::vector<std::string>{"ib0+ib2"});
    script(places.systemctl, "exit 1\n");
    EXPECT_FALSE(reloadHa(places, {"ib0+ib1"}));
}

TEST_F(OpenibHa, AStatusMayBeLong)
{
    script(places.program, R"(
printf '{"pairs": [{"interfaces": [{"name": "ib0"}, {"name": "ib1"}], "identity": ["'
head -c 102400 /dev/zero | tr '\0' x
echo '"]}]}'
)");
    const auto pairs = haPairs(places);
    ASSERT_TRUE(pairs) << pairs.error().text();
    EXPECT_EQ(*pairs, std::vector<std::string>{"ib0+ib1"});
}

TEST_F(OpenibHa, WhatItComplainsOfIsNotItsStatus)
{
    script(places.program, R"(
echo 'ipoib-ha: a warning' >&2
echo '{"pairs": [{"interfaces": [{"name": "ib0"}, {"name": "ib1"}]}]}'
echo 'ipoib-ha: another' >&2
)");
    const auto pairs = haPairs(places);
    ASSERT_TRUE(pairs) << pairs.error().text();
    EXPECT_EQ(*pairs, std::vector<std::string>{"ib0+ib1"});
}

TEST_F(OpenibHa, WhyItDoesNotSayWhatItKeeps)
{
    script(places.program, "echo '{}'; echo why >&2; exit 4\n");
    auto pairs = haPairs(places);
    ASSERT_FALSE(pairs);
    EXPECT_EQ(pairs.error().context, places.program + ": exit status 4: why");
    for (const char *status : {"", "[]", "{}", R"({"pairs": [7]})", R"({"pairs": [{"name": 7}]})",
                               R"({"pairs": [{"interfaces": [{}]}]})"}) {
        script(places.program, "echo '" + std::string(status) + "'\n");
        pairs = haPairs(places);
        ASSERT_FALSE(pairs) << status;
        EXPECT_EQ(pairs.error().code, EBADMSG) << status;
        EXPECT_EQ(pairs.error().context, places.program + ": a status of " +
                                             std::to_string(std::strlen(status) + 1) +
                                             " bytes that does not name pairs");
    }
}

TEST_F(OpenibHa, OneThatIsStartingAnswersSoon)
{
    script(places.program, "[ -e " + path("again") + " ] || { : > " + path("again") +
                               "; exit 3; }\necho '{\"pairs\": []}'; exit 2\n");
    const auto pairs = haPairs(places);
    ASSERT_TRUE(pairs) << pairs.error().text();
    EXPECT_TRUE(pairs->empty());
}

TEST_F(OpenibHa, WhoMayNotAskIt)
{
    EXPECT_TRUE(mayAskHa(places)) << "it is starting";
    std::ofstream(places.control) << "";
    fs::permissions(places.control, fs::perms::owner_all);
    EXPECT_TRUE(mayAskHa(places));
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can be somebody else";
    const pid_t pid = ::fork();
    if (pid == 0)
        ::_exit(::setresuid(2, 2, 2) == 0 && !mayAskHa(places) ? 0 : 1);
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST_F(OpenibHa, OneThatDoesNotAnswerIsNotWaitedFor)
{
    script(places.program, "exec sleep 60\n");
    places.answerPatience = std::chrono::milliseconds(100);
    const auto start = std::chrono::steady_clock::now();
    const auto pairs = haPairs(places);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    ASSERT_FALSE(pairs);
    EXPECT_EQ(pairs.error().code, ETIMEDOUT);
    EXPECT_EQ(pairs.error().context, places.program + ": has not ended");
}

TEST_F(OpenibHa, AnotherOrderIsAnotherPair)
{
    script(places.program, R"(
echo '{"pairs": [{"interfaces": [{"name": "ib1"}, {"name": "ib0"}]},
                 {"interfaces": [{"name": "ib3"}, {"name": "ib4"}], "spares": [{"name": "ib2"}],
                  "name": "ib2+ib4:ib3"}]}'
)");
    const auto pairs = haPairs(places);
    ASSERT_TRUE(pairs) << pairs.error().text();
    EXPECT_EQ(*pairs, (std::vector<std::string>{"ib1+ib0", "ib2+ib4:ib3"}));
}

TEST_F(OpenibHa, WithoutSystemdItIsTheProcessThatWasStarted)
{
    EXPECT_FALSE(isHaRunning(places));
    const auto started = startHa(places);
    ASSERT_TRUE(started) << started.error().text();
    EXPECT_TRUE(isHaRunning(places)) << "without waiting";
    const auto stopped = stopHa(places);
    EXPECT_TRUE(stopped);
    EXPECT_FALSE(isHaRunning(places)) << "without waiting";
    EXPECT_EQ(io::readLine(path("said")), "run --config /etc/infiniband/openib.conf");
    EXPECT_TRUE(stopHa(places)) << "there is nothing to stop";
}

TEST_F(OpenibHa, AnAdministratorsOwnIsLeftAlone)
{
    const auto lock = io::lockFile(places.lock, io::IfLocked::refuse);
    ASSERT_TRUE(lock);
    EXPECT_FALSE(isHaRunning(places));
    EXPECT_EQ(haProcess(places), ::getpid());
    const auto started = startHa(places);
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, EIO);
    EXPECT_NE(started.error().context.find("exit status 1; process " + std::to_string(::getpid()) +
                                           ", which openib has not started, has"),
              std::string::npos)
        << started.error().text();
    EXPECT_TRUE(stopHa(places));
    EXPECT_TRUE(io::isLockedBy(places.lock, ::getpid())) << "this process would have been ended";
}

TEST_F(OpenibHa, ANumberThatIsSomebodyElsesByNow)
{
    const Impostor impostor;
    fs::create_directories(path("openib"));
    ASSERT_TRUE(io::replaceFile(places.record, std::to_string(impostor.pid) + "\n"));
    ASSERT_TRUE(io::replaceFile(places.lock, std::to_string(impostor.pid) + "\n"));
    EXPECT_FALSE(isHaRunning(places));
    EXPECT_TRUE(stopHa(places));
    EXPECT_TRUE(impostor.isAlive());
}

TEST_F(OpenibHa, NotInstalled)
{
    fs::remove(places.program);
    EXPECT_EQ(startHa(places).error().code, ENOENT);
}

} // namespace
} // namespace openipoib::openib
