// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the kernel says about multicast groups.
#include "ha-daemon/linux/memberships.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <bit>

namespace openipoib::ha
{
namespace
{

TEST(HaMemberships, ReadFromTheKernelsTables)
{
    // Of IPv4 the kernel shows the bytes as a number of its machine.
    const bool isLittle = std::endian::native == std::endian::little;
    const std::string group = isLittle ? "010100EF" : "EF000101";
    const std::string allHosts = isLittle ? "010000E0" : "E0000001";
    const auto four = readIgmp("Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"
                               "4\tib0       :     2      V3\n"
                               "\t\t\t\t" +
                               group + "     2 0:00000000\t\t0\n\t\t\t\t" + allHosts +
                               "     1 0:00000000\t\t0\n");
    EXPECT_EQ(four, (Joined{{{4, {239, 0, 1, 1}}, 2}}));
    const auto six =
        readIgmp6("4    ib0             ff0e0000000000000000000000000101     1 00000004 0\n"
                  "4    ib0             ff020000000000000000000000000001     1 0000000C 0\n"
                  "4    ib0             ff0200000000000000000001ff000001     1 00000004 0\n"
                  "4    ib0             ff01\nx\n");
    ASSERT_EQ(six.size(), 1u);
    EXPECT_EQ(six.begin()->first.second[1], 0x0E);
    EXPECT_TRUE(readIgmp("").empty());
    EXPECT_TRUE(readIgmp6("\n\n").empty());
}

// Else all groups would be left.
TEST(HaMemberships, WhatCannotBeReadDoesNotMeanNobody)
{
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 0;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto joined = readJoined();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_FALSE(joined);
    EXPECT_EQ(joined.error().text(), "/proc/net/igmp: Too many open files");
    EXPECT_TRUE(readJoined());
    const auto without = readJoined("/no such folder");
    ASSERT_TRUE(without) << "a kernel without multicast";
    EXPECT_TRUE(without->empty());
}

} // namespace
} // namespace openipoib::ha
