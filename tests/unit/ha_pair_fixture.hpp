// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A pair of two interfaces, the first of which has an identity, and what happens to its ports.
#pragma once

#include "ha_world.hpp"

namespace openipoib::ha
{

inline const Items identity{
    item(Kind::address4, "10.0.0.1/24"), item(Kind::address4, "10.0.0.9/24"),
    item(Kind::address6, "fd00::1/64"),  item(Kind::rule, "from all iif"),
    item(Kind::route4, "default"),       item(Kind::route6, "fd01::/64"),
    item(Kind::neighbour, "10.0.0.7")};

class HaPair : public testing::Test
{
  protected:
    World world;

    void SetUp() override
    {
        for (const auto &one : identity)
            world.kernel.give(Side::primary, one);
        world.kernel.give(Side::primary, item(Kind::peer, "10.0.0.2"));
    }
    void cut(Side side)
    {
        world.kernel.side[side].carrier = false;
        cutPort(side);
        link(side);
    }
    void mend(Side side)
    {
        world.kernel.port[side] = "";
        world.announcePort(side);
        world.kernel.side[side].carrier = world.kernel.side[side].up;
        link(side);
    }
    // The HCA speaks before the network stack does.
    void cutPort(Side side)
    {
        world.kernel.port[side] = "the port is down";
        world.announcePort(side);
        world.deliverAll();
    }
    void link(Side side)
    {
        world.announceLink(side);
        world.deliverAll();
    }
    [[nodiscard]] bool said(const std::string &text) const
    {
        return std::ranges::any_of(
            world.said, [&](const Say &one) { return one.text.find(text) != std::string::npos; });
    }
};

} // namespace openipoib::ha
