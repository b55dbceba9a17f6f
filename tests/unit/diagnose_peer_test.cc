// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The way to a peer.
#include "diagnose/gather.hpp"
#include "diagnose/gather_parts.hpp"
#include "diagnose/text.hpp"
#include "diagnose/walk.hpp"
#include "diagnose_world.hpp"

#include <gtest/gtest.h>

namespace openipoib::diagnose
{
namespace
{

using Found = std::vector<std::string>;

std::string failing(const World &world)
{
    for (const auto &step : walk(world.facts))
        if (step.result == StepResult::failed)
            return std::string(step.name);
    return "none";
}

TEST(DiagnosePeer, EachStepCanBeTheLast)
{
    World world;
    EXPECT_TRUE(walk(world.facts).empty());
    Peer &peer = world.addPeer();
    EXPECT_EQ(failing(world), "none");
    peer.heard = ETIMEDOUT;
    EXPECT_EQ(failing(world), "RDMA CM");
    peer.neighbour->hardware[0] = 0;
    EXPECT_EQ(failing(world), "none") << "it may have none";
    peer.cm = ENODEV;
    EXPECT_EQ(failing(world), "RDMA CM");
    peer.large = false;
    EXPECT_EQ(failing(world), "long packets");
    peer.datagram = false;
    EXPECT_EQ(failing(world), "datagrams");
    peer.small = false;
    EXPECT_EQ(failing(world), "short packets");
    peer.path->sl = 2;
    world.first().lanes->at(2) = 15;
    EXPECT_EQ(failing(world), "path record");
    peer.path.reset();
    peer.pathAsked = {.reply = Reply::refused, .status = ib::saNoRecords};
    EXPECT_EQ(failing(world), "path record");
    peer.neighbour->hardware = World::hardware(7, 0xFEC0'0000'0000'0000);
    EXPECT_EQ(failing(world), "hardware address");
    peer.neighbour->state = NUD_FAILED;
    EXPECT_EQ(failing(world), "neighbour");
    peer.interface = "eth0";
    EXPECT_EQ(failing(world), "route");
    peer.interface = "";
    EXPECT_EQ(failing(world), "route");
    EXPECT_EQ(world.found(), Found{"peer 10.0.0.2"});
    EXPECT_EQ(diagnose(world.facts).front().what, "there is no route to it");
    EXPECT_EQ(walk(world.facts)[1].result, StepResult::unknown) << "it needs the one before it";
    peer.interface = "ib1";
    EXPECT_EQ(walk(world.facts)[0].text, "packets go by ib1, which is no IPoIB interface");
    world.facts.wanted = "ib0";
    EXPECT_EQ(walk(world.facts)[0].text, "packets go by ib1, and not by ib0");
    world.facts.wanted = "ib5";
    EXPECT_EQ(world.found(), Found{"interface-missing ib5"}) << "the cause alone";
}

TEST(DiagnosePeer, WithoutPingNothingIsKnownOfIt)
{
    World world;
    Peer &peer = world.addPeer();
    peer.neighbour.reset();
    peer.path.reset();
    peer.pathAsked = {};
    peer.small.reset();
    peer.large.reset();
    peer.cm.reset();
    EXPECT_EQ(failing(world), "none") << "nobody has asked for it";
    peer.small = false;
    EXPECT_EQ(failing(world), "neighbour");
    peer.neighbour = netlink::Neighbour{.state = NUD_INCOMPLETE, .address = {}, .hardware = {}};
    peer.small.reset();
    EXPECT_EQ(failing(world), "neighbour");
    peer.neighbour->state = NUD_NONE;
    EXPECT_EQ(failing(world), "none");
}

TEST(DiagnosePeer, WhyThereIsNoPath)
{
    World world;
    Peer &peer = world.addPeer();
    peer.path.reset();
    peer.pathAsked = {.reply = Reply::refused, .status = 1};
    EXPECT_EQ(failing(world), "none") << "the SA is busy";
    peer.pathAsked.status = ib::saNoRecords;
    EXPECT_EQ(walk(world.facts)[3].text, "the subnet manager knows no path to it");
    peer.pathAsked.status = 0x0500;
    EXPECT_EQ(walk(world.facts)[3].text,
              "the subnet manager refuses to tell the path, with status 0x0500");
}

TEST(DiagnosePeer, BehindAGateway)
{
    World world;
    Peer &peer = world.addPeer();
    peer.address = "10.7.0.1";
    peer.gateway = "10.0.0.254";
    EXPECT_EQ(walk(world.facts)[0].text, "by ib0, to the gateway 10.0.0.254");
    peer.neighbour->state = NUD_FAILED;
    peer.small = false;
    EXPECT_EQ(walk(world.facts)[1].text,
              "its gateway 10.0.0.254 does not answer ARP or neighbour discovery");
}

TEST(DiagnosePeer, WhatPingSays)
{
    const std::string none = "2 packets transmitted, 0 received, 100% packet loss, time 1012ms\n";
    EXPECT_EQ(pingSays(0, "2 packets transmitted, 2 received"), true);
    EXPECT_EQ(pingSays(1, "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n\n" + none), false);
    EXPECT_EQ(pingSays(1, ""), std::nullopt) << "an option that it does not know";
    EXPECT_EQ(pingSays(2, none), std::nullopt);
    EXPECT_EQ(pingSays(127, ""), std::nullopt) << "there is none";
}

TEST(DiagnosePeer, WhyThereIsNoConnection)
{
    World world;
    Peer &peer = world.addPeer();
    EXPECT_EQ(walk(world.facts)[4].text, "none: this interface is in datagram mode");
    world.ib0().connected = true;
    EXPECT_EQ(walk(world.facts)[4].text, "connected mode");
    peer.neighbour->hardware[0] = 0;
    EXPECT_EQ(walk(world.facts)[4].text,
              "none: the peer takes no connections, so that datagrams go there");
}

TEST(DiagnosePeer, ARefusedConnection)
{
    World world;
    Peer &peer = world.addPeer();
    world.ib0().connected = true;
    world.ib0().link.mtu = 65520;
    peer.datagram = true;
    peer.datagramBytes = 4092;
    peer.largeBytes = 65520;
    for (const auto *state : {"", "NEW", "PATH", "REQ", "UP"}) {
        peer.connection = state;
        EXPECT_EQ(world.found(), Found{}) << state;
    }
    for (const auto *state : {"DATAGRAM", "RETRY", "RETRY_PATH"}) {
        peer.connection = state;
        EXPECT_EQ(world.found(), Found{"connection-refused 10.0.0.2"}) << state;
    }
    EXPECT_EQ(walk(world.facts)[4].text, "none: the peer has refused it, and datagrams go there");
    peer.large = false;
    EXPECT_EQ(world.found(), Found{"connection-refused 10.0.0.2"}) << "the cause alone";
    peer.connection.clear();
    EXPECT_EQ(diagnose(world.facts).front().what,
              "packets of 65520 octets are not answered, those of 4092 are");
    peer.connection = "DATAGRAM";
    peer.large = true;
    world.ib0().connected = false;
    EXPECT_EQ(world.found(), Found{}) << "no connection is wanted";
}

TEST(DiagnosePeer, AnotherMtu)
{
    World world;
    Peer &peer = world.addPeer();
    peer.isInPieces = true;
    EXPECT_EQ(world.found(), Found{"peer-mtu 10.0.0.2"});
    EXPECT_EQ(diagnose(world.facts).front().what, "its MTU is less than that of ib0, 4092");
    peer.cm = ENODEV;
    EXPECT_EQ(world.found(), Found{"peer 10.0.0.2"}) << "that is worse";
}

TEST(DiagnosePeer, Names)
{
    EXPECT_EQ(parsePeer("10.0.0.2")->address, (io::Bytes{10, 0, 0, 2}));
    EXPECT_EQ(parsePeer("fd00::2")->zone, "");
    EXPECT_FALSE(parsePeer("fd00::2")->isOfLink());
    EXPECT_EQ(parsePeer("fe80::2%ib0")->zone, "ib0");
    EXPECT_TRUE(parsePeer("fe80::2")->isOfLink());
    for (const auto *text : {"", "h1", "10.0.0.2/24", "10.0.0.2%ib0", "fd00::2%ib0", "fe80::2%",
                             "fe80::/64%ib0", "%ib0"})
        EXPECT_FALSE(parsePeer(text)) << text;
    World world;
    Peer &peer = world.addPeer();
    peer.address = "fe80::2";
    peer.interface.clear();
    EXPECT_EQ(diagnose(world.facts).front().cure, "name the interface: --peer fe80::2%ib0");
}

TEST(DiagnosePeer, CountersOfTheKernel)
{
    const char *const four = "Ip: Forwarding ReasmTimeout ReasmReqds\nIp: 1 0 7\n"
                             "Icmp: ReasmReqds\nIcmp: 3\n";
    EXPECT_EQ(snmpIn(four, "Ip", "ReasmReqds"), 7u);
    EXPECT_EQ(snmpIn(four, "Ip", "ReasmOKs"), 0u);
    EXPECT_EQ(snmpIn(four, "Icmp", "ReasmReqds"), 3u);
    const char *const six = "Ip6InReceives  \t12\nIp6ReasmReqds  \t34\n";
    EXPECT_EQ(snmpIn(six, "", "Ip6ReasmReqds"), 34u);
    for (const auto *text : {"", "Ip:", "Ip: ReasmReqds", "Ip: ReasmReqds\nIp: x\n"})
        EXPECT_EQ(snmpIn(text, "Ip", "ReasmReqds"), 0u) << text;
}

TEST(DiagnosePeer, ConnectionsOfOurDriver)
{
    const char *const text = "GID: fe80:0:0:0:50f8:83ff:fe85:200\n  direction: out\n"
                             "  QPN:      0x000002\n  state:    DATAGRAM\n\n"
                             "GID: fe80:0:0:0:50f8:83ff:fe85:300\n  direction: in\n"
                             "  QPN:      0x000003\n  state:    LIVE\n";
    EXPECT_EQ(connectionIn(text, gidIn("fe8000000000000050f883fffe850200")), "DATAGRAM");
    EXPECT_EQ(connectionIn(text, gidIn("fe8000000000000050f883fffe850300")), "") << "its own";
    EXPECT_EQ(connectionIn(text, gidIn("fe8000000000000050f883fffe850400")), "");
    EXPECT_EQ(connectionIn("", io::Bytes{1}), "");
}

} // namespace
} // namespace openipoib::diagnose
