// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What diagnose prints, and what it takes from others' words: nftables' JSON.
#include "diagnose/gather_parts.hpp"
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
    "  mlx5_0 port 1: ACTIVE, LID 2, 40 Gb/sec (4X QDR), subnet manager at LID 1, GID fe80::1, "
    "heard "
    "just now, after 3 ms; 600 ports of hosts\n";

TEST(DiagnoseReport, WhatWasLookedAt)
{
    World world;
    world.first().manager = {};
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

// A table with a chain at a hook, and these rules
std::string ruleset(const std::string &rules)
{
    return R"({"nftables": [{"metainfo": {"version": "1.0.6"}},
      {"table": {"family": "inet", "name": "t"}},
      {"chain": {"family": "inet", "table": "t", "name": "in", "type": "filter", "hook": "input",
                 "prio": 0, "policy": "accept"}},
      {"chain": {"family": "inet", "table": "t", "name": "loose"}})" +
           rules + "]}";
}

std::string rule(const std::string &expressions, const std::string &chain = "in")
{
    return R"(, {"rule": {"family": "inet", "table": "t", "chain": ")" + chain +
           R"(", "handle": 3, "expr": [)" + expressions + "]}}";
}

const std::string byInterface =
    R"({"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "ib0"}})";
const std::string byAddress =
    R"({"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "saddr"}},
                  "right": "10.0.0.2"}})";
const std::string byPort =
    R"({"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}},
                  "right": 22}})";
const std::string counted = R"({"counter": {"packets": 0, "bytes": 0}})";

TEST(DiagnoseFirewall, RulesThatDropAll)
{
    auto drops = dropsIn(ruleset(rule(byInterface + "," + counted + R"(,{"drop": null})")));
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_EQ(drops[0].interface, "ib0");
    EXPECT_EQ(drops[0].chain, "inet t in");
    drops = dropsIn(ruleset(rule(byAddress + R"(,{"reject": {"type": "tcp reset"}})")));
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_EQ(drops[0].address, "10.0.0.2");
    EXPECT_EQ(dropsIn(ruleset(rule(R"({"drop": null})"))).size(), 1u);
}

TEST(DiagnoseFirewall, RulesThatDropSome)
{
    EXPECT_TRUE(dropsIn(ruleset("")).empty());
    EXPECT_TRUE(dropsIn(ruleset(rule(byPort + R"(,{"drop": null})"))).empty());
    EXPECT_TRUE(dropsIn(ruleset(rule(byInterface + R"(,{"accept": null})"))).empty());
    EXPECT_TRUE(dropsIn(ruleset(rule(R"({"drop": null})", "loose"))).empty());
    EXPECT_TRUE(
        dropsIn(ruleset(rule(byPort + R"(,{"accept": null})") + rule(R"({"drop": null})"))).empty())
        << "what is wanted is let through before";
}

// A chain that is of a device, or drops what is left
std::string chain(const std::string &more)
{
    return R"({"nftables": [{"chain": {"family": "netdev", "table": "t", "name": "x",
               "type": "filter", )" +
           more + "}}";
}

TEST(DiagnoseFirewall, ChainsOfADevice)
{
    const std::string all = rule(R"({"drop": null})", "x");
    const auto in = [&](const std::string &more) {
        std::string text = chain(more) + all + "]}";
        text.replace(text.find(R"("family": "inet")"), 16, R"("family": "netdev")");
        return dropsIn(text);
    };
    const auto drops = in(R"("hook": "ingress", "dev": "eth0")");
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_EQ(drops[0].interface, "eth0");
    EXPECT_TRUE(in(R"("hook": "ingress", "dev": ["eth0", "eth1"])").empty());
    EXPECT_TRUE(in(R"("hook": "forward")").empty());
}

TEST(DiagnoseFirewall, Policies)
{
    const auto drops = dropsIn(chain(R"("hook": "input", "policy": "drop")") + "]}");
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_TRUE(drops[0].isPolicy);
    EXPECT_TRUE(dropsIn(chain(R"("hook": "input", "policy": "accept")") + "]}").empty());
    EXPECT_TRUE(dropsIn(chain(R"("hook": "forward", "policy": "drop")") + "]}").empty());
}

std::vector<std::string> legacy(const std::string &lines)
{
    std::vector<std::string> out;
    for (const auto &drop :
         dropsInIptables("# Generated\n*filter\n" + lines + "COMMIT\n", "iptables-legacy"))
        out.push_back(drop.chain + "|" + drop.interface + "|" + drop.address +
                      (drop.isPolicy ? "|policy" : ""));
    return out;
}

TEST(DiagnoseFirewall, RulesOfIptables)
{
    using Found = std::vector<std::string>;
    EXPECT_EQ(legacy(":INPUT ACCEPT [0:0]\n-A INPUT -i ib0 -j DROP\n"), Found{"filter INPUT|ib0|"});
    EXPECT_EQ(legacy("-A OUTPUT -d 10.0.0.2/32 -m comment --comment \"no -j ACCEPT\" -j REJECT "
                     "--reject-with icmp-port-unreachable\n"),
              Found{"filter OUTPUT||10.0.0.2"});
    EXPECT_EQ(legacy(":INPUT DROP [0:0]\n"), Found{"filter INPUT|||policy"});
    for (const auto *lines :
         {"", ":FORWARD DROP [0:0]\n", ":INPUT DROP [0:0]\n-A INPUT -i lo -j ACCEPT\n",
          "-A INPUT -i lo -j ACCEPT\n-A INPUT -j DROP\n", "-A INPUT -p tcp -j DROP\n",
          "-A INPUT ! -i lo -j DROP\n", "-A INPUT -i ib+ -j DROP\n",
          "-A INPUT -s 10.0.0.0/8 -j DROP\n", "-A LOOSE -j DROP\n", "-A INPUT\n", "-A\n", ":\n",
          "*\n"})
        EXPECT_EQ(legacy(lines), Found{}) << lines;
}

TEST(DiagnoseFirewall, WhatIsNoRuleset)
{
    for (const auto *text : {"", "{", "[]", "3", R"({"nftables": 3})", R"({"nftables": [3, null]})",
                             R"({"nftables": [{"rule": {"expr": [3]}}]})"})
        EXPECT_TRUE(dropsIn(text).empty()) << text;
}

TEST(DiagnoseText, CountersOfTheKernel)
{
    const char *const four = "Ip: Forwarding ReasmTimeout ReasmReqds\nIp: 1 0 7\n"
                             "Icmp: ReasmReqds\nIcmp: 3\n";
    EXPECT_EQ(snmpIn(four, "Ip", "ReasmReqds"), 7u);
    EXPECT_EQ(snmpIn(four, "Ip", "ReasmOKs"), 0u);
    EXPECT_EQ(snmpIn(four, "Icmp", "ReasmReqds"), 3u);
    const char *const six = "Ip6InReceives  \t12\nIp6ReasmReqds  \t34\n";
    EXPECT_EQ(snmpIn(six, "", "Ip6ReasmReqds"), 34u);
    for (const auto *text : {"", "Ip:", "Ip: ReasmReqds", "Ip: ReasmReqds\nIp: x\n"})
        EXPECT_EQ(snmpIn(text, "Ip", "ReasmReqds"), 0u) << text;
}

TEST(DiagnoseText, ConnectionsOfOurDriver)
{
    const char *const text = "GID: fe80:0:0:0:50f8:83ff:fe85:200\n  direction: out\n"
                             "  QPN:      0x000002\n  state:    DATAGRAM\n\n"
                             "GID: fe80:0:0:0:50f8:83ff:fe85:300\n  direction: in\n"
                             "  QPN:      0x000003\n  state:    LIVE\n";
    EXPECT_EQ(connectionIn(text, gidIn("fe8000000000000050f883fffe850200")), "DATAGRAM");
    EXPECT_EQ(connectionIn(text, gidIn("fe8000000000000050f883fffe850300")), "") << "its own";
    EXPECT_EQ(connectionIn(text, gidIn("fe8000000000000050f883fffe850400")), "");
    EXPECT_EQ(connectionIn("", io::Bytes{1}), "");
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
