// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Traps 129 to 131: what a switch reports of its links, when, and how often.
#include "fabric_world.hpp"
#include "node_world.hpp"

namespace openipoib::fabric
{
namespace
{

class TrapTest : public NodeWorld
{
  protected:
    void SetUp() override
    {
        configure();
        for (const std::uint8_t port : std::array<std::uint8_t, 2>{3, 4}) {
            setInfo(port, IB_PORT_LOCAL_PHYS_ERR_F, 2);
            setInfo(port, IB_PORT_OVERRUN_ERR_F, 2);
        }
        while (node.deadline() != Time::max()) { // what is reported already is heard
            now = node.deadline();
            node.onTime(now);
            for (auto mad : notices())
                repress(mad);
        }
    }

    // Traps that have left for the SM, as MADs.
    std::vector<io::Bytes> notices()
    {
        std::vector<io::Bytes> found;
        for (const auto &packet : sent(1, vl15))
            if (const auto mad = madOf(packet); mad[3] == static_cast<int>(ib::Method::trap))
                found.push_back(mad);
        return found;
    }

    // Number, LID and port of a notice.
    static std::array<std::uint64_t, 3> noticeOf(const io::Bytes &mad)
    {
        return {io::read<2>(mad, 64 + 4), io::read<2>(mad, 64 + 12), mad[64 + 14]};
    }

    void repress(io::Bytes &mad)
    {
        mad[3] = 7;
        receive(1, onLane15(mad, switchLid, smLid));
    }

    void broken(std::uint8_t port)
    {
        node.receive(port, {.bytes = data(11), .isCorrupted = true}, now);
    }

    std::uint64_t count(std::uint8_t port, Counter counter) const
    {
        return node.port(port).counters.get(counter);
    }
};

using Notice = std::array<std::uint64_t, 3>;

TEST_F(TrapTest, BrokenPacketsBeyondTheThresholdAreReported)
{
    broken(3);
    broken(3);
    EXPECT_TRUE(notices().empty());
    broken(3);
    const auto found = notices();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0][64], 0x81); // generic, urgent
    EXPECT_EQ(noticeOf(found[0]), (Notice{129, switchLid, 3}));
    EXPECT_EQ(count(3, Counter::localIntegrity), 1U);
    EXPECT_EQ(count(3, Counter::symbolError), 3U);
    EXPECT_EQ(count(3, Counter::rcvErrors), 3U);
}

TEST_F(TrapTest, GoodPacketsMakeUpForBrokenOnes)
{
    for (int i = 0; i < 10; ++i) {
        broken(3);
        receive(3, data(12));
        sent(2, vl0);
    }
    EXPECT_TRUE(notices().empty());
    EXPECT_EQ(count(3, Counter::localIntegrity), 0U);
}

TEST_F(TrapTest, OnePortAfterTheOtherIsReportedUntilTheSmHasHeard)
{
    for (const int port : {3, 4, 4})
        for (int i = 0; i < 3; ++i)
            broken(static_cast<std::uint8_t>(port));
    auto found = notices();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(noticeOf(found[0]), (Notice{129, switchLid, 3}));
    now = node.deadline();
    node.onTime(now); // again
    found = notices();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(noticeOf(found[0]), (Notice{129, switchLid, 3}));
    repress(found[0]);
    EXPECT_TRUE(notices().empty()); // not before SubnetTimeOut
    EXPECT_GT(node.deadline(), now);
    now = node.deadline();
    node.onTime(now);
    found = notices();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(noticeOf(found[0]), (Notice{129, switchLid, 4}));
    repress(found[0]);
    EXPECT_EQ(node.deadline(), Time::max());
}

TEST_F(TrapTest, WhoLacksTheMkeyIsReported)
{
    Attribute info = get(portInfo, 0);
    setField64(info, IB_PORT_MKEY_F, 77);
    setField(info, IB_PORT_STATE_F, 0);
    setField(info, IB_PORT_PHYS_STATE_F, 0);
    ASSERT_EQ(set(portInfo, 0, info), 0U);
    io::Bytes mad;
    ib::Mad{.method = ib::Method::set, .attribute = portInfo, .modifier = 3}.appendTo(mad);
    setField64(mad, IB_MAD_MKEY_F, 0x1122);
    mad[33] = 9; // reserved
    receive(3, onLane15(mad, switchLid, 13));
    node.onTime(now);
    auto found = notices();
    ASSERT_EQ(found.size(), 1U);
    const auto details = [&found] { return io::View(found[0]).subspan(64 + 10); };
    EXPECT_EQ(io::read<2>(found[0], 64 + 4), 256U);
    EXPECT_EQ(io::read<2>(details(), 2), 13U); // LIDADDR
    EXPECT_EQ(io::read<2>(details(), 4), 0U);  // DrSLID
    EXPECT_EQ(details()[6], 2);                // Set
    EXPECT_EQ(io::read<2>(details(), 8), portInfo);
    EXPECT_EQ(io::read<4>(details(), 10), 3U);
    EXPECT_EQ(io::read<8>(details(), 14), 0x1122U);
    EXPECT_EQ(details()[23], 0);
    setField64(found[0], IB_MAD_MKEY_F, 77);
    repress(found[0]);

    mad = directed(ib::Method::set, portInfo, 3, {}, 0x1122); // over two hops
    mad[6] = 2;
    mad[7] = 2;
    mad[192 + 1] = 5;
    receive(3, onLane15(mad));
    now = node.deadline();
    node.onTime(now);
    found = notices();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(io::read<2>(details(), 4), ib::permissiveLid);
    EXPECT_EQ(details()[23], 0x82);
    EXPECT_EQ(io::read<3>(details(), 24), 0x000503U); // the way back, as in the MAD
}

// As the repress of OpenSM, which has the key that the trap had: none.
TEST_F(TrapTest, NobodyWithoutTheMkeyRepressesThem)
{
    Attribute info = get(portInfo, 0);
    setField64(info, IB_PORT_MKEY_F, 77);
    setField(info, IB_PORT_STATE_F, 0);
    setField(info, IB_PORT_PHYS_STATE_F, 0);
    ASSERT_EQ(set(portInfo, 0, info), 0U);
    for (int i = 0; i < 3; ++i)
        broken(3);
    auto found = notices();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(getField64(found[0], IB_MAD_MKEY_F), 0U); // nobody is told the key
    for (const std::uint64_t key : {0U, 78U}) {
        setField64(found[0], IB_MAD_MKEY_F, key);
        repress(found[0]);
    }
    EXPECT_EQ(node.port(0).info(IB_PORT_MKEY_VIOL_F), 2U);
    now = node.deadline();
    node.onTime(now);
    found = notices(); // again, and no trap 256 beside it
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(noticeOf(found[0]), (Notice{129, switchLid, 3}));
    setField64(found[0], IB_MAD_MKEY_F, 77);
    repress(found[0]);
    EXPECT_EQ(node.port(0).info(IB_PORT_MKEY_VIOL_F), 2U);
    EXPECT_EQ(node.deadline(), Time::max());
}

TEST_F(TrapTest, OfAnotherVersionNothingIsRepressed)
{
    for (int i = 0; i < 3; ++i)
        broken(3);
    auto found = notices();
    ASSERT_EQ(found.size(), 1U);
    found[0][2] = 2; // ClassVersion
    repress(found[0]);
    EXPECT_NE(node.deadline(), Time::max());
    found[0][2] = 1;
    repress(found[0]);
    EXPECT_EQ(node.deadline(), Time::max());
}

TEST_F(TrapTest, OverrunsInPeriodsInARowAreReported)
{
    const auto overrun = [this] {
        node.cableError(3, Node::CableError::overrun, now);
        now += std::chrono::milliseconds(20);
    };
    overrun();
    overrun();
    now += std::chrono::seconds(1); // not in a row
    overrun();
    node.cableError(3, Node::CableError::overrun, now - std::chrono::milliseconds(10));
    overrun();
    EXPECT_TRUE(notices().empty());
    overrun();
    const auto found = notices();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(noticeOf(found[0]), (Notice{130, switchLid, 3}));
    EXPECT_EQ(count(3, Counter::bufferOverrun), 1U);
}

TEST_F(TrapTest, NobodyIsToldWithoutASm)
{
    Attribute info = get(portInfo, 0);
    setField(info, IB_PORT_SMLID_F, 0);
    ASSERT_EQ(set(portInfo, 0, info), 0U);
    node.cableError(3, Node::CableError::silent, now);
    EXPECT_TRUE(notices().empty());
    EXPECT_EQ(node.deadline(), Time::max());
}

class CableTrapTest : public FabricWorld
{
  protected:
    const PortCounters &counters() { return fabric.node(port("S-1:1").node)->port(1).counters; }
};

TEST_F(CableTrapTest, FramesThatAreBrokenCountAtTheirPort)
{
    steps(20);
    ASSERT_TRUE(host.isUp());
    io::Bytes frame = host.header(link::FrameType::ack).frame({});
    frame[20] ^= 1;
    host.sendRaw(frame);
    steps(1);
    EXPECT_EQ(counters().get(Counter::symbolError), 1U);
    EXPECT_EQ(counters().get(Counter::rcvErrors), 1U);
    host.sendFrame(io::Bytes(24), 1, now); // a packet of no length
    steps(2);
    EXPECT_EQ(counters().get(Drop::malformed), 1U);
    EXPECT_TRUE(host.isUp());
}

TEST_F(CableTrapTest, DataBeyondTheWindowIsAnOverrunAndABadAcknowledgementIsNot)
{
    steps(20);
    ASSERT_TRUE(host.isUp());
    link::Header ack = host.header(link::FrameType::ack);
    ack.ack += 5; // of frames that have not been sent
    link::Header behind = host.header(link::FrameType::data);
    behind.seq -= 1000;
    for (int i = 0; i < 10; ++i) {
        host.sendRaw(ack.frame({}));
        host.sendRaw(behind.frame({}));
        steps(4);
    }
    EXPECT_EQ(counters().get(Counter::bufferOverrun), 0U);
    EXPECT_EQ(counters().get(Counter::rcvErrors), 20U);
    link::Header ahead = host.header(link::FrameType::data);
    ahead.seq += linkWindow;
    host.sendRaw(ahead.frame({}));
    steps(4);
    EXPECT_EQ(counters().get(Counter::bufferOverrun), 1U); // OverrunErrors is zero
    EXPECT_EQ(counters().get(Counter::rcvErrors), 21U);
    EXPECT_TRUE(host.isUp());
}

} // namespace
} // namespace openipoib::fabric
