// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Links and hosts that come and go while a fabric runs.
#include "control/control.hpp"
#include "ctl/render.hpp"
#include "fabric_world.hpp"

#include <nlohmann/json.hpp>

namespace openipoib::fabric
{
namespace
{

using nlohmann::json;

class ChangeTest : public FabricWorld
{
  protected:
    void SetUp() override
    {
        FabricWorld::SetUp();
        steps(20);
        ASSERT_TRUE(host.isUp());
    }

    json ask(const json &request) { return json::parse(control.answer(request.dump(), now)); }
    bool isDone(const json &request)
    {
        const json got = ask(request);
        EXPECT_TRUE(got.contains("result")) << got;
        return got.contains("result");
    }

    Control control{fabric};
};

TEST_F(ChangeTest, ALinkComesAndGoes)
{
    ASSERT_TRUE(isDone({{"command", "link"}, {"at", "S-1:2"}, {"peer", "S-2:2"}}));
    EXPECT_EQ(state("S-1:2"), PortState::init);
    EXPECT_EQ(state("S-2:2"), PortState::init);
    EXPECT_EQ(getField64(probe({1, 2}), IB_NODE_GUID_F),
              fabric.topology().nodes[switchNamed("S-2").node].guid);
    EXPECT_EQ(ask({{"command", "status"}})["result"]["nodes"][0]["ports"][1]["peer"], "S-2:2");
    ASSERT_TRUE(isDone({{"command", "unlink"}, {"at", "S-2:2"}}));
    EXPECT_EQ(state("S-1:2"), PortState::down);
    EXPECT_EQ(state("S-2:2"), PortState::down);
    EXPECT_TRUE(probe({1, 2}).empty());
    EXPECT_FALSE(probe({1, 4}).empty());
}

TEST_F(ChangeTest, ALinkThatGoesLosesWhatIsUnderWay)
{
    ASSERT_TRUE(
        fabric.addFault({.kind = FaultKind::delay, .at = port("S-1:4"), .delay = 100ms}, now));
    FabricWorld::ask({1, 4});
    steps(2);
    ASSERT_TRUE(isDone({{"command", "unlink"}, {"at", "S-1:4"}}));
    ASSERT_TRUE(isDone({{"command", "link"}, {"at", "S-1:4"}, {"peer", "S-2:4"}}));
    steps(60);
    EXPECT_TRUE(answers().empty());
    EXPECT_EQ(state("S-2:4"), PortState::init);
}

TEST_F(ChangeTest, AHostComesAnswersAndGoes)
{
    ASSERT_TRUE(isDone({{"command", "add-host"}, {"name", "new"}, {"at", "S-2:3"}}));
    const io::Bytes info = probe({1, 4, 3});
    ASSERT_FALSE(info.empty());
    EXPECT_EQ(getField(info, IB_NODE_TYPE_F), 1U);
    for (const auto &node : fabric.topology().nodes)
        EXPECT_EQ(getField64(info, IB_NODE_GUID_F) == node.guid, node.name == "new");
    ASSERT_TRUE(isDone({{"command", "fault"}, {"kind", "port"}, {"at", "new:1"}}));
    ASSERT_TRUE(isDone({{"command", "remove-host"}, {"name", "new"}}));
    EXPECT_TRUE(fabric.faults().all().empty());
    EXPECT_EQ(state("S-2:3"), PortState::down);
    EXPECT_TRUE(probe({1, 4, 3}).empty());
    EXPECT_EQ(ask({{"command", "status"}})["result"]["nodes"].size(), 4U);
    // The name and the port are free again.
    ASSERT_TRUE(isDone({{"command", "add-host"}, {"name", "new"}, {"at", "S-2:3"}}));
    EXPECT_FALSE(probe({1, 4, 3}).empty());
}

TEST_F(ChangeTest, WhatCannotBeIsRefused)
{
    const json before = ask({{"command", "status"}});
    for (const json &request : std::vector<json>{
             {{"command", "link"}, {"at", "S-1:2"}},
             {{"command", "link"}, {"at", "S-1:2"}, {"peer", "S-1:2"}},
             {{"command", "link"}, {"at", "S-1:2"}, {"peer", "S-2:4"}},
             {{"command", "link"}, {"at", "S-1:1"}, {"peer", "S-2:2"}},
             {{"command", "link"}, {"at", "h1:1"}, {"peer", "S-2:2"}},
             {{"command", "unlink"}, {"at", "S-1:2"}},
             {{"command", "unlink"}, {"at", "S-1:1"}}, // the cable of a host elsewhere
             {{"command", "unlink"}, {"at", "h1:1"}},
             {{"command", "unlink"}, {"at", "S-1"}},
             {{"command", "add-host"}, {"name", "idle"}, {"at", "S-2:3"}},
             {{"command", "add-host"}, {"name", ""}, {"at", "S-2:3"}},
             {{"command", "add-host"}, {"name", "a:b"}, {"at", "S-2:3"}},
             {{"command", "add-host"}, {"name", "new"}, {"at", "S-2:1"}},
             {{"command", "add-host"}, {"name", "new"}},
             {{"command", "add-peer"}, {"at", "idle:1"}},
             {{"command", "add-peer"}, {"at", "idle:1"}, {"addresses", "10.0.0.0/24"}},
             {{"command", "add-peer"}, {"at", "idle:1"}, {"addresses", "10.0.0.0-11.0.0.0"}},
             {{"command", "add-peer"}, {"at", "idle"}, {"addresses", "10.0.0.1"}},
             {{"command", "add-peer"}, {"at", "h1:1"}, {"addresses", "10.0.0.1"}},
             {{"command", "add-peer"}, {"at", "S-1:2"}, {"addresses", "10.0.0.1"}},
             {{"command", "remove-peer"}, {"at", "idle:1"}},
             {{"command", "remove-peer"}, {"at", "h1:1"}},
             {{"command", "remove-host"}, {"name", "S-2"}},
             {{"command", "remove-host"}, {"name", "h1"}},
             {{"command", "remove-host"}, {"name", "none"}}})
        EXPECT_TRUE(ask(request).contains("error")) << request;
    EXPECT_EQ(ask({{"command", "status"}}), before);
}

TEST_F(ChangeTest, AnEmulatedHostOfTheFileMayGo)
{
    ASSERT_TRUE(isDone({{"command", "remove-host"}, {"name", "idle"}}));
    EXPECT_EQ(state("S-2:1"), PortState::down);
    steps(40); // nothing asks for it any more
    EXPECT_TRUE(probe({1, 4, 1}).empty());
    EXPECT_FALSE(probe({1, 4}).empty());
}

TEST_F(ChangeTest, APeerComesAndGoes)
{
    const auto shown = [this] {
        const json status = ask({{"command", "status"}});
        for (const json &node : status["result"]["nodes"])
            if (node["name"] == "idle")
                return node["ports"][0].value("ipoib_peer", json{});
        return json{};
    };
    const json peer{{"command", "add-peer"}, {"at", "idle:1"}, {"addresses", "10.0.0.1-10.0.0.9"}};
    ASSERT_TRUE(isDone(peer));
    EXPECT_TRUE(ask(peer).contains("error")); // it has these
    ASSERT_TRUE(isDone({{"command", "add-peer"}, {"at", "idle:1"}, {"addresses", "fd00::1"}}));
    EXPECT_EQ(shown()["count"], 10);
    EXPECT_EQ(shown()["addresses"], json({"10.0.0.1-10.0.0.9", "fd00::1"}));
    EXPECT_EQ(shown()["groups"], 3);
    EXPECT_EQ(shown()["joined"], 0);
    const std::string text = statusText(ask({{"command", "status"}})["result"]);
    EXPECT_NE(text.find("idle:1  10 addresses: 10.0.0.1-10.0.0.9, fd00::1; 0 of 3 groups\n"
                        "  answered nothing; dropped nothing\n"),
              std::string::npos)
        << text;
    // A host that is switched off and on is the same peer.
    ASSERT_TRUE(isDone({{"command", "fault"}, {"kind", "switch"}, {"at", "idle"}}));
    ASSERT_TRUE(isDone({{"command", "clear"}}));
    EXPECT_EQ(shown()["count"], 10);
    ASSERT_TRUE(isDone({{"command", "remove-peer"}, {"at", "idle:1"}}));
    EXPECT_EQ(shown(), json{});
    ASSERT_TRUE(isDone(peer));
    ASSERT_TRUE(isDone({{"command", "remove-host"}, {"name", "idle"}}));
    steps(20);
}

} // namespace
} // namespace openipoib::fabric
