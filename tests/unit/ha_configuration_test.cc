// SPDX-License-Identifier: GPL-2.0-only OR MIT
// From openib.conf to what the daemon does.
#include "conf/settings.hpp"
#include "ha-daemon/configuration.hpp"

#include <gtest/gtest.h>

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

Configuration read(const std::string &text)
{
    const auto reading = conf::readSettings("IPOIBHA_ENABLE=yes\n" + text, {});
    EXPECT_TRUE(reading.diagnostics.empty()) << conf::render(reading.diagnostics.front(), "");
    return configurationOf(reading.settings.ha.value_or(conf::Ha()));
}

TEST(HaConfiguration, WhatAFileWithoutMoreAsksFor)
{
    const auto made = read("PRIMARY_IPOIB_DEV=ibp59s0\nSECONDARY_IPOIB_DEV=ibp59s0d1\n");
    ASSERT_EQ(made.pairs.size(), 1u);
    EXPECT_EQ(nameOf(made.pairs[0].names), "ibp59s0+ibp59s0d1");
    EXPECT_TRUE(made.pairs[0].targets.addresses.empty());
    EXPECT_TRUE(made.pairs[0].sessions.peers.empty());
    EXPECT_FALSE(made.policy.failback);
    EXPECT_TRUE(made.policy.announce);
    EXPECT_FALSE(made.policyFor(made.pairs[0]).asks);
    EXPECT_TRUE(made.multicast);
    EXPECT_EQ(made.notify, "");
}

TEST(HaConfiguration, SeveralPairsEachWithItsTargets)
{
    const auto made = read("PRIMARY_IPOIB_DEV=ib0,ib2\nSECONDARY_IPOIB_DEV=\"ib1 ib3\"\n"
                           "IPOIBHA_TARGETS=10.0.0.1%ib1,fe80::1%ib2,10.2.0.1%ib3\n"
                           "IPOIBHA_TARGET_INTERVAL=200\nIPOIBHA_TARGET_MISSES=5\n"
                           "IPOIBHA_PROBES=fe80::a%ib0,fe80:0::a%ib1,fe80::b%ib1,fe80::a%ib3\n"
                           "IPOIBHA_PROBE_INTERVAL=20\nIPOIBHA_PROBE_MISSES=5\n"
                           "IPOIBHA_FAILBACK=30\nIPOIBHA_MULTICAST=no\n"
                           "IPOIBHA_NOTIFY=/usr/local/sbin/moved\n");
    ASSERT_EQ(made.pairs.size(), 2u);
    EXPECT_EQ(nameOf(made.pairs[0].names), "ib0+ib1");
    EXPECT_EQ(nameOf(made.pairs[1].names), "ib2+ib3");
    EXPECT_EQ(made.pairs[0].targets.addresses, (std::vector<io::Bytes>{{10, 0, 0, 1}}));
    ASSERT_EQ(made.pairs[1].targets.addresses.size(), 2u);
    EXPECT_EQ(made.pairs[1].targets.addresses[0].size(), 16u);
    EXPECT_EQ(made.pairs[1].targets.addresses[0][15], 1);
    EXPECT_EQ(made.pairs[1].targets.addresses[1], (io::Bytes{10, 2, 0, 1}));
    EXPECT_EQ(made.pairs[1].targets.every, 200ms);
    EXPECT_EQ(made.pairs[1].targets.misses, 5u);
    EXPECT_EQ(made.targetAddresses().size(), 3u);
    EXPECT_EQ(made.pairs[0].sessions.peers.size(), 2u);
    ASSERT_EQ(made.pairs[1].sessions.peers.size(), 1u);
    EXPECT_EQ(made.pairs[1].sessions.peers[0][15], 0xA);
    EXPECT_EQ(made.pairs[1].sessions.times.every, 20ms);
    EXPECT_EQ(made.pairs[1].sessions.times.multiplier, 5);
    EXPECT_EQ(made.policy.failback, Time(30s));
    EXPECT_TRUE(made.policyFor(made.pairs[0]).asks);
    EXPECT_FALSE(made.multicast);
    EXPECT_EQ(made.notify, "/usr/local/sbin/moved");
}

TEST(HaConfiguration, SeveralSecondariesInTheirOrder)
{
    const auto made = read("PRIMARY_IPOIB_DEV=ib0,ib4\nSECONDARY_IPOIB_DEV=ib2:ib1,ib5\n"
                           "IPOIBHA_TARGETS=10.0.0.1%ib1,10.0.0.2%ib5\n");
    ASSERT_EQ(made.pairs.size(), 2u);
    EXPECT_EQ(nameOf(made.pairs[0].names), "ib0+ib2:ib1");
    EXPECT_EQ(made.pairs[0].order, (std::vector<std::string>{"ib0", "ib2", "ib1"}));
    EXPECT_EQ(made.pairs[0].targets.addresses, (std::vector<io::Bytes>{{10, 0, 0, 1}}));
    EXPECT_EQ(nameOf(made.pairs[1].names), "ib4+ib5");
    EXPECT_EQ(made.pairs[1].order, (std::vector<std::string>{"ib4", "ib5"}));
    EXPECT_EQ(made.pairs[1].targets.addresses, (std::vector<io::Bytes>{{10, 0, 0, 2}}));
}

// What would be said of the value of SECONDARY_IPOIB_DEV, for a primary ib0
std::string complaint(const std::string &secondaries)
{
    const auto reading = conf::readSettings("IPOIBHA_ENABLE=yes\nPRIMARY_IPOIB_DEV=ib0\n"
                                            "SECONDARY_IPOIB_DEV=" +
                                                secondaries + "\n",
                                            {});
    return reading.diagnostics.empty() ? "" : conf::render(reading.diagnostics.front(), "f");
}

TEST(HaConfiguration, WhatIsWrongWithSecondariesIsSaid)
{
    const std::string what = "error: SECONDARY_IPOIB_DEV: ";
    EXPECT_EQ(complaint("ib1:ib2:ib3:ib4:ib5:ib6:ib7"), "");
    EXPECT_EQ(complaint("ib1:ib2:ib1"),
              "f:3:21: " + what + "'ib1' comes twice; remove one of them");
    EXPECT_EQ(complaint("ib1:ib0"),
              "f:3:1: " + what + "'ib0' comes twice; name another port's interface");
    EXPECT_EQ(complaint("ib1:ib2:ib3:ib4:ib5:ib6:ib7:ib8"),
              "f:3:21: " + what +
                  "'ib1:ib2:ib3:ib4:ib5:ib6:ib7:ib8' is no possible value; expected at most 7 "
                  "secondary interfaces for a primary one");
    for (const std::string value : {"ib1:", ":ib1", "ib1::ib2", ":", "ib1:ib2/1"})
        EXPECT_EQ(complaint(value),
                  "f:3:21: " + what + "'" + value +
                      "' is no possible value; expected a name for each primary interface, "
                      "separated by commas, or several in the order of preference, for example "
                      "ib1:ib2");
}

} // namespace
} // namespace openipoib::ha
