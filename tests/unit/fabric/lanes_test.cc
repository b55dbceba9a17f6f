// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Lanes of a link between two switches: one that is held back does not stop another.
#include "fabric_world.hpp"

namespace openipoib::fabric
{
namespace
{

class LanesTest : public FabricWorld
{
  protected:
    static constexpr std::uint16_t idleLid = 11, slowLid = 12;

    void SetUp() override
    {
        const auto attached = fabric.attach(port("S-2:2"), slowCable);
        ASSERT_TRUE(attached);
        slowNumber = *attached;
        FabricWorld::SetUp();
        run(20);
        ASSERT_TRUE(host.isUp() && slow.isUp());
        program({1}, "S-1", {1, 4}, 4, 4);
        program({1, 4}, "S-2", {1, 2, 4}, 1, 2);
    }

    // As steps(), with the second host at work.
    void run(int count)
    {
        for (; count > 0; --count) {
            slow.onTime(now);
            for (const auto &frame : std::exchange(slowCable.frames, {}))
                slow.onFrame(frame, now);
            for (const auto &frame : slow.takeOutput())
                fabric.onFrame(slowNumber, {2, 0, 0, 0, 0, 8}, frame, now);
            fabric.onBatchEnd(slowNumber, now);
            steps(1);
        }
    }

    void set(const io::Bytes &path, std::uint16_t attribute, std::uint32_t modifier,
             const Attribute &value)
    {
        smp(path, {.method = ib::Method::set, .attribute = attribute, .modifier = modifier}, value);
        run(2);
    }

    // Ports active, each SL on its lane, routes to the two hosts.
    void program(const io::Bytes &path, std::string_view name, const io::Bytes &ports,
                 std::uint8_t toIdle, std::uint8_t toSlow)
    {
        const Node &node = *fabric.node(switchNamed(name).node);
        Attribute identity{};
        for (std::size_t i = 0; i < 8; ++i)
            identity[i] = static_cast<std::uint8_t>(2 * i << 4 | (2 * i + 1));
        for (const std::uint8_t out : ports) {
            for (const PortState state : {PortState::armed, PortState::active}) {
                Attribute info = node.port(out).portInfo();
                setField(info, IB_PORT_STATE_F, static_cast<std::uint32_t>(state));
                setField(info, IB_PORT_PHYS_STATE_F, 0);
                set(path, IB_ATTR_PORT_INFO, out, info);
            }
            for (const std::uint8_t in : ports)
                set(path, IB_ATTR_SLVL_TABLE, static_cast<std::uint32_t>(in) << 8 | out, identity);
        }
        Attribute table;
        table.fill(noPort);
        table[idleLid] = toIdle;
        table[slowLid] = toSlow;
        set(path, IB_ATTR_LINEARFORWTBL, 0, table);
        Attribute info{};
        setField(info, IB_SW_LINEAR_FDB_TOP_F, 63);
        set(path, IB_ATTR_SWITCH_INFO, 0, info);
        Attribute masks{};
        masks[1] = static_cast<std::uint8_t>(1U << toIdle | 1U << toSlow);
        set(path, IB_ATTR_MULTICASTFORWTBL, 0, masks);
        static_cast<void>(host.takeInput());
    }

    // As the SM sets it at a port.
    void setHeadLife(const io::Bytes &path, std::string_view name, std::uint8_t at,
                     std::uint32_t code)
    {
        Attribute info = fabric.node(switchNamed(name).node)->port(at).portInfo();
        setField(info, IB_PORT_STATE_F, 0);
        setField(info, IB_PORT_PHYS_STATE_F, 0);
        setField(info, IB_PORT_HOQ_LIFE_F, code);
        set(path, IB_ATTR_PORT_INFO, at, info);
        static_cast<void>(host.takeInput());
    }

    // As run(), but the second host takes a DATA frame each 3 s and no more.
    void trickle()
    {
        slow.onTime(now);
        for (const auto &frame : std::exchange(slowCable.frames, {})) {
            const bool isHello = link::Header::parse(frame)->type == link::FrameType::hello;
            if (!isHello && now < takeAt)
                continue;
            takeAt = isHello ? takeAt : now + 3s;
            slow.onFrame(frame, now);
        }
        for (const auto &frame : slow.takeOutput())
            fabric.onFrame(slowNumber, {2, 0, 0, 0, 0, 8}, frame, now);
        fabric.onBatchEnd(slowNumber, now);
        steps(1);
    }

    static io::Bytes packet(std::uint8_t sl, std::uint16_t dlid)
    {
        return ib::PacketBuilder{}
            .lrh({.sl = sl, .dlid = dlid, .slid = 9})
            .bth({.pkey = ib::defaultPkey, .qpn = 0x42})
            .deth({})
            .payload(io::Bytes(4096))
            .build();
    }

    void send(std::uint8_t sl, std::uint16_t dlid) { host.send(packet(sl, dlid), now); }

    std::uint64_t arrived()
    {
        return fabric.node(port("idle:1").node)->port(1).counters.get(Counter::rcvPackets);
    }

    MemoryCable slowCable;
    std::size_t slowNumber = 0;
    Time takeAt{}; // by trickle()
    link::Endpoint slow{{.session = 7, .guid = 0xC, .maxFrame = 9000}};
};

TEST_F(LanesTest, OneThatIsHeldBackDoesNotStopAnother)
{
    const Node &spine = *fabric.node(switchNamed("S-2").node);
    std::size_t sent = 0;
    // The second host takes nothing; its cable's window and a queue fill up.
    for (int i = 0; i < 100 && spine.openLanes(4)[1]; ++i) {
        for (int burst = 0; burst < 20 && host.canSend(); ++burst, ++sent)
            send(1, slowLid);
        steps(1);
    }
    ASSERT_FALSE(spine.openLanes(4)[1]);
    ASSERT_TRUE(slow.isUp());
    const auto before = arrived();
    send(1, idleLid); // behind them
    steps(2);
    EXPECT_EQ(arrived(), before);
    send(2, idleLid);
    steps(2);
    EXPECT_EQ(arrived(), before + 1);
    std::size_t taken = 0;
    for (int i = 0; i < 100 && taken < sent; ++i) {
        run(1);
        taken += slow.takeInput().size();
    }
    EXPECT_EQ(taken, sent);
    EXPECT_EQ(arrived(), before + 2);
}

// What it leaves in the switch keeps nobody from others for long enough to lose a link by.
TEST_F(LanesTest, AHostThatTakesNextToNothingHoldsBackOthersForHalfASecondAtMost)
{
    const Node &spine = *fabric.node(switchNamed("S-2").node);
    setHeadLife({1, 4}, "S-2", 2, 16);
    takeAt = now + 3s;
    Time::duration held{}, longest{};
    const auto before = arrived();
    std::size_t toIdle = 0;
    for (int i = 0; i < 1000; ++i) { // 5 s
        for (int burst = 0; burst < 3 && host.canSend(); ++burst)
            send(1, slowLid);
        if (i % 100 == 0 && host.canSend()) {
            send(1, idleLid);
            ++toIdle;
        }
        trickle();
        held = spine.openLanes(4)[1] ? Time::duration{} : held + 5ms;
        longest = std::max(longest, held);
    }
    for (int i = 0; i < 10; ++i)
        trickle();
    EXPECT_LE(longest, 510ms);
    EXPECT_TRUE(host.isUp() && slow.isUp());
    EXPECT_EQ(host.downs() + slow.downs(), 0U);
    EXPECT_GE(toIdle, 4U);
    EXPECT_EQ(arrived() - before, toIdle);
    EXPECT_GT(spine.port(2).counters.get(Drop::noRoom), 0U);
}

// As the link of a host that takes 128 KiB a second: of that nothing is lost, if no more waits on
// a cable than it takes in half of one.
TEST_F(LanesTest, LongFramesDoNotOverfillAQueue)
{
    const Node &leaf = *fabric.node(switchNamed("S-1").node);
    const Node &spine = *fabric.node(switchNamed("S-2").node);
    setHeadLife({1}, "S-1", 4, 16);
    setHeadLife({1, 4}, "S-2", 2, 16);
    ASSERT_TRUE(fabric.addFault(
        {.kind = FaultKind::rate, .at = port("S-2:2"), .bitsPerSecond = 128 * 1024 * 8}, now));
    io::Bytes payload;
    for (int i = 0; i < 8; ++i)
        io::append(payload, packet(1, slowLid));
    for (int i = 0; i < 2000; ++i) {    // 10 s
        if (host.unacknowledged() == 0) // at most the rest of another is there
            host.sendFrame(payload, 8, now);
        run(1);
    }
    EXPECT_EQ(leaf.port(4).counters.get(Drop::noRoom), 0U);
    EXPECT_EQ(spine.port(2).counters.get(Drop::noRoom), 0U);
    EXPECT_GT(leaf.port(4).counters.get(Counter::xmitWait), 10U);
    EXPECT_GT(slow.takeInput().size(), 300U);
    EXPECT_EQ(host.downs() + slow.downs(), 0U);
}

// The window of a cable is more than such a host takes in a second.
TEST_F(LanesTest, WhatWaitsForASlowHostDoesNotKeepASendersMadsForLong)
{
    const Node &leaf = *fabric.node(switchNamed("S-1").node);
    setHeadLife({1}, "S-1", 4, 16);
    setHeadLife({1, 4}, "S-2", 2, 16);
    ASSERT_TRUE(fabric.addFault(
        {.kind = FaultKind::rate, .at = port("S-2:2"), .bitsPerSecond = 64 * 1024 * 8}, now));
    io::Bytes payload;
    for (int i = 0; i < 15; ++i)
        io::append(payload, packet(1, slowLid));
    for (int i = 0; i < 40; ++i) // 2.4 MiB
        host.sendFrame(payload, 15, now);
    ask({1}); // behind them
    run(190);
    EXPECT_TRUE(host.takeInput().empty());
    EXPECT_EQ(leaf.port(4).counters.get(Drop::noRoom), 0U);
    run(20);
    EXPECT_EQ(answers().size(), 1U);
    EXPECT_GT(leaf.port(4).counters.get(Drop::noRoom), 0U);
    EXPECT_GT(leaf.port(4).queues[1].bytes, 200U * 1024); // no more of it than has to be
    EXPECT_LE(leaf.port(4).queues[1].bytes, 260U * 1024);
    const auto lost = leaf.port(4).counters.get(Drop::noRoom);
    host.sendFrame(payload, 15, now);
    run(100);
    EXPECT_EQ(leaf.port(4).counters.get(Drop::noRoom), lost); // it is held back as before
    EXPECT_EQ(host.downs() + slow.downs(), 0U);
    host = link::Endpoint({.session = 77, .guid = 0xB, .maxFrame = 9000});
    run(20);
    EXPECT_GT(leaf.port(1).counters.get(Drop::underWay), 0U); // the rest of that frame
}

// However many come at once.
TEST_F(LanesTest, CopiesForAGroupAreNotLostIfTheirReceiversTakeThem)
{
    const Node &leaf = *fabric.node(switchNamed("S-1").node);
    const Node &spine = *fabric.node(switchNamed("S-2").node);
    for (const bool isLate : {false, true}) {
        if (isLate) {
            ASSERT_TRUE(fabric.addFault(
                {.kind = FaultKind::delay, .at = port("S-2:4"), .delay = 20ms}, now));
        }
        const auto before = arrived();
        io::Bytes payload;
        for (int i = 0; i < 2; ++i)
            io::append(payload, packet(1, ib::firstMulticastLid));
        for (int i = 0; i < 60; ++i)
            host.sendFrame(payload, 2, now);
        run(12);
        EXPECT_EQ(slow.takeInput().size(), 120U);
        EXPECT_EQ(arrived() - before, 120U);
    }
    EXPECT_EQ(leaf.port(4).counters.get(Drop::noRoom), 0U);
    EXPECT_EQ(spine.port(2).counters.get(Drop::noRoom), 0U);
}

// Nor does the clock stand still for it.
TEST_F(LanesTest, APacketThatIsLateAndTooLongByThenDoesNotStay)
{
    ASSERT_TRUE(
        fabric.addFault({.kind = FaultKind::delay, .at = port("S-2:2"), .delay = 100ms}, now));
    send(1, slowLid);
    run(2);
    slow = link::Endpoint({.session = 77, .guid = 0xC, .maxFrame = 2200});
    run(60);
    EXPECT_TRUE(slow.isUp());
    EXPECT_TRUE(slow.takeInput().empty());
    EXPECT_GT(fabric.deadline(), now - 5ms);
}

} // namespace
} // namespace openipoib::fabric
