// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Interfaces that somebody else manages, too: they are known, and it is said once.
#include "ha-daemon/linux/manager.hpp"

#include "ha_world.hpp"

namespace openipoib::ha
{
namespace
{

TEST(HaManager, NetworkManagerSaysWhichDevicesItHas)
{
    EXPECT_TRUE(isNetworkManagers("[device]\nmanaged=true\nconnection-uuid=0-1\n"));
    EXPECT_TRUE(isNetworkManagers("managed=1"));
    EXPECT_FALSE(isNetworkManagers("[device]\nmanaged=false\n"));
    EXPECT_FALSE(isNetworkManagers("[device]\nnm-managed=true\n"));
    EXPECT_FALSE(isNetworkManagers("managed"));
    EXPECT_FALSE(isNetworkManagers(""));
}

TEST(HaManager, NetworkdSaysWhichLinksItSetsUp)
{
    EXPECT_TRUE(isNetworkds("# private\nADMIN_STATE=configured\nOPER_STATE=routable\n"));
    EXPECT_TRUE(isNetworkds("ADMIN_STATE=configuring"));
    EXPECT_FALSE(isNetworkds("ADMIN_STATE=unmanaged\n"));
    EXPECT_FALSE(isNetworkds("ADMIN_STATE=pending\n"));
    EXPECT_FALSE(isNetworkds("OPER_STATE=configured\n"));
}

TEST(HaManager, WithoutTheirFilesNobodyManages)
{
    EXPECT_EQ(managerOf("/proc/self/no-such-folder", 4), "");
}

TEST(HaManager, ItIsSaidOnceOfEachInterface)
{
    World world;
    const auto times = [&](const std::string &text) {
        return std::ranges::count_if(
            world.said, [&](const auto &one) { return one.text.find(text) != std::string::npos; });
    };
    world.kernel.side[Side::secondary].manager = "NetworkManager";
    world.start();
    world.quiesce();
    EXPECT_EQ(times("ib1 is managed by NetworkManager, too"), 1);
    EXPECT_EQ(times("ib0 is managed"), 0);
    // Another interface of that name
    world.kernel.unplug(Side::secondary);
    world.announceLink(Side::secondary);
    world.quiesce();
    world.kernel.plug(Side::secondary);
    world.kernel.side[Side::secondary].manager = "systemd-networkd";
    world.announceLink(Side::secondary);
    world.quiesce();
    EXPECT_EQ(times("ib1 is managed by systemd-networkd, too"), 1);
}

} // namespace
} // namespace openipoib::ha
