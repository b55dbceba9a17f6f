// SPDX-License-Identifier: GPL-2.0-only OR MIT
// For each rule from the adapter to the broadcast group what makes it speak; a healthy host makes
// none.
#include "diagnose/fabric.hpp"
#include "diagnose/report.hpp"
#include "diagnose_world.hpp"

#include <gtest/gtest.h>
#include <linux/if_addr.h>

namespace openipoib::diagnose
{
namespace
{

using Found = std::vector<std::string>;

TEST(DiagnoseRules, AHealthyHostIsHealthy)
{
    World world;
    EXPECT_EQ(world.found(), Found{});
    world.addPeer();
    EXPECT_EQ(world.found(), Found{});
    world.addSecond().arpIgnore = 1;
    world.ib0().arpIgnore = 1;
    EXPECT_EQ(world.found(), Found{});
}

TEST(DiagnoseRules, WhatCannotBeLookedAtIsNotWrong)
{
    World world;
    world.first().info.reset();
    world.first().asked = {};
    world.first().far.reset();
    world.first().mtu.reset();
    world.first().manager = {};
    world.first().lidOwner.reset();
    world.ib0().broadcast = {};
    world.ib0().allNodes = {};
    world.ib0().bindings.clear();
    EXPECT_EQ(world.found(), Found{});
}

TEST(DiagnoseRules, AMachineWithoutAnythingHasNothingToLookAt)
{
    Facts facts;
    facts.state.hardware = facts.state.adapters = {"iwlwifi"};
    EXPECT_TRUE(diagnose(facts).empty());
    EXPECT_EQ(verdictOf(facts, {}), Verdict::nothing);
    facts.state.hardware.insert("mlx5_core");
    EXPECT_TRUE(diagnose(facts).empty()) << "for Ethernet";
}

TEST(DiagnoseRules, AdapterWithoutItsDriver)
{
    World world;
    world.facts.state.hcas.clear();
    world.facts.state.modules.erase("mlx5_ib");
    world.facts.ports.clear();
    world.facts.interfaces.clear();
    EXPECT_EQ(world.found(), Found{"adapter-driver mlx5_core"});
    EXPECT_EQ(diagnose(world.facts).front().what, "the module mlx5_ib is not loaded");
    world.facts.state.modules.erase("mlx5_core");
    EXPECT_EQ(diagnose(world.facts).front().what, "the module mlx5_core is not loaded");
}

TEST(DiagnoseRules, AdapterWhoseDriverHasMadeNoDevice)
{
    World world;
    world.facts.state.hcas.clear();
    world.facts.ports.clear();
    world.facts.interfaces.clear();
    EXPECT_EQ(world.found(), Found{"adapter-device mlx5_core"});
    // A module for Ethernet would not help.
    world.facts.state.adapters = {"mlx4_core"};
    world.facts.state.modules = {{"mlx4_core", {}}, {"mlx4_ib", {}}};
    EXPECT_EQ(world.found(), Found{"adapter-device mlx4_core"});
}

TEST(DiagnoseRules, NoMachineWithoutAnInterfaceIsHealthy)
{
    World world;
    world.facts.interfaces.clear();
    EXPECT_EQ(verdictOf(world.facts, {}), Verdict::nothing);
}

TEST(DiagnoseRules, PortsOfEthernet)
{
    World world;
    for (auto &port : world.facts.state.hcas[0].ports)
        port.layer = "Ethernet";
    world.facts.ports.clear();
    world.facts.interfaces.clear();
    world.facts.state.adapters.clear();
    EXPECT_EQ(world.found(),
              (Found{"note:link-layer mlx5_0 port 1", "note:link-layer mlx5_0 port 2"}));
    EXPECT_EQ(verdictOf(world.facts, diagnose(world.facts)), Verdict::nothing)
        << "RDMA over Ethernet is not our business";
    world.facts.wanted = "ib0";
    EXPECT_EQ(world.found(), (Found{"link-layer mlx5_0 port 1", "link-layer mlx5_0 port 2",
                                    "interface-missing ib0"}));
}

TEST(DiagnoseRules, DriverThatIsNotLoaded)
{
    World world;
    world.facts.interfaces.clear();
    world.facts.state.modules.erase("ib_ipoib");
    EXPECT_EQ(world.found(), Found{"driver-missing ib_ipoib"});
    EXPECT_EQ(diagnose(world.facts).front().cure, "modprobe ib_ipoib, or openib start");
    world.facts.state.available.clear();
    EXPECT_EQ(diagnose(world.facts).front().why, "it is not installed for this kernel");
    world.facts.hardware = {World::hardware(World::guid)};
    EXPECT_EQ(world.found(), Found{}) << "there is an interface";
}

TEST(DiagnoseRules, AnotherDriverIsLoadedThanIsInstalled)
{
    World world;
    world.facts.stale = {
        {"ib_ipoib", {"", "AB12"}, {"/lib/modules/x/ib_ipoib.ko", {"0.1.0", "CD"}}}};
    EXPECT_EQ(world.found(), Found{"driver-stale ib_ipoib"});
    EXPECT_EQ(diagnose(world.facts).front().why,
              "loaded is AB12, /lib/modules/x/ib_ipoib.ko is 0.1.0 (CD)");
}

TEST(DiagnoseRules, AConfigurationWithAnError)
{
    World world;
    world.facts.broken = "/etc/infiniband/openib.conf";
    EXPECT_EQ(world.found(), Found{"configuration /etc/infiniband/openib.conf"});
}

TEST(DiagnoseRules, AnInterfaceThatIsNotHere)
{
    World world;
    world.facts.wanted = "ib5";
    world.facts.interfaces.clear();
    EXPECT_EQ(world.found(), Found{"interface-missing ib5"});
    EXPECT_EQ(diagnose(world.facts).front().what, "there is no interface of that name");
    world.facts.elsewhere = "blue";
    EXPECT_EQ(diagnose(world.facts).front().what, "it is in the network namespace blue");
    world.facts.wanted = "eth0";
    EXPECT_EQ(diagnose(world.facts).front().what, "it is no IPoIB interface");
}

TEST(DiagnoseRules, APortWhoseInterfaceIsElsewhere)
{
    World world;
    world.facts.interfaces.clear();
    EXPECT_EQ(world.found(), Found{"port-without-interface mlx5_0 port 1"});
    world.facts.elsewhere = "blue";
    EXPECT_EQ(diagnose(world.facts).front().why, "the network namespace blue has one");
}

// A cause comes alone: what follows from it is not said.
TEST(DiagnoseRules, APortThatIsDown)
{
    World world;
    world.first().shown.state = "DOWN";
    world.ib0().link.flags = IFF_UP;
    for (const auto *physical : {"Polling", "Disabled", "Sleep", "LinkErrorRecovery"}) {
        world.first().shown.physical = physical;
        EXPECT_EQ(world.found(), Found{"port-physical mlx5_0 port 1"}) << physical;
    }
}

TEST(DiagnoseRules, APortThatNobodySetsUp)
{
    World world;
    world.ib0().link.flags = IFF_UP;
    for (const auto *state : {"INIT", "ARMED"}) {
        world.first().shown.state = state;
        EXPECT_EQ(world.found(), Found{"port-state mlx5_0 port 1"}) << state;
    }
}

TEST(DiagnoseRules, AManagementKeyThatNobodyHas)
{
    World world;
    world.first().info->mkey = 5;
    EXPECT_EQ(world.found(), Found{}) << "a subnet manager may have it while the port is ACTIVE";
    world.ib0().link.flags = IFF_UP;
    world.first().shown.state = "INIT";
    EXPECT_EQ(world.found(), Found{"management-key mlx5_0 port 1"});
    world.first().info->mkey = 0;
    world.first().info->mkeyProtection = 1;
    EXPECT_EQ(world.found(), Found{"management-key mlx5_0 port 1"}) << "it is hidden";
    world.first().info.reset();
    world.first().asked.reply = Reply::silent;
    EXPECT_EQ(world.found(), Found{"management-key mlx5_0 port 1"});
}

TEST(DiagnoseRules, ALinkThatCouldDoMore)
{
    World world;
    world.first().info->widthActive = 1;
    EXPECT_EQ(world.found(), Found{"link-degraded mlx5_0 port 1"});
    world.first().far->info->widthEnabled = 1;
    EXPECT_EQ(world.found(), Found{}) << "the other end cannot";
    world.first().info->speedActive = 1;
    EXPECT_EQ(world.found(), Found{"link-degraded mlx5_0 port 1"});
}

TEST(DiagnoseRules, ACableWithErrors)
{
    for (const bool isFar : {false, true}) {
        World world;
        Counted &counters = isFar ? world.first().far->counters : world.first().counters;
        counters.before["symbol_error"] = 7;
        counters.after["symbol_error"] = 7;
        EXPECT_EQ(world.found(), Found{}) << "they are of long ago";
        counters.after["symbol_error"] = 9;
        EXPECT_EQ(world.found(), Found{"link-errors mlx5_0 port 1"});
        EXPECT_NE(diagnose(world.facts).front().why.find("symbol_error by 2"), std::string::npos);
    }
}

TEST(DiagnoseRules, APortThatDiscards)
{
    World world;
    world.first().counters.before["port_xmit_discards"] = 0;
    world.first().counters.after["port_xmit_discards"] = 1;
    EXPECT_EQ(world.found(), Found{"note:link-discards mlx5_0 port 1"});
    world.first().counters.after["port_xmit_discards"] = 10;
    EXPECT_EQ(world.found(), Found{"link-discards mlx5_0 port 1"});
}

TEST(DiagnoseRules, NoSubnetManager)
{
    World world;
    world.first().smLid = 0;
    EXPECT_EQ(world.found(), Found{"manager-missing mlx5_0 port 1"});
}

TEST(DiagnoseRules, ASubnetManagerThatDoesNotAnswer)
{
    World world;
    world.first().manager.administration.reply = Reply::silent;
    EXPECT_EQ(world.found(), Found{"manager-silent mlx5_0 port 1"});
    world.first().manager.administration = {.reply = Reply::refused, .status = 0xC};
    EXPECT_EQ(world.found(), Found{"manager-silent mlx5_0 port 1"});
    EXPECT_EQ(diagnose(world.facts).front().what, "no subnet manager answers at LID 1");
    world.first().manager.administration.status = 1;
    EXPECT_EQ(world.found(), Found{}) << "it is busy";
}

TEST(DiagnoseRules, TwoPortsWithOneLid)
{
    World world;
    world.first().lidOwner->portGuid = 1;
    world.first().lidOwner->description = "other";
    world.first().knownLid = 9;
    EXPECT_EQ(world.found(), Found{"lid-conflict mlx5_0 port 1"});
    EXPECT_EQ(diagnose(world.facts).front().what, "its LID 2 is that of other, too");
    // Nobody but the other end of the cable is reached.
    world.first().lidOwner.reset();
    world.first().manager.administration.reply = Reply::silent;
    world.first().far->info->lid = 2;
    EXPECT_EQ(world.found(), Found{"lid-conflict mlx5_0 port 1"});
}

TEST(DiagnoseRules, AVirtualFunctionHasTheLidOfItsAdapter)
{
    World world;
    world.first().lidOwner->portGuid = 1;
    world.first().lidOwner->description = "node1 mlx5_0";
    EXPECT_EQ(world.found(), Found{}) << "where the SA has its GID is not known";
    world.first().knownLid = 2;
    EXPECT_EQ(world.found(), Found{});
    world.first().knownLid = 3;
    world.first().lmc = 1;
    EXPECT_EQ(world.found(), Found{}) << "another LID of the same port";
    world.first().lmc = 0;
    EXPECT_EQ(world.found(), Found{"lid-conflict mlx5_0 port 1"});
}

TEST(DiagnoseRules, HowTheSubnetManagerIsReached)
{
    World world;
    world.first().smSl = 3;
    EXPECT_EQ(administrationOf(world.first()).lid, 1);
    EXPECT_EQ(administrationOf(world.first()).sl, 3);
    EXPECT_FALSE(administrationOf(world.first()).gid);
    world.first().needsGrh = true;
    EXPECT_EQ(administrationOf(world.first()).gid,
              ib::makeGid(ib::defaultPrefix, 0x0200'0000'0000'0002));
}

TEST(DiagnoseRules, AnotherSubnetPrefix)
{
    World world;
    constexpr std::uint64_t other = 0xFEC0'0000'0000'0000;
    world.ib0().link.address = World::hardware(World::guid, other);
    EXPECT_EQ(world.found(), Found{"subnet-prefix ib0"});
    world.ib0().link.address = World::hardware(World::guid);
    netlink::Neighbour neighbour{.index = 3,
                                 .family = AF_INET,
                                 .state = NUD_REACHABLE,
                                 .address = {10, 0, 0, 2},
                                 .hardware = World::hardware(7)};
    world.facts.neighbours = {neighbour};
    EXPECT_EQ(world.found(), Found{});
    world.facts.neighbours[0].hardware = World::hardware(7, other);
    EXPECT_EQ(world.found(), Found{"neighbour-prefix ib0"});
    world.facts.neighbours[0].state = NUD_FAILED;
    EXPECT_EQ(world.found(), Found{});
}

TEST(DiagnoseRules, APartitionThatThePortIsNotIn)
{
    World world;
    world.ib0().pkey = 0x8001;
    world.ib0().link.flags = IFF_UP;
    world.ib0().broadcast.record.reset();
    world.ib0().broadcast.asked = {.reply = Reply::refused, .status = ib::saNoRecords};
    EXPECT_EQ(world.found(), Found{"partition-missing ib0"});
    EXPECT_EQ(diagnose(world.facts).front().what,
              "its P_Key 0x8001 is not in the table of mlx5_0 port 1");
}

TEST(DiagnoseRules, LimitedMembership)
{
    World world;
    world.first().pkeys = {0x7FFF};
    EXPECT_EQ(world.found(), Found{"partition-limited ib0"});
    world.first().pkeys = {0x7FFF, 0xFFFF};
    EXPECT_EQ(world.found(), Found{}) << "it is a full one as well";
}

TEST(DiagnoseRules, PacketsOfAnotherPartition)
{
    World world;
    world.first().counters.before["bad_pkey"] = 1;
    world.first().counters.after["bad_pkey"] = 3;
    EXPECT_EQ(world.found(), Found{"note:partition-violations mlx5_0 port 1"});
    world.first().counters.after["bad_pkey"] = 11;
    EXPECT_EQ(world.found(), Found{"partition-violations mlx5_0 port 1"});
}

TEST(DiagnoseRules, WhichGroupABroadcastAddressNames)
{
    World world;
    EXPECT_EQ(world.ib0().mgid(), ib::makeIpoibMgid(ib::ipoibIpv4, 0xFFFF, 0xFFFFFFFF));
    world.ib0().link.broadcast = World::broadcast(0x8001);
    EXPECT_EQ(world.ib0().partition(), 0xFFFF);
    world.ib0().pkey.reset();
    EXPECT_EQ(world.ib0().partition(), 0x8001) << "of a bond";
    for (const std::size_t octets : {0U, 3U, 6U, 19U, 21U, 32U}) {
        world.ib0().link.broadcast.resize(octets);
        EXPECT_FALSE(world.ib0().mgid()) << octets;
    }
}

TEST(DiagnoseRules, NoBroadcastGroup)
{
    World world;
    world.ib0().link.flags = IFF_UP;
    world.ib0().broadcast.record.reset();
    world.ib0().broadcast.asked = {.reply = Reply::refused, .status = ib::saNoRecords};
    EXPECT_EQ(world.found(), Found{"group-missing ib0"});
    world.ib0().broadcast.asked.status = 1;
    EXPECT_EQ(world.found(), Found{"no-carrier ib0"}) << "refused for another reason";
}

TEST(DiagnoseRules, AGroupThatIsFasterThanThePort)
{
    World world;
    world.ib0().link.flags = IFF_UP;
    world.ib0().broadcast.record->rate = 16; // 100 Gb/s
    EXPECT_EQ(world.found(), Found{"group-rate ib0"});
    world.ib0().link.flags |= IFF_LOWER_UP;
    world.first().shown.rate = "100 Gb/sec (4X EDR)";
    EXPECT_EQ(world.found(), Found{}) << "103.125, which sysfs says to be 100";
    world.ib0().broadcast.record->rate = 17;
    EXPECT_EQ(world.found(), Found{"group-rate ib0"});
    EXPECT_EQ(diagnose(world.facts).front().what,
              "the rate of its broadcast group, 200 Gb/s, is more than that of mlx5_0 port 1, "
              "100 Gb/s");
}

TEST(DiagnoseRules, AGroupWithLongerPacketsThanThePort)
{
    World world;
    world.ib0().link.flags = IFF_UP;
    world.first().mtu = 2048;
    EXPECT_EQ(world.found(), Found{"group-mtu ib0"});
    world.ib0().broadcast.record->mtu = 4;
    EXPECT_EQ(world.found(), Found{"no-carrier ib0"});
    world.first().mtu = 0;
    EXPECT_EQ(world.found(), Found{"no-carrier ib0"}) << "it has no MTU, as far as is known";
}

TEST(DiagnoseRules, AServiceLevelWithoutALane)
{
    World world;
    world.ib0().broadcast.record->sl = 3;
    EXPECT_EQ(world.found(), Found{});
    world.first().lanes->at(3) = 15;
    EXPECT_EQ(world.found(), Found{"group-lane ib0"}) << "that of management";
    world.first().lanes->at(3) = 8;
    EXPECT_EQ(world.found(), Found{"group-lane ib0"}) << "there are eight";
    world.first().info->lanes = 1;
    EXPECT_EQ(world.found(), Found{}) << "there is one, whatever the table says";
    world.first().info->lanes = 5;
    EXPECT_EQ(world.found(), Found{}) << "there are fifteen";
    world.first().info->lanes = 4;
    world.first().lanes.reset();
    EXPECT_EQ(world.found(), Found{}) << "it is not known";
}

TEST(DiagnoseRules, AnotherQKey)
{
    World world;
    world.ib0().broadcast.record->qkey = 0xB1C;
    EXPECT_EQ(world.found(), Found{"group-key ib0"});
    world.ib0().broadcast.record->qkey = 0xB1B;
    world.first().counters.before["qkey_violations"] = 0;
    world.first().counters.after["qkey_violations"] = 2;
    EXPECT_EQ(world.found(), Found{"note:key-violations mlx5_0 port 1"});
    world.first().counters.after["qkey_violations"] = 10;
    EXPECT_EQ(world.found(), Found{"key-violations mlx5_0 port 1"});
}

TEST(DiagnoseRules, NoGroupForIpv6)
{
    World world;
    world.ib0().allNodes.record.reset();
    world.ib0().allNodes.asked = {.reply = Reply::refused, .status = ib::saNoRecords};
    EXPECT_EQ(world.found(), Found{}) << "IPv6 is not in use";
    world.ib0().addresses.push_back(World::address(3, "fe80::1/64"));
    EXPECT_EQ(world.found(), Found{"group-ipv6 ib0"});
    world.ib0().addresses.back().flags = IFA_F_TENTATIVE;
    EXPECT_EQ(world.found(), Found{}) << "it may be joining just now";
}

TEST(DiagnoseRules, NoCarrier)
{
    World world;
    world.ib0().link.flags = IFF_UP;
    EXPECT_EQ(world.found(), Found{"no-carrier ib0"});
}

TEST(DiagnoseRules, AnMtuBelowThatOfTheGroup)
{
    World world;
    world.ib0().link.mtu = 2044;
    EXPECT_EQ(world.found(), Found{"note:mtu-below-group ib0"});
    world.ib0().connected = true;
    EXPECT_EQ(world.found(), Found{}) << "it is that of connected mode";
    world.ib0().connected = false;
    world.ib0().broadcast.record->mtu = 0;
    EXPECT_EQ(world.found(), Found{}) << "no code of an MTU";
}

} // namespace
} // namespace openipoib::diagnose
