// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Any packets at the ports of a switch and of an adapter, for libFuzzer: as they
// are, or as the payload of a MAD that is well wrapped. What leaves is well formed.
#include "ib/packet_builder.hpp"
#include "input.hpp"
#include "node/node.hpp"
#include "promise.hpp"

#include <algorithm>
#include <array>

namespace
{

using namespace openipoib;
using namespace openipoib::fabric;

constexpr std::uint8_t ports = 4;
constexpr std::size_t most = 512;

struct Listener final : NodeListener {
    void outputReady(std::uint8_t port) override { promise(port <= ports, "a port"); }
    void inputReady(std::uint8_t port) override { promise(port <= ports, "a port"); }
    void physWanted(std::uint8_t port, PhysState /*wanted*/) override
    {
        promise(port >= 1 && port <= ports, "a port with a cable");
    }
};

// A MAD whose header fields are often ones that mean something.
io::Bytes mad(Input &input)
{
    constexpr std::array<std::uint8_t, 4> classes{0x81, 0x01, 0x04, 0x07};
    constexpr std::array<std::uint8_t, 5> methods{1, 2, 5, 7, 0x81};
    const std::uint8_t choice = input.byte();
    io::Bytes bytes = input.bytes(ib::Mad::size);
    bytes.resize(ib::Mad::size);
    bytes[0] = 1;
    bytes[1] = classes[choice & 3];
    bytes[2] = 1;
    bytes[3] = methods[(choice >> 2) % methods.size()];
    bytes[16] = (choice & 64) != 0 ? 0xFF : 0; // attribute: a vendor's or IBA's
    if ((choice & 128) == 0 && bytes[1] == 0x81) {
        bytes[6] = 1; // at the end of its path, which comes from the next node
        bytes[7] = 1;
        std::fill_n(bytes.begin() + 32, 4, std::uint8_t{0xFF});
    }
    return bytes;
}

io::Bytes packet(Input &input)
{
    const std::uint8_t kind = input.byte();
    if (kind % 4 == 0)
        return input.bytes(input.half() % most);
    ib::Lrh lrh{.dlid = input.half(), .slid = input.half()};
    ib::PacketBuilder builder;
    if (kind % 4 == 1) {
        lrh.vl = kind >> 4;
        lrh.sl = kind >> 4;
        return builder.lrh(lrh)
            .bth({.qpn = static_cast<std::uint32_t>(kind >> 2 & 3)})
            .deth({})
            .payload(input.bytes(input.half() % most))
            .build();
    }
    const bool isSmp = kind % 4 == 2;
    if (isSmp) {
        lrh.vl = vl15;
        lrh.dlid = (kind & 128) != 0 ? lrh.dlid : ib::permissiveLid;
    }
    return builder.lrh(lrh)
        .bth({.qpn = isSmp ? 0U : 1U})
        .deth({.qkey = isSmp ? 0U : ib::gsiQkey})
        .payload(mad(input))
        .build();
}

void drain(Node &node, Time now)
{
    for (std::uint8_t port = 0; port <= node.portCount(); ++port)
        while (const auto vl = node.nextLane(port)) {
            promise(port != 0, "nothing leaves by port 0");
            const Packet out = node.take(port, *vl, now);
            promise(PacketHeaders::parse(out.bytes).has_value(), "packets make sense");
            promise(out.vl() == *vl, "packets name the lane they leave by");
        }
    for (std::uint8_t port = 1; port <= node.portCount(); ++port)
        promise(node.openLanes(port).all(), "nothing is held back by empty queues");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    Input input({data, size});
    const bool isSwitch = (input.byte() & 1) == 0;
    Listener listener;
    Node node({.kind = isSwitch ? NodeKind::switchNode : NodeKind::channelAdapter,
               .id = "n",
               .name = "n",
               .guid = 1,
               .systemGuid = 1,
               .ports = std::vector<TopologyPort>(ports)},
              listener);
    Time now{std::chrono::hours(1)};
    for (std::uint8_t port = 1; port <= ports; ++port) {
        node.linkUp(port, now);
        if ((input.byte() & 1) != 0)
            node.port(port).activate();
    }
    while (!input.atEnd()) {
        const std::uint8_t what = input.byte();
        const auto port = static_cast<std::uint8_t>(1 + (what & 3));
        if ((what & 0x1C) == 0x1C) {
            now += std::chrono::milliseconds(what);
            node.onTime(now);
            promise(node.deadline() > now, "nothing that is due is left");
        } else if ((what & 0x1C) == 0x18) {
            node.linkDown(port, PhysState::polling, now);
            node.linkUp(port, now);
        } else if ((what & 0x1C) == 0x14) {
            node.cableError(port, static_cast<Node::CableError>(what >> 5 & 3), now);
        } else {
            node.receive(port, {.bytes = packet(input)}, now);
        }
        if ((what & 128) == 0)
            drain(node, now);
    }
    drain(node, now);
    return 0;
}
