// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two switches and what joins them, with hosts at the ends of cables.
#include "core/fabric.hpp"

#include "ib/packet_builder.hpp"
#include "link/endpoint.hpp"
#include "topology/parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace openipoib::fabric
{
namespace
{

using namespace std::chrono_literals;

constexpr std::string_view plan = R"(
Switch 4 "S-1"
[1] "h1"[1]
[4] "S-2"[4]
Switch 4 "S-2"
[1] "idle"[1]
Ca 1 "h1"
Ca 1 "idle"
)";

class MemoryCable final : public Cable
{
  public:
    [[nodiscard]] std::uint32_t maxFrame() const override { return 9000; }
    [[nodiscard]] bool isReady() const override { return true; }
    void send(const io::MacAddress & /*to*/, const Frame &frame) override
    {
        frames.push_back(*frame);
    }

    std::vector<io::Bytes> frames;
};

class FabricTest : public testing::Test
{
  protected:
    void SetUp() override
    {
        const auto number = fabric.attach(*fabric.topology().findPort("h1:1"), cable);
        ASSERT_TRUE(number);
        fabric.start(now);
    }

    void steps(int count)
    {
        for (; count > 0; --count) {
            fabric.onTime(now);
            host.onTime(now);
            for (const auto &frame : std::exchange(cable.frames, {}))
                host.onFrame(frame, now);
            for (const auto &frame : host.takeOutput())
                fabric.onFrame(0, {2, 0, 0, 0, 0, 9}, frame, now);
            fabric.onBatchEnd(0, now);
            now += 5ms;
        }
    }

    PortState state(std::string_view name)
    {
        const PortRef port = *fabric.topology().findPort(name);
        return fabric.node(port.node)->port(port.port).state();
    }

    // NodeInfo at the end of a path.
    io::Bytes probe(const io::Bytes &path)
    {
        io::Bytes mad;
        ib::Mad{.mgmtClass = ib::MgmtClass::subnDirected, .attribute = IB_ATTR_NODE_INFO}.appendTo(
            mad);
        mad[6] = 1;
        mad[7] = static_cast<std::uint8_t>(path.size());
        setField(mad, IB_DRSMP_DRDLID_F, ib::permissiveLid);
        setField(mad, IB_DRSMP_DRSLID_F, ib::permissiveLid);
        std::ranges::copy(path, mad.begin() + 128 + 1);
        host.send(ib::PacketBuilder{}
                      .lrh({.vl = vl15, .dlid = ib::permissiveLid, .slid = ib::permissiveLid})
                      .bth({})
                      .deth({})
                      .payload(mad)
                      .build(),
                  now);
        steps(4);
        for (const auto &packet : host.takeInput())
            return {packet.begin() + 28 + 64, packet.begin() + 28 + 128};
        return {};
    }

    Time now{1h};
    std::uint32_t nextSession = 100;
    MemoryCable cable;
    Fabric fabric{*parseTopology(plan, "plan"), [this] { return nextSession++; }};
    link::Endpoint host{{.session = 1, .guid = 0xB, .maxFrame = 9000}};
};

TEST_F(FabricTest, LinksTrain)
{
    EXPECT_EQ(state("S-1:4"), PortState::init);
    EXPECT_EQ(state("S-2:1"), PortState::init);
    EXPECT_EQ(state("S-1:2"), PortState::down);
    EXPECT_EQ(state("S-1:1"), PortState::down);
    steps(20);
    EXPECT_TRUE(host.isUp());
    EXPECT_EQ(state("S-1:1"), PortState::init);
}

TEST_F(FabricTest, DirectedRoutesReachEveryNode)
{
    steps(20);
    ASSERT_TRUE(host.isUp());
    for (const auto &[path, name] :
         {std::pair<io::Bytes, const char *>{{1}, "S-1"}, {{1, 4}, "S-2"}, {{1, 4, 1}, "idle"}}) {
        const io::Bytes info = probe(path);
        ASSERT_EQ(info.size(), 64U) << name;
        const auto &node = fabric.topology().nodes[*fabric.topology().find(name)];
        EXPECT_EQ(getField64(info, IB_NODE_GUID_F), node.guid) << name;
        EXPECT_EQ(getField(info, IB_NODE_TYPE_F), static_cast<std::uint32_t>(node.kind));
    }
    EXPECT_TRUE(probe({1, 2}).empty());
}

TEST_F(FabricTest, APulledCableTakesBothEndsDown)
{
    const PortRef port = *fabric.topology().findPort("S-1:4");
    fabric.setCable(port, false, now);
    EXPECT_EQ(state("S-1:4"), PortState::down);
    EXPECT_EQ(state("S-2:4"), PortState::down);
    fabric.setCable(port, true, now);
    EXPECT_EQ(state("S-1:4"), PortState::init);
    EXPECT_EQ(state("S-2:4"), PortState::init);
    steps(20);
    fabric.setCable(*fabric.topology().findPort("h1:1"), false, now);
    EXPECT_EQ(state("S-1:1"), PortState::down);
    steps(300);
    EXPECT_FALSE(host.isUp());
    fabric.setCable(*fabric.topology().findPort("h1:1"), true, now);
    steps(40);
    EXPECT_TRUE(host.isUp());
    EXPECT_EQ(state("S-1:1"), PortState::init);
}

TEST_F(FabricTest, ARestartedHostIsANewLink)
{
    steps(20);
    const PortRef port = *fabric.topology().findPort("S-1:1");
    host = link::Endpoint({.session = 2, .guid = 0xB, .maxFrame = 9000});
    steps(20);
    EXPECT_TRUE(host.isUp());
    EXPECT_EQ(fabric.node(port.node)->port(1).counters.get(Counter::linkDowned), 1U);
}

TEST_F(FabricTest, APlaceIsTakenOnce)
{
    MemoryCable other;
    EXPECT_EQ(fabric.attach(*fabric.topology().findPort("h1:1"), other).error().code, EBUSY);
    EXPECT_EQ(fabric.attach(*fabric.topology().findPort("S-1:4"), other).error().code, EBUSY);
    EXPECT_TRUE(fabric.attach(*fabric.topology().findPort("S-1:2"), other));
}

} // namespace
} // namespace openipoib::fabric
