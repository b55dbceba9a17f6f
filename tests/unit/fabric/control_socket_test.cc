// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The file of a control socket: what it may take the place of, and when it goes.
#include "io/control_socket.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <latch>
#include <thread>
#include <vector>

namespace openipoib::fabric
{
namespace
{

namespace fs = std::filesystem;

class ControlSocketTest : public testing::Test
{
  protected:
    ControlSocketTest()
    {
        std::string pattern = testing::TempDir() + "controlXXXXXX";
        folder = ::mkdtemp(pattern.data());
        path = folder / "control";
    }
    ~ControlSocketTest() override { fs::remove_all(folder); }

    auto open()
    {
        return ControlSocket::open(
            events, path, [](std::string_view) { return ControlSocket::Answer{.text = "{}"}; });
    }

    [[nodiscard]] sockaddr_un address() const
    {
        sockaddr_un made{.sun_family = AF_UNIX, .sun_path = {}};
        std::ranges::copy(path.string(), made.sun_path);
        return made;
    }

    // Whether somebody listens there.
    [[nodiscard]] bool answers() const
    {
        const io::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const sockaddr_un to = address();
        return ::connect(fd.get(), reinterpret_cast<const sockaddr *>(&to), sizeof to) == 0;
    }

    // What a process has left there that was killed.
    void leave(int type) const
    {
        const io::UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
        const sockaddr_un mine = address();
        ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr *>(&mine), sizeof mine), 0);
    }

    fs::path folder, path;
    io::EventLoop events = io::EventLoop::open().value();
};

TEST_F(ControlSocketTest, IsForThisUserAloneAndGoesWithItsOwner)
{
    {
        const auto control = open();
        ASSERT_TRUE(control) << control.error().text();
        EXPECT_TRUE(answers());
        EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
        EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
    }
    EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(ControlSocketTest, ReplacesNothingButASocketThatIsLeft)
{
    std::ofstream(path) << "a topology";
    const auto refused = open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOTSOCK);
    EXPECT_EQ(fs::file_size(path), 10U);
    fs::remove(path);
    fs::create_symlink("elsewhere", path);
    EXPECT_FALSE(open());
    EXPECT_TRUE(fs::is_symlink(path));
    fs::remove(path);
    leave(SOCK_STREAM);
    ASSERT_FALSE(answers());
    const auto control = open();
    ASSERT_TRUE(control) << control.error().text();
    EXPECT_TRUE(answers());
}

TEST_F(ControlSocketTest, LeavesOneAloneThatHasAnOwner)
{
    auto first = open();
    ASSERT_TRUE(first) << first.error().text();
    const auto second = open();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, EADDRINUSE);
    EXPECT_TRUE(answers());
}

// One of those that start together finds what is left; no other takes its place.
TEST_F(ControlSocketTest, OneOfManyTakesThePlaceOfOneThatIsLeft)
{
    for (int turn = 0; turn < 20; ++turn) {
        leave(SOCK_STREAM);
        std::vector<std::future<int>> starting;
        std::latch together(4);
        std::latch done(4);
        for (int i = 0; i < 4; ++i)
            starting.push_back(std::async(std::launch::async, [this, &together, &done] {
                auto loop = io::EventLoop::open().value();
                together.arrive_and_wait();
                const auto control = ControlSocket::open(
                    loop, path, [](std::string_view) { return ControlSocket::Answer{}; });
                done.arrive_and_wait();
                return control ? 0 : control.error().code;
            }));
        int opened = 0;
        for (auto &one : starting) {
            const int error = one.get();
            EXPECT_TRUE(error == 0 || error == EADDRINUSE) << error;
            opened += error == 0 ? 1 : 0;
        }
        EXPECT_EQ(opened, 1);
        EXPECT_TRUE(fs::is_empty(folder));
    }
}

TEST_F(ControlSocketTest, ThePathMayBeAsLongAsTheSystemTakes)
{
    constexpr std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
    const std::size_t used = folder.string().size() + 1;
    ASSERT_LT(used, most);
    path = folder / std::string(most - used, 'c');
    EXPECT_TRUE(open());
    path += "c";
    EXPECT_EQ(open().error().code, ENAMETOOLONG);
    EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(ControlSocketTest, LeavesAllOtherFilesAlone)
{
    const fs::path neighbour = path.string() + ".lock";
    std::ofstream(neighbour) << "not ours";
    for (int i = 0; i < 2; ++i) {
        const auto control = open();
        ASSERT_TRUE(control) << control.error().text();
    }
    EXPECT_EQ(fs::file_size(neighbour), 8U);
}

TEST_F(ControlSocketTest, WaitsForALockASecondAtMost)
{
    const io::UniqueFd other(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
    const auto start = std::chrono::steady_clock::now();
    const auto refused = open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EWOULDBLOCK);
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    auto waiting = std::async(std::launch::async, [this] { return open().has_value(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_EQ(::flock(other.get(), LOCK_UN), 0);
    EXPECT_TRUE(waiting.get());
}

TEST_F(ControlSocketTest, LeavesAnothersFileAtItsEnd)
{
    auto first = open();
    ASSERT_TRUE(first) << first.error().text();
    fs::remove(path);
    const auto second = open();
    ASSERT_TRUE(second) << second.error().text();
    first->reset();
    EXPECT_TRUE(answers());
}

} // namespace
} // namespace openipoib::fabric
