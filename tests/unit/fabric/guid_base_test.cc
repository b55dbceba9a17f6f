// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/guid_base.hpp"

#include "topology/parser.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace openipoib::fabric
{
namespace
{

constexpr std::array<std::uint8_t, 16> here{1}, there{2};

// Far enough from each other for as many nodes as there may be.
bool areApart(std::uint64_t one, std::uint64_t other)
{
    return one >> 24 != other >> 24;
}

TEST(GuidBase, IsTheSameForOneMachineAndPlace)
{
    EXPECT_EQ(guidBase(here, "/etc/net"), guidBase(here, "/etc/net"));
}

TEST(GuidBase, IsAnotherOnAnotherMachineAndInAnotherPlace)
{
    EXPECT_TRUE(areApart(guidBase(here, "/etc/net"), guidBase(there, "/etc/net")));
    EXPECT_TRUE(areApart(guidBase(here, "/etc/net"), guidBase(here, "/etc/net2")));
}

TEST(GuidBase, IsLocallyAdministered)
{
    for (const char *place : {"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h"}) {
        EXPECT_EQ(guidBase(here, place) >> 56 & 3, 2U) << place;
        EXPECT_EQ(guidBase(here, place) & 0xFF'FFFF, 0U) << place;
    }
}

TEST(GuidBase, OfAFileIsThatOfItsRealName)
{
    std::string pattern = testing::TempDir() + "guidsXXXXXX";
    const std::filesystem::path folder = ::mkdtemp(pattern.data());
    std::ofstream(folder / "net") << "Switch 4 \"a\"\n";
    std::filesystem::create_symlink("net", folder / "link");
    EXPECT_EQ(guidBaseOfFile(folder / "net"), guidBaseOfFile(folder / "link"));
    EXPECT_TRUE(areApart(guidBaseOfFile(folder / "net"), guidBaseOfFile(folder / "other")));
    std::filesystem::remove_all(folder);
}

TEST(GuidBase, OfAWordIsOneForAllMachines)
{
    EXPECT_EQ(guidBaseOfWord("left"), guidBaseOfWord("left"));
    EXPECT_TRUE(areApart(guidBaseOfWord("left"), guidBaseOfWord("right")));
}

TEST(GuidBase, FabricsOfOneTopologyHaveNoGuidInCommon)
{
    constexpr std::string_view plan = "Switch 4 \"a\"\n[1] \"b\"[1]\nCa 1 \"b\"\n";
    const auto left = parseTopology(plan, "f", guidBaseOfWord("left"));
    const auto right = parseTopology(plan, "f", guidBaseOfWord("right"));
    for (const TopologyNode &one : left.value().nodes)
        for (const TopologyNode &other : right.value().nodes) {
            EXPECT_NE(one.guid, other.guid);
            EXPECT_NE(one.systemGuid, other.systemGuid);
        }
}

} // namespace
} // namespace openipoib::fabric
