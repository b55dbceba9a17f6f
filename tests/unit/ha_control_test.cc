// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The daemon's control socket with clients that are slow, or too many for the kernel.
#include "ha-daemon/linux/control.hpp"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

// What the daemon would say. Not of the fixture, which the sanitizers look at with a descriptor,
// and one case has none.
struct Owner {
    std::string answer = std::string(5 << 20, 'x') + "\n";
    bool mayChange = false; // who has asked last
    int failure = 0;        // errno
    Time now{};

    std::optional<std::string> answerTo(const ControlServer::Question &question)
    {
        mayChange = question.mayChange;
        return question.command == "monitor" ? std::nullopt : std::optional(answer);
    }
};

class HaControl : public testing::Test
{
  protected:
    HaControl() : path(testing::TempDir() + "/control-" + std::to_string(::getpid()))
    {
        auto opened = ControlServer::open(
            loop, path,
            {.answer = [&owner = owner](const auto &asked) { return owner.answerTo(asked); },
             .now = [&owner = owner] { return owner.now; },
             .fail = [&owner = owner](const io::Error &error) { owner.failure = error.code; }});
        if (opened)
            server = std::move(*opened);
    }
    ~HaControl() override { ::unlink(path.c_str()); }
    void SetUp() override { ASSERT_TRUE(server); }

    [[nodiscard]] io::UniqueFd connect() const
    {
        io::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::ranges::copy(path, address.sun_path);
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address),
                  0);
        return fd;
    }
    // A client that has said @command
    [[nodiscard]] io::UniqueFd client(const std::string &command)
    {
        io::UniqueFd fd = connect();
        const std::string line = command + "\n";
        EXPECT_EQ(::send(fd.get(), line.data(), line.size(), 0), std::ssize(line));
        turn();
        turn();
        return fd;
    }
    // A turn of the daemon's loop. False: nothing has happened.
    bool turn(int milliseconds = 0)
    {
        server->expire();
        bool any = false;
        while (loop.turn(std::chrono::milliseconds(any ? 0 : milliseconds)))
            any = true;
        return any;
    }
    [[nodiscard]] std::size_t clients() const { return server->clients(); }
    // What the daemon sends until it ends; with nothing, until nothing comes.
    static std::string heard(const io::UniqueFd &fd, int flags = 0)
    {
        std::string all;
        std::array<char, 1 << 16> buffer{};
        for (;;) {
            const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), flags);
            if (got <= 0)
                return all;
            all.append(buffer.data(), static_cast<std::size_t>(got));
        }
    }

    std::string path;
    io::EventLoop loop = io::EventLoop::open().value();
    std::unique_ptr<ControlServer> server;
    Owner owner;
    std::string &answer = owner.answer;
    bool &mayChange = owner.mayChange;
    int &failure = owner.failure;
    Time &now = owner.now;
};

TEST_F(HaControl, TheGroupMayAskAndRootMayChange)
{
    struct stat file {
    };
    ASSERT_EQ(::stat(path.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 07777, 0660U);
    const auto self = client("status");
    EXPECT_TRUE(mayChange);
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can be somebody else";
    // As bin of the socket's group
    const pid_t pid = ::fork();
    if (pid == 0)
        ::_exit(::setgroups(0, nullptr) == 0 && ::setresuid(2, 2, 2) == 0 &&
                        ask(path, "status", [](const std::string &) { return true; })
                    ? 0
                    : 1);
    int status = -1;
    while (::waitpid(pid, &status, WNOHANG) == 0)
        turn(10);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(mayChange);
}

TEST_F(HaControl, ALongAnswerComesWhole)
{
    std::string got;
    bool ended = false;
    io::Result<void> asked;
    std::thread asking([&] {
        asked = ask(path, "status", [&](const std::string &piece) {
            got += piece;
            return true;
        });
        ended = true;
    });
    for (int turns = 0; !ended && turns < 100000; ++turns)
        turn(10);
    asking.join();
    EXPECT_TRUE(asked);
    EXPECT_EQ(got.size(), answer.size());
    EXPECT_EQ(clients(), 0u);
    EXPECT_FALSE(server->wake());
}

TEST_F(HaControl, WhoTakesNoAnswerHoldsUpNobodyAndIsLeft)
{
    const auto slow = client("status");
    EXPECT_FALSE(turn()) << "there is nothing to be done for it";
    EXPECT_EQ(clients(), 1u);
    answer = "short\n";
    EXPECT_EQ(heard(client("status")), "short\n");
    EXPECT_EQ(server->wake(), answerPatience);
    now = 9s;
    EXPECT_FALSE(heard(slow, MSG_DONTWAIT).empty());
    EXPECT_TRUE(turn());
    EXPECT_EQ(server->wake(), 9s + answerPatience) << "it has taken some";
    now += answerPatience;
    turn();
    EXPECT_EQ(clients(), 0u);
}

TEST_F(HaControl, AnAnswerThatIsTooLongIsNamed)
{
    answer = std::string(maxAnswer + 1, 'x');
    const std::string got = heard(client("status"));
    EXPECT_EQ(got.substr(0, 100),
              "{\"error\":\"an answer of 16777217 bytes is longer than the daemon sends\"}\n");
}

TEST_F(HaControl, AListenerMayBeSlowForAWhile)
{
    const auto listener = client("monitor");
    const std::string line = std::string(1 << 15, 'y') + "\n";
    std::size_t told = 0;
    for (; told < 20; ++told) // more than a socket takes, less than may wait
        server->tell(line);
    std::string got;
    for (int turns = 0; got.size() < told * line.size() && turns < 1000; ++turns) {
        got += heard(listener, MSG_DONTWAIT);
        turn();
    }
    EXPECT_EQ(got.size(), told * line.size());
    EXPECT_EQ(clients(), 1u);
    for (int i = 0; i < 100; ++i) // 3 MiB
        server->tell(line);
    turn();
    EXPECT_EQ(clients(), 0u) << "it hears nothing";
}

// The loop would find it at once for ever, and the daemon is of the real-time class.
TEST_F(HaControl, AClientThatCannotBeLetInIsTriedAgainLater)
{
    const auto waiting = connect();
    const io::UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit limit = before;
    limit.rlim_cur = static_cast<rlim_t>(next.get());
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    // Descriptors below the limit may be free.
    std::vector<io::UniqueFd> filler;
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0))
        filler.emplace_back(fd);
    // Not by turn(): the sanitizers would need a descriptor to look at this object.
    io::EventLoop &limited = loop;
    const bool heard = limited.turn(0ms);
    const bool spins = limited.turn(0ms);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    filler.clear();
    EXPECT_TRUE(heard);
    EXPECT_EQ(failure, EMFILE);
    EXPECT_FALSE(spins);
    EXPECT_EQ(server->wake(), acceptPatience);
    EXPECT_FALSE(turn());
    now += acceptPatience;
    EXPECT_TRUE(turn());
    EXPECT_EQ(clients(), 1u);
    EXPECT_FALSE(server->wake());
}

// One that hangs, or is stopped by a signal
TEST_F(HaControl, ADaemonThatSaysNothingIsNotWaitedFor)
{
    const auto asked = ask(
        path, "status", [](const std::string &) { return true; }, 10ms);
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().code, ETIMEDOUT);
}

} // namespace
} // namespace openipoib::ha
