// SPDX-License-Identifier: GPL-2.0-only OR MIT
// An emulated peer at the port of an emulated host.
#include "node/node.hpp"
#include "peer_world.hpp"

namespace openipoib::fabric
{
namespace
{

class PeerNodeTest : public PeerWorld, public NodeListener
{
  public:
    void outputReady(std::uint8_t /*port*/) override {}
    void inputReady(std::uint8_t /*port*/) override {}
    void physWanted(std::uint8_t /*port*/, PhysState /*wanted*/) override {}

  protected:
    void SetUp() override
    {
        add("10.0.0.1-10.0.0.9");
        node.setPeer(1, &peer, now);
        bringUp();
    }

    // As the SM does.
    void setPort(PortState state, bool mustRejoin = false)
    {
        Attribute info = node.port(1).portInfo();
        setField(info, IB_PORT_LID_F, lid);
        setField(info, IB_PORT_SMLID_F, smLid);
        setField(info, IB_PORT_STATE_F, static_cast<std::uint32_t>(state));
        setField(info, IB_PORT_PHYS_STATE_F, 0);
        setField(info, IB_PORT_CLIENT_REREG_F, mustRejoin ? 1 : 0);
        io::Bytes mad;
        ib::Mad{.mgmtClass = ib::MgmtClass::subnDirected,
                .method = ib::Method::set,
                .attribute = IB_ATTR_PORT_INFO,
                .modifier = 1}
            .appendTo(mad);
        setField(mad, IB_DRSMP_DRDLID_F, ib::permissiveLid);
        setField(mad, IB_DRSMP_DRSLID_F, ib::permissiveLid);
        std::ranges::copy(info, mad.begin() + IB_SMP_DATA_OFFS);
        give(ib::PacketBuilder{}
                 .lrh({.vl = vl15, .dlid = ib::permissiveLid, .slid = ib::permissiveLid})
                 .bth({})
                 .deth({})
                 .payload(mad)
                 .build());
        ASSERT_EQ(node.port(1).state(), state);
    }

    void bringUp()
    {
        node.linkUp(1, now);
        setPort(PortState::armed);
        setPort(PortState::active);
    }

    void give(const io::Bytes &packet) { node.receive(1, {.bytes = packet}, now); }

    static io::Bytes perfGet()
    {
        io::Bytes mad;
        ib::Mad{.mgmtClass = ib::MgmtClass::perf, .attribute = 1}.appendTo(mad);
        return ib::PacketBuilder{}
            .lrh({.dlid = lid, .slid = smLid})
            .bth({.qpn = 1})
            .deth({.qkey = ib::gsiQkey, .sourceQpn = 1})
            .payload(mad)
            .build();
    }

    std::vector<io::Bytes> sent()
    {
        std::vector<io::Bytes> packets;
        while (const auto vl = node.nextLane(1, allLanes & ~Lanes{1U << vl15}))
            packets.push_back(node.take(1, *vl, now).bytes);
        return packets;
    }

    // Answer the requests that have been sent, each; how many.
    std::size_t grant()
    {
        std::size_t count = 0;
        for (const auto &packet : sent()) {
            Request request;
            request.mad.assign(packet.begin() + payloadAt, packet.end() - ib::icrcSize);
            std::copy_n(request.mad.begin() + recordAt, 16, request.mgid.begin());
            give(ib::PacketBuilder{}
                     .lrh({.dlid = lid, .slid = smLid})
                     .bth({.qpn = 1})
                     .deth({.qkey = ib::gsiQkey, .sourceQpn = 1})
                     .payload(answered(request))
                     .build());
            ++count;
        }
        return count;
    }

    Node node{{.kind = NodeKind::channelAdapter,
               .id = "h",
               .name = "h",
               .guid = 7,
               .systemGuid = 7,
               .ports = std::vector<TopologyPort>(1)},
              *this};
};

TEST_F(PeerNodeTest, JoinsAndAnswersByItsPort)
{
    EXPECT_EQ(grant(), 1U);
    ASSERT_NE(peer.groups().broadcast(), nullptr);
    give(broadcast().payload(arp("10.0.0.9")).build());
    const auto replies = sent();
    ASSERT_EQ(replies.size(), 1U);
    EXPECT_EQ(PacketHeaders::parse(replies[0])->lrh.dlid, askerLid);
    EXPECT_EQ(PacketHeaders::parse(replies[0])->lrh.slid, lid);
    give(unicast(Addresses::firstQpn, ib::IpoibHeader::ipv4).payload(echo("10.0.0.1")).build());
    EXPECT_EQ(sent().size(), 1U);
}

TEST_F(PeerNodeTest, StillAnswersPerformanceManagement)
{
    grant();
    give(perfGet());
    EXPECT_EQ(sent().size(), 1U);
}

TEST_F(PeerNodeTest, JoinsAgainWhenTheSmAsksForIt)
{
    EXPECT_EQ(grant(), 1U);
    setPort(PortState::active);
    EXPECT_EQ(grant(), 0U);
    setPort(PortState::active, true);
    EXPECT_EQ(grant(), 1U);
}

TEST_F(PeerNodeTest, JoinsAgainWhenTheLinkComesBack)
{
    EXPECT_EQ(grant(), 1U);
    node.linkDown(1, PhysState::polling, now);
    EXPECT_EQ(peer.groups().joined(), 0U);
    EXPECT_EQ(node.deadline(), Time::max());
    bringUp();
    EXPECT_EQ(grant(), 1U);
}

TEST_F(PeerNodeTest, AsksAgainInTime)
{
    EXPECT_EQ(sent().size(), 1U);
    EXPECT_EQ(node.deadline(), now + 1s);
    now += 1s;
    node.onTime(now);
    EXPECT_EQ(grant(), 1U);
    EXPECT_EQ(node.deadline(), Time::max());
}

TEST_F(PeerNodeTest, AStuckHostSendsNoRequests)
{
    grant();
    node.setStuck(true);
    setPort(PortState::active); // a stuck one answers no SMP either
    node.port(1).setInfo(IB_PORT_SMSL_F, 1);
    node.setPeer(1, &peer, now);
    EXPECT_TRUE(sent().empty());
    give(broadcast().payload(arp("10.0.0.9")).build());
    EXPECT_EQ(sent().size(), 1U);
}

TEST_F(PeerNodeTest, WhenItGoesNothingIsAnswered)
{
    grant();
    node.setPeer(1, nullptr, now);
    const auto before = node.port(1).counters.get(Drop::management);
    give(broadcast().payload(arp("10.0.0.9")).build());
    give(unicast(Addresses::firstQpn, ib::IpoibHeader::ipv4).payload(echo("10.0.0.1")).build());
    EXPECT_TRUE(sent().empty());
    EXPECT_EQ(node.port(1).counters.get(Drop::management), before + 1);
}

TEST_F(PeerNodeTest, AFloodOfPerformanceManagementHoldsBackItself)
{
    grant();
    std::size_t given = 0;
    for (; node.openLanes(1)[vl0] && given < 10'000; ++given)
        give(perfGet());
    EXPECT_LT(given, 1000U);
    EXPECT_EQ(sent().size(), given);
    EXPECT_TRUE(node.openLanes(1).all());
}

// Pings that nobody takes the answers of hold back the lane that they came by.
TEST_F(PeerNodeTest, AFloodOfPingsHoldsBackItself)
{
    grant();
    Packet ping{
        unicast(Addresses::firstQpn, ib::IpoibHeader::ipv4).payload(echo("10.0.0.1")).build()};
    ping.setVl(3);
    std::size_t given = 0;
    for (; node.openLanes(1)[3] && given < 100'000; ++given)
        give(ping.bytes);
    EXPECT_LT(given, 10'000U);
    EXPECT_TRUE(node.openLanes(1)[vl0]);
    EXPECT_EQ(sent().size(), given);
    EXPECT_TRUE(node.openLanes(1).all());
}

} // namespace
} // namespace openipoib::fabric
