// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/journal.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>
#include <sstream>

namespace openipoib::io
{
namespace
{

TEST(Journal, EveryLineHasThePrefix)
{
    std::stringbuf to;
    PrefixBuffer buffer(to, "<4>");
    std::ostream out(&buffer);
    out << "openib: failed: " << 3 << '\n' << "two\nthree" << std::flush;
    EXPECT_EQ(to.str(), "<4>openib: failed: 3\n<4>two\n<4>three");
    out << "\n\nfour\n";
    EXPECT_EQ(to.str(), "<4>openib: failed: 3\n<4>two\n<4>three\n\n<4>four\n");
}

TEST(Journal, ItsStreamIsKnownByDeviceAndNumber)
{
    struct stat status {
    };
    ASSERT_EQ(::fstat(STDERR_FILENO, &status), 0);
    const char *before = std::getenv("JOURNAL_STREAM");
    const std::string kept = before ? before : "";
    const std::string right = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
    ::setenv("JOURNAL_STREAM", right.c_str(), 1);
    EXPECT_TRUE(isJournal(STDERR_FILENO));
    ::setenv("JOURNAL_STREAM", (right + "1").c_str(), 1);
    EXPECT_FALSE(isJournal(STDERR_FILENO));
    ::unsetenv("JOURNAL_STREAM");
    EXPECT_FALSE(isJournal(STDERR_FILENO));
    if (before)
        ::setenv("JOURNAL_STREAM", kept.c_str(), 1);
}

} // namespace
} // namespace openipoib::io
