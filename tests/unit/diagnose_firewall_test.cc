// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What is taken from the words of nftables and iptables.
#include "diagnose/gather_parts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace openipoib::diagnose
{
namespace
{

std::vector<Drop> dropsOf(const std::string &json)
{
    return dropsIn(json).value();
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
    auto drops = dropsOf(ruleset(rule(byInterface + "," + counted + R"(,{"drop": null})")));
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_EQ(drops[0].interface, "ib0");
    EXPECT_EQ(drops[0].chain, "inet t in");
    drops = dropsOf(ruleset(rule(byAddress + R"(,{"reject": {"type": "tcp reset"}})")));
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_EQ(drops[0].address, "10.0.0.2");
    EXPECT_EQ(dropsOf(ruleset(rule(R"({"drop": null})"))).size(), 1u);
}

TEST(DiagnoseFirewall, RulesThatDropSome)
{
    EXPECT_TRUE(dropsOf(ruleset("")).empty());
    EXPECT_TRUE(dropsOf(ruleset(rule(byPort + R"(,{"drop": null})"))).empty());
    EXPECT_TRUE(dropsOf(ruleset(rule(byInterface + R"(,{"accept": null})"))).empty());
    EXPECT_TRUE(dropsOf(ruleset(rule(R"({"drop": null})", "loose"))).empty());
    EXPECT_TRUE(
        dropsOf(ruleset(rule(byPort + R"(,{"accept": null})") + rule(R"({"drop": null})"))).empty())
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
        return dropsOf(text);
    };
    const auto drops = in(R"("hook": "ingress", "dev": "eth0")");
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_EQ(drops[0].interface, "eth0");
    EXPECT_TRUE(in(R"("hook": "ingress", "dev": ["eth0", "eth1"])").empty());
    EXPECT_TRUE(in(R"("hook": "forward")").empty());
}

TEST(DiagnoseFirewall, Policies)
{
    const auto drops = dropsOf(chain(R"("hook": "input", "policy": "drop")") + "]}");
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_TRUE(drops[0].isPolicy);
    EXPECT_TRUE(dropsOf(chain(R"("hook": "input", "policy": "accept")") + "]}").empty());
    EXPECT_TRUE(dropsOf(chain(R"("hook": "forward", "policy": "drop")") + "]}").empty());
}

TEST(DiagnoseFirewall, OfWhichFamily)
{
    const auto in = [](const std::string &family, const std::string &table = "") {
        return dropsOf(R"({"nftables": [{"table": {"family": ")" + family + R"(", "name": "t")" +
                       table + R"(}}, {"chain": {"family": ")" + family +
                       R"(", "table": "t", "name": "x", "type": "filter", "hook": "input",
                          "policy": "drop"}}]})");
    };
    ASSERT_EQ(in("ip6").size(), 1u);
    EXPECT_EQ(in("ip6")[0].family, "ipv6");
    ASSERT_EQ(in("ip").size(), 1u);
    EXPECT_EQ(in("ip")[0].family, "ipv4");
    ASSERT_EQ(in("inet", R"(, "flags": "owner")").size(), 1u);
    EXPECT_EQ(in("inet")[0].family, "");
    EXPECT_TRUE(in("bridge").empty());
    EXPECT_TRUE(in("arp").empty());
    EXPECT_TRUE(in("inet", R"(, "flags": "dormant")").empty());
    EXPECT_TRUE(in("inet", R"(, "flags": ["owner", "dormant"])").empty());
    const auto six = dropsInIptables("*filter\n:INPUT DROP [0:0]\n", "ip6tables-legacy");
    ASSERT_EQ(six.size(), 1u);
    EXPECT_EQ(six[0].family, "ipv6");
    const auto four = dropsInIptables("*filter\n-A INPUT -j DROP\n", "iptables-legacy");
    ASSERT_EQ(four.size(), 1u);
    EXPECT_EQ(four[0].family, "ipv4");
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
    for (const auto *text : {"", "{", "[]", "3", R"({"nftables": 3})"})
        EXPECT_FALSE(dropsIn(text)) << text;
    for (const auto *text :
         {R"({"nftables": [3, null]})", R"({"nftables": [{"rule": {"expr": [3]}}]})"})
        EXPECT_EQ(dropsIn(text)->size(), 0u) << text;
    const std::string whole = ruleset(rule(R"({"drop": null})"));
    EXPECT_FALSE(dropsIn(std::string_view(whole).substr(0, whole.size() / 2)))
        << "the rest was cut off";
}

} // namespace
} // namespace openipoib::diagnose
