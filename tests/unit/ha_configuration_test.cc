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
    EXPECT_FALSE(made.multicast);
    EXPECT_EQ(made.notify, "/usr/local/sbin/moved");
}

} // namespace
} // namespace openipoib::ha
