// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Who manages an interface, by the files that such programs keep.
#include "netlink/manager.hpp"

#include <gtest/gtest.h>

namespace openipoib::netlink
{
namespace
{

TEST(Manager, NetworkManagerSaysWhichDevicesItHas)
{
    EXPECT_TRUE(isNetworkManagers("[device]\nmanaged=true\nconnection-uuid=0-1\n"));
    EXPECT_TRUE(isNetworkManagers("managed=1"));
    EXPECT_FALSE(isNetworkManagers("[device]\nmanaged=false\n"));
    EXPECT_FALSE(isNetworkManagers("[device]\nnm-managed=true\n"));
    EXPECT_FALSE(isNetworkManagers("managed"));
    EXPECT_FALSE(isNetworkManagers(""));
}

TEST(Manager, NetworkdSaysWhichLinksItSetsUp)
{
    EXPECT_TRUE(isNetworkds("# private\nADMIN_STATE=configured\nOPER_STATE=routable\n"));
    EXPECT_TRUE(isNetworkds("ADMIN_STATE=configuring"));
    EXPECT_FALSE(isNetworkds("ADMIN_STATE=unmanaged\n"));
    EXPECT_FALSE(isNetworkds("ADMIN_STATE=pending\n"));
    EXPECT_FALSE(isNetworkds("OPER_STATE=configured\n"));
}

TEST(Manager, WithoutTheirFilesNobodyManages)
{
    EXPECT_TRUE(managersOf("/proc/self/no-such-folder", 4).empty());
}

} // namespace
} // namespace openipoib::netlink
