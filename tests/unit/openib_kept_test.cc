// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/kept.hpp"

#include "conf/openib/restore.hpp"

#include <gtest/gtest.h>

namespace openipoib::openib
{
namespace
{

Interface child()
{
    Interface interface;
    interface.name = "ib0.8001";
    interface.index = 7;
    interface.parent = "ib0";
    interface.pkey = 0x8001;
    interface.mtu = 60000;
    interface.connected = true;
    interface.umcast = true;
    interface.rings = netlink::Rings{256, 128};
    interface.queues = 3;
    interface.moderation = netlink::Moderation{8, 16, 32, 64, true};
    return interface;
}

// A document with one interface that also has this.
std::string with(const std::string &what)
{
    return R"({"version":1,"interfaces":[{"name":"ib0","index":2,"mtu":2044,"pkey":65535)" + what +
           "}]}";
}

TEST(OpenibKept, RoundTrip)
{
    Interface bare; // of a driver with nothing but an MTU
    bare.name = "ib0";
    bare.mtu = 2044;
    const auto kept = readKept(keptText({bare, child()}));
    ASSERT_TRUE(kept) << kept.error().text();
    ASSERT_EQ(kept->size(), 2u);
    EXPECT_EQ((*kept)[0].name, "ib0");
    EXPECT_EQ((*kept)[0].parent, "");
    EXPECT_EQ((*kept)[0].mtu, 2044u);
    EXPECT_FALSE((*kept)[0].connected || (*kept)[0].umcast || (*kept)[0].rings ||
                 (*kept)[0].queues || (*kept)[0].moderation);
    const Interface &back = (*kept)[1];
    const Interface sent = child();
    EXPECT_EQ(back.name, sent.name);
    EXPECT_EQ(back.index, sent.index);
    EXPECT_EQ(back.parent, sent.parent);
    EXPECT_EQ(back.pkey, sent.pkey);
    EXPECT_EQ(back.mtu, sent.mtu);
    EXPECT_EQ(back.connected, sent.connected);
    EXPECT_EQ(back.umcast, sent.umcast);
    EXPECT_EQ(back.rings, sent.rings);
    EXPECT_EQ(back.queues, sent.queues);
    EXPECT_EQ(back.moderation, sent.moderation);
}

TEST(OpenibKept, ANameThatIsNoTextIsLeftOut)
{
    Interface odd = child();
    odd.name = "ib\xff";
    const auto kept = readKept(keptText({odd, child()}));
    ASSERT_TRUE(kept) << kept.error().text();
    EXPECT_EQ(kept->size(), 1u);
}

TEST(OpenibKept, TruncatedAnywhere)
{
    const std::string text = keptText({child()});
    for (std::size_t length = 0; length + 1 < text.size(); length++) // the last is a newline
        EXPECT_FALSE(readKept(text.substr(0, length))) << length;
}

TEST(OpenibKept, HostileDocuments)
{
    ASSERT_TRUE(readKept(with("")));
    for (const std::string &text :
         {std::string("[]"),
          std::string("null"),
          std::string(R"({"version":1})"),
          std::string(R"({"version":2,"interfaces":[]})"),
          std::string(R"({"version":"1","interfaces":[]})"),
          std::string(R"({"version":1,"interfaces":{}})"),
          std::string(R"({"version":1,"interfaces":[7]})"),
          std::string(R"({"version":1,"interfaces":[{"index":2,"mtu":2044,"pkey":1}]})"),
          std::string(R"({"version":1,"interfaces":[{"name":"ib0","index":2,"pkey":1}]})"),
          std::string(100000, '['),
          with(R"(,"connected":1)"),
          with(R"(,"umcast":"1")"),
          with(R"(,"rings":[1,2])"),
          with(R"(,"rings":{"rx":1})"),
          with(R"(,"queues":-1)"),
          with(R"(,"queues":1.5)"),
          with(R"(,"queues":4294967296)"),
          with(R"(,"queues":99999999999999999999999)"),
          with(R"(,"mtu":65521)"),
          with(R"(,"index":-1)"),
          with(R"(,"index":2147483648)"),
          with(R"(,"pkey":65536)"),
          with(R"(,"moderation":{"rx-usecs":1})"),
          with(R"(,"parent":7)")}) {
        const auto kept = readKept(text);
        ASSERT_FALSE(kept) << text.substr(0, 200);
        EXPECT_EQ(kept.error().code, EBADMSG);
        EXPECT_FALSE(kept.error().context.empty());
    }
}

TEST(OpenibKept, NamesThatNoInterfaceHas)
{
    for (const char *name : {"", ".", "..", "a/b", "../../etc", "a b", "a:b", "sixteencharacter"}) {
        EXPECT_FALSE(readKept(with(R"(,"name":")" + std::string(name) + '"'))) << name;
        EXPECT_FALSE(readKept(with(R"(,"parent":")" + std::string(name) + '"'))) << name;
    }
    EXPECT_TRUE(readKept(with(R"(,"name":"fifteen-letters")")));
    const auto twice =
        readKept(R"({"version":1,"interfaces":[{"name":"ib0","index":2,"mtu":1,"pkey":1},)"
                 R"({"name":"ib0","index":2,"mtu":1,"pkey":1}]})");
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().context, "ib0 is there twice");
}

// udev's `openib apply data0`, for a child just made, comes between `openib keep` and the end of
// the module.
TEST(OpenibKept, AnInterfaceThatHasNotGoneYetStaysKept)
{
    Interface parent;
    parent.name = "ib0";
    parent.index = 2;
    State state;
    state.kept = {parent, child()};
    state.interfaces = state.kept;
    for (const char *device : {"ib0", "ib0.8001"})
        EXPECT_EQ(withoutRestored(state, device).size(), 2u) << device;
    state.interfaces = {parent}; // the child first
    EXPECT_EQ(withoutRestored(state, "ib0").size(), 2u);
    state.interfaces[0].index = 9; // it is back
    EXPECT_TRUE(withoutRestored(state, "ib0").empty());
    state.interfaces.push_back(child());
    state.interfaces[1].index = 10;
    EXPECT_EQ(withoutRestored(state, "ib0").size(), 1u);
    EXPECT_EQ(withoutRestored(state, "ib0.8001").size(), 1u);
    EXPECT_EQ(withoutRestored(state, "ib1").size(), 2u);
    state.interfaces = state.kept;
    EXPECT_TRUE(withoutRestored(state, "").empty()); // by hand, of all there is
}

} // namespace
} // namespace openipoib::openib
