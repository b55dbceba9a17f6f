// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What diagnose prints.
#include "diagnose/mad_port.hpp"
#include "diagnose/report.hpp"
#include "diagnose/text.hpp"
#include "diagnose_world.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>

namespace openipoib::diagnose
{
namespace
{

std::string textFor(const World &world)
{
    return textOf(documentOf(world.facts, diagnose(world.facts)));
}

const std::string lookedAt =
    "looked at:\n"
    "  ib0: P_Key 0xffff, datagram mode, MTU 4092, carrier, set up by systemd-networkd\n"
    "  mlx5_0 port 1: ACTIVE, LID 2 of up to 600, 40 Gb/sec (4X QDR), subnet manager at LID 1, "
    "GID fe80::1, heard just now, after 3 ms\n";

TEST(DiagnoseReport, WhatWasLookedAt)
{
    World world;
    world.first().manager = {};
    world.first().lids.reset();
    world.ib0().connected.reset();
    world.ib0().pkey.reset();
    world.ib0().managers.clear();
    world.ib0().master = "red";
    EXPECT_TRUE(textFor(world).ends_with("  ib0: MTU 4092, carrier, in red, no manager\n"
                                         "  mlx5_0 port 1: ACTIVE, LID 2, 40 Gb/sec (4X QDR), "
                                         "subnet manager at LID 1\n"));
    world.first().smLid = 0;
    EXPECT_TRUE(textFor(world).ends_with(", no subnet manager\n"));
}

TEST(DiagnoseReport, AHealthyHost)
{
    World world;
    EXPECT_EQ(textFor(world), "nothing wrong with ib0 (mlx5_0 port 1)\n" + lookedAt);
    EXPECT_EQ(verdictOf(world.facts, {}), Verdict::healthy);
}

TEST(DiagnoseReport, ANoteIsNotWrong)
{
    World world;
    world.ib0().link.mtu = 2044;
    const std::string text = textFor(world);
    EXPECT_TRUE(text.starts_with("nothing wrong with ib0 (mlx5_0 port 1)\n"
                                 "note: ib0: its MTU is 2044, its broadcast group allows 4092\n"))
        << text;
    EXPECT_EQ(verdictOf(world.facts, diagnose(world.facts)), Verdict::healthy);
}

TEST(DiagnoseReport, TheFirstLineIsTheFirstCause)
{
    World world;
    world.first().pkeys = {0x7FFF};
    world.facts.unseen = {{"firewall", "nft: No such file or directory"}};
    EXPECT_EQ(textFor(world),
              "ib0: mlx5_0 port 1 is a limited member of the partition 0xffff\n"
              "  why: limited members hear full members alone, not each other\n"
              "  cure: make it a full one, in opensm's partitions.conf \"ALL=full\" or the port's "
              "GUID with \"=full\", and send opensm SIGHUP\n" +
                  lookedAt + "not looked at: firewall: nft: No such file or directory\n");
    EXPECT_EQ(verdictOf(world.facts, diagnose(world.facts)), Verdict::wrong);
}

TEST(DiagnoseReport, NothingToLookAt)
{
    const Facts facts;
    EXPECT_EQ(textOf(documentOf(facts, {})),
              "no InfiniBand port and no IPoIB interface: nothing to look at\n");
    EXPECT_EQ(static_cast<int>(verdictOf(facts, {})), 3);
}

TEST(DiagnoseReport, TheWayToAPeer)
{
    World world;
    world.addPeer().large = false;
    const std::string text = textFor(world);
    EXPECT_TRUE(text.starts_with("10.0.0.2: packets of 4092 octets are not answered, short ones "
                                 "are\n"))
        << text;
    EXPECT_NE(text.find("the way to 10.0.0.2:\n"
                        "  route             by ib0\n"
                        "  neighbour         known\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("  long packets      FAILS: packets of 4092"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("  RDMA CM           not looked at\n" + lookedAt)) << text;
}

TEST(DiagnoseText, Values)
{
    EXPECT_EQ(gidText(gidIn("fe80000000000000505400fffe1b0100")), "fe80::5054:ff:fe1b:100");
    EXPECT_TRUE(gidIn("fe80").empty());
    EXPECT_TRUE(gidIn("zz80000000000000505400fffe1b0100").empty());
    EXPECT_EQ(gidText(io::Bytes{1, 2}), "?");
    EXPECT_EQ(addressText(io::Bytes{10, 0, 0, 1}), "10.0.0.1");
    EXPECT_EQ(mtuOf(5), 4096u);
    EXPECT_EQ(mtuOf(0), 0u);
    EXPECT_EQ(mtuOf(6), 0u);
    EXPECT_EQ(ipMtuOf(4), 2044u);
    EXPECT_EQ(ipMtuOf(0), 0u);
    EXPECT_EQ(rateIn("2.5 Gb/sec (1X SDR)"), 2500u);
    EXPECT_EQ(rateIn("no rate"), 0u);
    EXPECT_EQ(rateIn("1e300 Gb/sec"), 0u);
    EXPECT_EQ(rateText(2500), "2.5 Gb/s");
    EXPECT_EQ(rateText(40000), "40 Gb/s");
}

TEST(DiagnoseText, Descriptions)
{
    EXPECT_EQ(descriptionText("node1 mlx5_0"), "node1 mlx5_0");
    EXPECT_EQ(descriptionText(std::string("sw1\0\0x", 6)), "sw1");
    EXPECT_EQ(descriptionText("M\xFCnchen\033[2J"), "M\\xfcnchen\\x1b[2J");
    EXPECT_EQ(descriptionText(std::string(64, '\xFF')).size(), 256u);
}

TEST(DiagnoseReport, OctetsThatAreNoText)
{
    World world;
    world.ib0().link.name = "ib\xFC";
    const std::string text = printed(documentOf(world.facts, diagnose(world.facts)));
    EXPECT_NE(text.find("\"name\": \"ib\xEF\xBF\xBD\""), std::string::npos) << text;
}

// By code, what the kernel's rate_show() says of a link of that rate
TEST(DiagnoseText, EachRateIsThatOfALink)
{
    constexpr std::array<const char *, 26> links{
        "",
        "",
        "2.5 Gb/sec (1X SDR)",
        "10 Gb/sec (4X SDR)",
        "30 Gb/sec (12X SDR)",
        "5 Gb/sec (1X DDR)",
        "20 Gb/sec (4X DDR)",
        "40 Gb/sec (4X QDR)",
        "60 Gb/sec (12X DDR)",
        "80 Gb/sec (8X QDR)",
        "120 Gb/sec (12X QDR)",
        "14 Gb/sec (1X FDR)",
        "56 Gb/sec (4X FDR)",
        "112 Gb/sec (8X FDR)",
        "168 Gb/sec (12X FDR)",
        "25 Gb/sec (1X EDR)",
        "100 Gb/sec (4X EDR)",
        "200 Gb/sec (8X EDR)",
        "300 Gb/sec (12X EDR)",
        "28 Gb/sec (2X FDR)",
        "50 Gb/sec (1X HDR)",
        "400 Gb/sec (8X HDR)",
        "600 Gb/sec (12X HDR)",
        "800 Gb/sec (8X NDR)",
        "1200 Gb/sec (12X NDR)",
        "1600 Gb/sec (8X XDR)",
    };
    for (unsigned code = 0; code < 64; ++code)
        EXPECT_EQ(rateOf(static_cast<std::uint8_t>(code)),
                  code < links.size() ? rateIn(links.at(code)) : 0)
            << code;
}

TEST(MadPort, WhyItCannotBeOpened)
{
    const auto none = MadPort::open("mlx5_0", 1, "/nonexistent", "/nonexistent");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ENOENT);
    EXPECT_EQ(none.error().context, "mlx5_0 port 1: device of ib_umad");
}

} // namespace
} // namespace openipoib::diagnose
