// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What one processor gets through a switch of ibfabric, without sockets: packets by
// its forwarding tables, MADs of a subnet manager, and packets on a cable's two ends.
#include "ib/mad.hpp"
#include "ib/packet_builder.hpp"
#include "link/station.hpp"
#include "node/node.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>

namespace
{

using namespace openipoib;
using namespace openipoib::fabric;

constexpr std::uint8_t ports = 8;
constexpr std::uint16_t firstLid = 10; // by port 1
constexpr std::uint16_t nodeInfo = 0x11, switchInfo = 0x12, linearTable = 0x19,
                        multicastTable = 0x1B;
constexpr std::uint16_t group = 0xC000;
constexpr Time start{std::chrono::hours(1)};

struct Deaf final : NodeListener {
    void outputReady(std::uint8_t /*port*/) override {}
    void inputReady(std::uint8_t /*port*/) override {}
    void physWanted(std::uint8_t /*port*/, PhysState /*wanted*/) override {}
};

// A benchmark of something that does not work says nothing.
void need(bool isSo)
{
    if (!isSo)
        std::abort();
}

Packet smp(ib::Method method, std::uint16_t attribute, const Attribute &data = {})
{
    io::Bytes mad;
    ib::Mad{.mgmtClass = ib::MgmtClass::subnDirected,
            .method = method,
            .classSpecific = 0x0101, // one hop, which it has made
            .attribute = attribute}
        .appendTo(mad);
    setField(mad, IB_DRSMP_DRDLID_F, ib::permissiveLid);
    setField(mad, IB_DRSMP_DRSLID_F, ib::permissiveLid);
    std::ranges::copy(data, mad.begin() + IB_SMP_DATA_OFFS);
    return {ib::PacketBuilder{}
                .lrh({.vl = vl15, .dlid = ib::permissiveLid, .slid = ib::permissiveLid})
                .bth({})
                .deth({})
                .payload(mad)
                .build()};
}

Packet datagram(std::uint16_t dlid, std::size_t size)
{
    return {ib::PacketBuilder{}
                .lrh({.dlid = dlid, .slid = firstLid})
                .bth({.pkey = ib::defaultPkey, .qpn = 0x42})
                .deth({.qkey = 0xB1B, .sourceQpn = 0x43})
                .payload(io::Bytes(size))
                .build()};
}

// A switch whose ports are active: LID 9 + P by port P, and a group of all ports.
class Switch
{
  public:
    Switch()
    {
        for (std::uint8_t port = 1; port <= ports; ++port) {
            node.linkUp(port, start);
            node.port(port).limitMtu(5);
        }
        Attribute routes{};
        routes.fill(noPort);
        for (std::uint8_t port = 1; port <= ports; ++port)
            routes[firstLid + port - 1U] = port;
        set(linearTable, routes);
        Attribute info{};
        setField(info, IB_SW_LINEAR_FDB_TOP_F, 63);
        set(switchInfo, info);
        Attribute groups{};
        groups[0] = 0x01;
        groups[1] = 0xFE;
        set(multicastTable, groups);
        for (std::uint8_t port = 1; port <= ports; ++port) {
            setActive(port);
            take(port);
        }
    }
    // Packets that wait at a port, taken.
    unsigned take(std::uint8_t port)
    {
        unsigned count = 0;
        for (; const auto vl = node.nextLane(port); ++count)
            benchmark::DoNotOptimize(node.take(port, *vl, start));
        return count;
    }

    Deaf listener;
    Node node{{.id = "s",
               .name = "s",
               .guid = 1,
               .systemGuid = 1,
               .ports = std::vector<TopologyPort>(ports)},
              listener};

  private:
    void set(std::uint16_t attribute, const Attribute &data)
    {
        node.receive(1, smp(ib::Method::set, attribute, data), start);
        need(take(1) == 1);
    }
    void setActive(std::uint8_t port)
    {
        Attribute info = node.port(port).portInfo();
        for (const PortState state : {PortState::armed, PortState::active}) {
            setField(info, IB_PORT_STATE_F, static_cast<std::uint32_t>(state));
            setField(info, IB_PORT_PHYS_STATE_F, 0);
            need(node.port(port).setPortInfo(info).isValid);
        }
    }
};

void unicast(benchmark::State &state)
{
    Switch fabric;
    const Packet packet = datagram(firstLid + 1, static_cast<std::size_t>(state.range(0)));
    while (state.KeepRunning()) {
        fabric.node.receive(1, packet, start);
        need(fabric.take(2) == 1);
    }
    state.SetItemsProcessed(state.iterations());
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(packet.bytes.size()));
}
BENCHMARK(unicast)->Arg(64)->Arg(2048)->Arg(4096);

// Items are packets in; each leaves by seven ports.
void multicast(benchmark::State &state)
{
    Switch fabric;
    const Packet packet = datagram(group, static_cast<std::size_t>(state.range(0)));
    while (state.KeepRunning()) {
        fabric.node.receive(1, packet, start);
        for (std::uint8_t port = 2; port <= ports; ++port)
            need(fabric.take(port) == 1);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(multicast)->Arg(64)->Arg(2048);

// A subnet manager's requests, each with its answer.
void requests(benchmark::State &state)
{
    Switch fabric;
    const Packet packet = smp(ib::Method::get, nodeInfo);
    while (state.KeepRunning()) {
        fabric.node.receive(1, packet, start);
        need(fabric.take(1) == 1);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(requests);

// Two ends of a cable: a frame of packets there, and its acknowledgement back.
void cable(benchmark::State &state)
{
    constexpr io::MacAddress address{2};
    std::uint32_t next = 1;
    const auto random = [&next] { return next++; };
    Time now = start;
    Station here({.guid = 1, .maxFrame = 65535}, random);
    Station there({.guid = 2, .maxFrame = 65535}, random);
    const auto deliver = [&](Station &from, Station &to) {
        for (const auto &out : from.takeOutput())
            to.onFrame(address, *out.frame, now);
        std::size_t packets = 0;
        while (to.takePacket(now))
            ++packets;
        to.onBatchEnd(now);
        return packets;
    };
    here.enable(now);
    there.enable(now);
    for (int i = 0; i < 4; ++i) {
        deliver(here, there);
        deliver(there, here);
    }
    need(here.isUp() && there.isUp());
    const Packet packet = datagram(firstLid, static_cast<std::size_t>(state.range(0)));
    const auto count = static_cast<std::uint8_t>(std::min<std::size_t>(
        here.maxPayload() / packet.bytes.size(), static_cast<std::size_t>(state.range(1))));
    io::Bytes payload;
    for (unsigned i = 0; i < count; ++i)
        io::append(payload, packet.bytes);
    while (state.KeepRunning()) {
        now += std::chrono::microseconds(1000);
        here.send(payload, count, now);
        need(deliver(here, there) == count);
        there.onTime(now);
        deliver(there, here);
    }
    state.SetItemsProcessed(state.iterations() * count);
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(payload.size()));
}
BENCHMARK(cable)->Args({64, 1})->Args({2048, 1})->Args({2048, 16})->Args({4096, 15});

} // namespace

BENCHMARK_MAIN();
