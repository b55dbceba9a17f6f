// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/ipoib_link.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace openipoib::netlink
{
namespace
{

namespace fs = std::filesystem;

class IpoibLinks : public testing::Test
{
  protected:
    void SetUp() override
    {
        std::string name = (fs::temp_directory_path() / "links-XXXXXX").string();
        ASSERT_TRUE(::mkdtemp(name.data()));
        sys = name;
    }
    void TearDown() override { fs::remove_all(sys); }

    void put(const std::string &file, const std::string &text) const
    {
        const fs::path path = fs::path(sys) / "class/net" / file;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    static Link link(int index, const std::string &name)
    {
        Link out;
        out.index = index;
        out.name = name;
        return out;
    }

    std::string sys;
};

TEST_F(IpoibLinks, SysfsComesFirst)
{
    put("ib0/pkey", "0x8001\n");
    put("ib0/mode", "connected\n");
    put("ib0/umcast", "1\n");
    put("ib0/parent", "ib9\n");
    const std::vector<Link> all{link(3, "ib3")};
    Link ib0 = link(1, "ib0");
    ib0.ipoib = Ipoib{.pkey = 0x7FFF};
    ib0.parent = 3;
    EXPECT_EQ(readIpoibLink(sys, ib0, all), (IpoibLink{0x8001, true, true, "ib9"}));
    put("ib0/mode", "datagram\n");
    put("ib0/umcast", "0\n");
    EXPECT_EQ(readIpoibLink(sys, ib0, all), (IpoibLink{0x8001, false, false, "ib9"}));
}

TEST_F(IpoibLinks, ThenNetlink)
{
    const std::vector<Link> all{link(3, "ib3"), link(4, "ib4")};
    Link child = link(5, "child");
    EXPECT_EQ(readIpoibLink(sys, child, all), IpoibLink()) << "nobody says anything";
    child.ipoib = Ipoib{.pkey = 0x8002, .connected = true};
    child.parent = 4;
    EXPECT_EQ(readIpoibLink(sys, child, all),
              (IpoibLink{0x8002, std::nullopt, std::nullopt, "ib4"}))
        << "a mode that cannot be written is none";
    EXPECT_EQ(readIpoibLink(sys, child).parent, "");
    child.ipoib->pkey = 0;
    EXPECT_FALSE(readIpoibLink(sys, child, all).pkey) << "the driver has said nothing";
    put("child/pkey", "nonsense\n");
    EXPECT_FALSE(readIpoibLink(sys, child, all).pkey);
}

TEST_F(IpoibLinks, NamesOfChildren)
{
    EXPECT_EQ(childName("ib0", 0x8001), "ib0.8001");
    EXPECT_EQ(childName("ib0", 0x00AF), "ib0.00af");
}

} // namespace
} // namespace openipoib::netlink
