// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/lock_file.hpp"

#include <gtest/gtest.h>

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
