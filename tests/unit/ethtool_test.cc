// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/ethtool.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace openipoib::netlink
{
namespace
{

template <typename T> int code(const io::Result<T> &result)
{
    return result ? 0 : result.error().code;
}

TEST(Ethtool, SaysWhatIsNotThere)
{
    const auto ethtool = Ethtool::open();
    ASSERT_TRUE(ethtool) << ethtool.error().text();
    // The loopback interface has rings and queues of no kind.
    EXPECT_EQ(code(ethtool->rings("lo")), EOPNOTSUPP);
    EXPECT_EQ(code(ethtool->queues("lo")), EOPNOTSUPP);
    EXPECT_EQ(code(ethtool->moderation("lo")), EOPNOTSUPP);
    EXPECT_EQ(code(ethtool->counters("lo")), EOPNOTSUPP);
    EXPECT_EQ(code(ethtool->counters("no-such-device")), ENODEV);
    EXPECT_EQ(code(ethtool->rings("no-such-device")), ENODEV);
    EXPECT_EQ(code(ethtool->rings("")), EINVAL);
    EXPECT_EQ(code(ethtool->rings("sixteencharacter")), EINVAL);
}

TEST(Ethtool, Features)
{
    const auto ethtool = Ethtool::open();
    ASSERT_TRUE(ethtool) << ethtool.error().text();
    const auto features = ethtool->features("lo");
    ASSERT_TRUE(features) << features.error().text();
    const auto loopback = std::ranges::find(*features, "loopback", &Feature::name);
    ASSERT_NE(loopback, features->end());
    EXPECT_EQ(*loopback, (Feature{"loopback", false, true})) << "it is that, and cannot be else";
    EXPECT_EQ(code(ethtool->features("no-such-device")), ENODEV);
}

} // namespace
} // namespace openipoib::netlink
