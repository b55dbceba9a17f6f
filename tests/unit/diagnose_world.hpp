// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A healthy host for tests of rules: two ports, of which ib0 is on the first, with a subnet manager
// at LID 1 and a broadcast group. Tests break one thing of it.
#pragma once

#include "diagnose/facts.hpp"
#include "diagnose/finding.hpp"
#include "diagnose/rules.hpp"
#include "ib/ipoib.hpp"

#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <string>
#include <vector>

namespace openipoib::diagnose
{

struct World {
    static constexpr std::uint64_t guid = 0x5054'00FF'FE1B'0100;

    Facts facts;

    static io::Bytes hardware(std::uint64_t portGuid, std::uint64_t prefix = ib::defaultPrefix,
                              std::uint8_t flags = 0x80)
    {
        io::Bytes out;
        ib::HardwareAddress{.flags = flags, .qpn = 2, .gid = ib::makeGid(prefix, portGuid)}
            .appendTo(out);
        return out;
    }

    static io::Bytes broadcast(std::uint16_t pkey)
    {
        io::Bytes out;
        ib::HardwareAddress{.qpn = 0xFFFFFF,
                            .gid = ib::makeIpoibMgid(ib::ipoibIpv4, pkey, 0xFFFFFFFF)}
            .appendTo(out);
        return out;
    }

    static openib::Port shown(unsigned number, const std::string &gid)
    {
        openib::Port port;
        port.number = number;
        port.state = "ACTIVE";
        port.physical = "LinkUp";
        port.layer = "InfiniBand";
        port.rate = "40 Gb/sec (4X QDR)";
        port.lid = number + 1;
        port.gid = gid;
        return port;
    }

    static Port port(const openib::Port &shown)
    {
        Port port;
        port.hca = "mlx5_0";
        port.shown = shown;
        port.smLid = 1;
        port.pkeys = {0xFFFF};
        port.mtu = 4096;
        port.asked.reply = Reply::answered;
        port.info = PortInfo{.lid = shown.lid,
                             .widthEnabled = 3,
                             .widthActive = 2,
                             .speedEnabled = 7,
                             .speedActive = 4,
                             .lanes = 4};
        port.lanes = LaneTable{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7};
        port.manager.administration.reply = Reply::answered;
        port.manager.guid = 1;
        port.manager.heard = std::chrono::milliseconds(3);
        port.lids = 600;
        port.lidOwner = ib::NodeRecord{.portGuid = guid + shown.number - 1, .description = "node1"};
        port.far = FarEnd{.description = "\"sw1\" port 3",
                          .info = PortInfo{.widthEnabled = 3, .speedEnabled = 7},
                          .counters = {}};
        return port;
    }

    static netlink::Address address(int index, const std::string &text)
    {
        netlink::Address out = *netlink::parseAddress(text);
        out.index = index;
        out.scope = RT_SCOPE_UNIVERSE;
        return out;
    }

    static Group group(std::uint32_t qkey = 0xB1B)
    {
        Group group;
        group.asked.reply = Reply::answered;
        group.record = ib::MemberRecord{.qkey = qkey, .mlid = 0xC000, .mtu = 5, .rate = 3};
        return group;
    }

    static Interface interface(int index, const std::string &name, unsigned portNumber)
    {
        Interface out;
        out.link.index = index;
        out.link.name = name;
        out.link.type = ARPHRD_INFINIBAND;
        out.link.flags = IFF_UP | IFF_LOWER_UP;
        out.link.mtu = 4092;
        out.link.address = hardware(guid + portNumber - 1);
        out.link.broadcast = broadcast(0xFFFF);
        out.pkey = 0xFFFF;
        out.connected = false;
        out.hca = "mlx5_0";
        out.port = portNumber;
        out.managers = {"systemd-networkd"};
        out.broadcast = group();
        out.allNodes = group();
        out.queues = 2;
        return out;
    }

    World()
    {
        facts.state.hcas = {{"mlx5_0",
                             "node1 mlx5_0",
                             {shown(1, "fe80000000000000505400fffe1b0100"),
                              shown(2, "fe80000000000000505400fffe1b0101")}}};
        facts.state.modules = {{"ib_ipoib", {}}, {"mlx5_core", {}}, {"mlx5_ib", {}}};
        facts.state.hardware = facts.state.adapters = {"mlx5_core"};
        facts.state.available = {"ib_ipoib", "mlx5_core", "mlx5_ib"};
        facts.isOurs = true;
        facts.kernel = {6, 1};
        facts.processors = 2;
        facts.ports = {port(facts.state.hcas[0].ports[0])};
        facts.interfaces = {interface(3, "ib0", 1)};
        ib0().addresses = {address(3, "10.0.0.1/24")};
        ib0().bindings = {{"10.0.0.1", 0, "mlx5_0"}};
        netlink::Link eth;
        eth.index = 2;
        eth.name = "eth0";
        eth.flags = IFF_UP | IFF_LOWER_UP;
        facts.others = {eth};
        facts.otherAddresses = {address(2, "192.0.2.1/24")};
        facts.tables = {{"ipv4", 3, 1024, {}}, {"ipv6", 3, 1024, {}}};
    }

    Interface &ib0() { return facts.interfaces.front(); }
    Port &first() { return facts.ports.front(); }

    // ib1 on the second port, in the same subnet
    Interface &addSecond()
    {
        facts.ports.push_back(port(facts.state.hcas[0].ports[1]));
        facts.interfaces.push_back(interface(4, "ib1", 2));
        Interface &ib1 = facts.interfaces.back();
        ib1.addresses = {address(4, "10.0.1.1/24")};
        return ib1;
    }

    // What the way to 10.0.0.2 is when all is well
    Peer &addPeer()
    {
        Peer peer;
        peer.address = "10.0.0.2";
        peer.interface = "ib0";
        peer.neighbour = netlink::Neighbour{.index = 3,
                                            .family = AF_INET,
                                            .state = NUD_REACHABLE,
                                            .address = {10, 0, 0, 2},
                                            .hardware = hardware(guid + 0x100)};
        peer.pathAsked.reply = Reply::answered;
        peer.path = ib::PathRecord{.dlid = 5, .mtu = 5, .rate = 7};
        peer.small = true;
        peer.large = true;
        peer.largeBytes = 4092;
        peer.cm = 0;
        facts.peer = peer;
        return *facts.peer;
    }

    // What is found, as "rule on", "note:" before notes
    [[nodiscard]] std::vector<std::string> found() const
    {
        std::vector<std::string> out;
        for (const auto &one : diagnose(facts))
            out.push_back((one.severity == Severity::note ? "note:" : "") + std::string(one.rule) +
                          " " + one.on);
        return out;
    }
};

} // namespace openipoib::diagnose
