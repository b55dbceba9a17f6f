// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A node under test, and packets for it as a subnet manager and hosts make them.
#pragma once

#include "ib/packet_builder.hpp"
#include "node/node.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace openipoib::fabric
{

class NodeWorld : public testing::Test, public NodeListener
{
  public:
    void outputReady(std::uint8_t port) override { outputs.push_back(port); }
    void inputReady(std::uint8_t port) override { inputs.push_back(port); }
    void physWanted(std::uint8_t port, PhysState wanted) override
    {
        phys.emplace_back(port, wanted);
    }

  protected:
    static constexpr std::uint64_t guid = 0x0002'C900'0000'0001;
    static constexpr std::uint16_t nodeInfo = 0x11, switchInfo = 0x12, portInfo = 0x15,
                                   pkeyTable = 0x16, linearTable = 0x19, multicastTable = 0x1B;
    static constexpr std::uint16_t switchLid = 2, smLid = 1;

    static TopologyNode describe(NodeKind kind, std::size_t ports)
    {
        return {.kind = kind,
                .id = "S-1",
                .name = "leaf1",
                .guid = guid,
                .systemGuid = guid,
                .ports = std::vector<TopologyPort>(ports)};
    }

    // A directed route SMP as it comes over one hop.
    static io::Bytes directed(ib::Method method, std::uint16_t attribute, std::uint32_t modifier,
                              const Attribute &data = {}, std::uint64_t mkey = 0)
    {
        io::Bytes mad;
        ib::Mad{.mgmtClass = ib::MgmtClass::subnDirected,
                .method = method,
                .classSpecific = 0x0101,
                .transaction = 42,
                .attribute = attribute,
                .modifier = modifier}
            .appendTo(mad);
        setField64(mad, IB_MAD_MKEY_F, mkey);
        setField(mad, IB_DRSMP_DRDLID_F, ib::permissiveLid);
        setField(mad, IB_DRSMP_DRSLID_F, ib::permissiveLid);
        std::ranges::copy(data, mad.begin() + IB_SMP_DATA_OFFS);
        return mad;
    }

    static io::Bytes onLane15(const io::Bytes &mad, std::uint16_t dlid = ib::permissiveLid,
                              std::uint16_t slid = ib::permissiveLid)
    {
        return ib::PacketBuilder{}
            .lrh({.vl = vl15, .dlid = dlid, .slid = slid})
            .bth({})
            .deth({})
            .payload(mad)
            .build();
    }

    static io::Bytes data(std::uint16_t dlid, std::uint16_t pkey = ib::defaultPkey,
                          std::size_t size = 64)
    {
        return ib::PacketBuilder{}
            .lrh({.dlid = dlid, .slid = 9})
            .bth({.pkey = pkey, .qpn = 0x42})
            .deth({.qkey = 0xB1B, .sourceQpn = 0x43})
            .payload(io::Bytes(size))
            .build();
    }

    void receive(std::uint8_t port, const io::Bytes &packet)
    {
        node.receive(port, {.bytes = packet}, now);
    }

    // What waits at a port, on these lanes.
    std::vector<io::Bytes> sent(std::uint8_t port, Lanes lanes)
    {
        std::vector<io::Bytes> packets;
        while (const auto vl = node.nextLane(port, lanes))
            packets.push_back(node.take(port, *vl, now).bytes);
        return packets;
    }
    std::vector<io::Bytes> sent(std::uint8_t port, std::uint8_t vl)
    {
        return sent(port, Lanes{1UL << vl});
    }

    // Whether packets may come in by all lanes.
    bool acceptsInput(std::uint8_t port) const { return node.openLanes(port).all(); }

    static io::Bytes madOf(const io::Bytes &packet)
    {
        constexpr std::size_t at = ib::Lrh::size + ib::Bth::size + ib::Deth::size;
        return {packet.begin() + at, packet.end() - ib::icrcSize};
    }

    // The MAD that answers one; empty if none does.
    io::Bytes ask(const io::Bytes &mad, std::uint8_t port = 1)
    {
        receive(port, onLane15(mad));
        io::Bytes answer;
        for (const auto &packet : sent(port, vl15))
            if (const auto out = madOf(packet); out[3] == static_cast<int>(ib::Method::getResp)) {
                EXPECT_TRUE(answer.empty());
                answer = out;
            }
        return answer;
    }

    static Attribute attributeOf(const io::Bytes &mad)
    {
        Attribute out{};
        if (mad.size() == ib::Mad::size)
            std::copy_n(mad.begin() + IB_SMP_DATA_OFFS, out.size(), out.begin());
        return out;
    }

    Attribute get(std::uint16_t attribute, std::uint32_t modifier = 0)
    {
        return attributeOf(ask(directed(ib::Method::get, attribute, modifier)));
    }

    // Status of the answer to a Set, without the direction bit.
    std::uint32_t set(std::uint16_t attribute, std::uint32_t modifier, const Attribute &value)
    {
        const io::Bytes mad = ask(directed(ib::Method::set, attribute, modifier, value));
        return mad.empty() ? ~0U : getField(mad, IB_DRSMP_STATUS_F);
    }

    // One field of PortInfo; the states stay, unless it is one of them.
    void setInfo(std::uint8_t port, MAD_FIELDS field, std::uint32_t value)
    {
        Attribute info = get(portInfo, port);
        setField(info, IB_PORT_STATE_F, 0);
        setField(info, IB_PORT_PHYS_STATE_F, 0);
        setField(info, field, value);
        EXPECT_EQ(set(portInfo, port, info), 0U);
    }

    void setPort(std::uint8_t port, PortState state)
    {
        setInfo(port, IB_PORT_STATE_F, static_cast<std::uint32_t>(state));
    }

    // As OpenSM leaves it: LIDs, routes to LID 10 + P by port P, ports active.
    void configure()
    {
        for (std::uint8_t port = 1; port <= node.portCount(); ++port)
            node.linkUp(port, now);
        Attribute info = get(portInfo, 0);
        setField(info, IB_PORT_LID_F, switchLid);
        setField(info, IB_PORT_SMLID_F, smLid);
        ASSERT_EQ(set(portInfo, 0, info), 0U);
        Attribute table;
        table.fill(noPort);
        table[smLid] = 1;
        table[switchLid] = 0;
        for (std::uint8_t port = 1; port <= node.portCount(); ++port)
            table[10U + port] = port;
        ASSERT_EQ(set(linearTable, 0, table), 0U);
        info = get(switchInfo);
        setField(info, IB_SW_LINEAR_FDB_TOP_F, 63);
        setField(info, IB_SW_STATE_CHANGE_F, 1);
        ASSERT_EQ(set(switchInfo, 0, info), 0U);
        for (std::uint8_t port = 1; port <= node.portCount(); ++port) {
            setPort(port, PortState::armed);
            setPort(port, PortState::active);
        }
    }

    std::uint64_t drops(std::uint8_t port, Drop reason) const
    {
        return node.port(port).counters.get(reason);
    }

    Time now{std::chrono::hours(1)};
    std::vector<std::uint8_t> outputs, inputs;
    std::vector<std::pair<std::uint8_t, PhysState>> phys;
    Node node{describe(NodeKind::switchNode, 4), *this};
};

} // namespace openipoib::fabric
