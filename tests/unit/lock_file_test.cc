// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/lock_file.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace openipoib::io
{
namespace
{

TEST(LockFile, IsRefusedWhileSomebodyHasIt)
{
    const std::string path = testing::TempDir() + "/lock-file-test";
    {
        const auto first = lockFile(path, IfLocked::refuse);
        ASSERT_TRUE(first);
        const auto second = lockFile(path, IfLocked::refuse);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, EBUSY);
        EXPECT_EQ(second.error().context, path);
    }
    EXPECT_TRUE(lockFile(path, IfLocked::wait));
}

TEST(LockFile, TellsWhoseItIs)
{
    const std::string path = testing::TempDir() + "/lock-file-owner-test";
    EXPECT_FALSE(isLockedBy(path, ::getpid()));
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto lock = lockFile(path, IfLocked::refuse);
        if (::write(writing.get(), "x", 1) == 1)
            ::pause();
        ::_exit(1);
    }
    char byte = 0;
    ASSERT_EQ(::read(reading.get(), &byte, 1), 1);
    EXPECT_TRUE(isLockedBy(path, child));
    EXPECT_FALSE(isLockedBy(path, ::getpid()));
    EXPECT_EQ(lockFile(path, IfLocked::refuse).error().code, EBUSY);
    EXPECT_TRUE(isLockedBy(path, child)) << "who is refused takes nothing";
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(isLockedBy(path, child)) << "what the file says is old";
}

TEST(LockFile, SaysWhereItCannotBeMade)
{
    const std::string path = testing::TempDir() + "/no such folder/lock";
    const auto lock = lockFile(path, IfLocked::wait);
    ASSERT_FALSE(lock);
    EXPECT_EQ(lock.error().code, ENOENT);
    EXPECT_EQ(lock.error().context, path);
}

} // namespace
} // namespace openipoib::io
