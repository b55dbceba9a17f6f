// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Interfaces that somebody else manages, too: they are known, and it is said once.
#include "ha_world.hpp"

namespace openipoib::ha
{
namespace
{

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
