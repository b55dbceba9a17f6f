// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two switches and what joins them, with a host at the end of a cable.
#pragma once

#include "core/fabric.hpp"
#include "ib/packet_builder.hpp"
#include "link/endpoint.hpp"
#include "topology/parser.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace openipoib::fabric
{

using namespace std::chrono_literals;

inline constexpr std::string_view fabricPlan = R"(
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
    [[nodiscard]] std::uint32_t maxFrame() const override { return most; }
    [[nodiscard]] bool isReady() const override { return true; }
    void send(const io::MacAddress & /*to*/, const Frame &frame) override
    {
        if (frame->size() > fallsTo)
            most = fallsTo;
        if (frame->size() <= most)
            frames.push_back(*frame);
    }

    std::uint32_t most = 9000;
    std::uint32_t fallsTo = longestFrame; // which is heard of by a frame that is longer
    std::vector<io::Bytes> frames;
};

class FabricWorld : public testing::Test
{
  protected:
    void SetUp() override
    {
        const auto attached = fabric.attach(*fabric.topology().findPort("h1:1"), cable);
        ASSERT_TRUE(attached);
        number = *attached;
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
                fabric.onFrame(number, {2, 0, 0, 0, 0, 9}, frame, now);
            fabric.onBatchEnd(number, now);
            now += 5ms;
        }
    }

    PortState state(std::string_view name)
    {
        const PortRef port = *fabric.topology().findPort(name);
        return fabric.node(port.node)->port(port.port).state();
    }

    // Send a MAD to the end of a path.
    void smp(const io::Bytes &path, ib::Mad header, io::View value = {})
    {
        io::Bytes mad;
        header.mgmtClass = ib::MgmtClass::subnDirected;
        header.appendTo(mad);
        mad[6] = 1;
        mad[7] = static_cast<std::uint8_t>(path.size());
        setField(mad, IB_DRSMP_DRDLID_F, ib::permissiveLid);
        setField(mad, IB_DRSMP_DRSLID_F, ib::permissiveLid);
        std::ranges::copy(path, mad.begin() + 128 + 1);
        std::ranges::copy(value, mad.begin() + IB_SMP_DATA_OFFS);
        host.send(ib::PacketBuilder{}
                      .lrh({.vl = vl15, .dlid = ib::permissiveLid, .slid = ib::permissiveLid})
                      .bth({})
                      .deth({})
                      .payload(mad)
                      .build(),
                  now);
    }

    // Ask for NodeInfo at the end of a path.
    void ask(const io::Bytes &path) { smp(path, {.attribute = IB_ATTR_NODE_INFO}); }

    // What has come to the host, without headers: attributes of MADs.
    std::vector<io::Bytes> answers()
    {
        std::vector<io::Bytes> found;
        for (const auto &packet : host.takeInput())
            found.emplace_back(packet.begin() + 28 + 64, packet.begin() + 28 + 128);
        return found;
    }

    // NodeInfo at the end of a path; empty if there is none within 20 ms.
    io::Bytes probe(const io::Bytes &path)
    {
        ask(path);
        steps(4);
        const auto found = answers();
        return found.empty() ? io::Bytes{} : found.front();
    }

    PortRef port(std::string_view name) { return *fabric.topology().findPort(name); }
    PortRef switchNamed(std::string_view name) { return {*fabric.topology().find(name), 0}; }

    Time now{1h};
    std::uint32_t nextSession = 100;
    MemoryCable cable;
    std::size_t number = 0; // of the cable
    std::uint32_t nextChance = 0;
    Fabric fabric{*parseTopology(fabricPlan, "plan"), [this] { return nextSession++; },
                  [this] { return nextChance++; }};
    link::Endpoint host{{.session = 1, .guid = 0xB, .maxFrame = 9000}};
};

} // namespace openipoib::fabric
