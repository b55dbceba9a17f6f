// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The rules about interfaces and addresses; which interfaces are looked at.
#include "diagnose/gather.hpp"
#include "diagnose/gather_parts.hpp"
#include "diagnose_world.hpp"

#include <gtest/gtest.h>
#include <linux/if_addr.h>

#include <utility>

namespace openipoib::diagnose
{
namespace
{

using Found = std::vector<std::string>;

TEST(DiagnoseInterface, TwoManagers)
{
    World world;
    world.ib0().managers = {"NetworkManager", "systemd-networkd"};
    EXPECT_EQ(world.found(), Found{"two-managers ib0"});
    EXPECT_EQ(diagnose(world.facts).front().what,
              "NetworkManager and systemd-networkd manage it at the same time");
}

TEST(DiagnoseInterface, WhatSetsItUp)
{
    World world;
    using Setters = std::vector<std::string>;
    EXPECT_EQ(world.facts.settersOf(world.ib0()), Setters{"systemd-networkd"});
    world.ib0().managers.clear();
    world.ib0().isConfigured = true;
    world.ib0().master = "bond0";
    world.ib0().masterKind = "bond";
    world.facts.state.haRunning = true;
    EXPECT_EQ(world.facts.settersOf(world.ib0()), (Setters{"openib", "bond0"}));
    world.facts.state.haPairs = {"ib0+ib1"};
    EXPECT_EQ(world.facts.settersOf(world.ib0()), (Setters{"openib", "ipoib-ha", "bond0"}));
    EXPECT_EQ(world.found(), Found{}) << "openib and ipoib-ha leave each other what is theirs";
    world.ib0().managers = {"NetworkManager"};
    EXPECT_EQ(world.found(), Found{"note:two-managers ib0"});
}

TEST(DiagnoseInterface, Down)
{
    World world;
    world.ib0().link.flags = 0;
    EXPECT_EQ(world.found(), Found{"down ib0"});
    EXPECT_EQ(diagnose(world.facts).front().cure, "ip link set ib0 up");
    Interface child = World::interface(9, "ib0.8001", 1);
    child.pkey = 0x8001;
    child.parent = "ib0";
    child.link.flags = 0;
    world.first().pkeys.push_back(0x8001);
    world.facts.interfaces.push_back(child);
    EXPECT_EQ(world.found(), (Found{"down ib0", "down ib0.8001"}));
    EXPECT_EQ(diagnose(world.facts).back().why, "so is ib0, its parent");
}

TEST(DiagnoseInterface, ADaemonThatIsDead)
{
    World world;
    world.facts.wantsHa = true;
    EXPECT_EQ(world.found(), Found{"ha-dead ipoib-ha"});
    world.facts.state.haWrong = "systemctl: Connection timed out";
    EXPECT_EQ(world.found(), Found{}) << "it is not known";
    world.facts.state.haWrong.clear();
    world.facts.haProcess = 12;
    EXPECT_EQ(world.found(), Found{"note:ha-other ipoib-ha"});
    world.facts.state.haRunning = true;
    EXPECT_EQ(world.found(), Found{});
}

TEST(DiagnoseInterface, Bonds)
{
    World world;
    netlink::Bond bond;
    bond.mode = 4;
    world.facts.bonds["bond0"] = bond;
    EXPECT_EQ(world.found(), Found{}) << "of somebody else";
    world.facts.wantBonds = {"bond0"};
    EXPECT_EQ(world.found(), Found{"bond-mode bond0"});
    world.facts.wantBonds.clear();
    world.ib0().master = "bond0";
    world.ib0().masterKind = "bond";
    world.ib0().addresses.clear();
    EXPECT_EQ(world.found(), Found{"bond-mode bond0"});
    world.facts.bonds["bond0"].mode = 1;
    EXPECT_EQ(world.found(), Found{"bond-monitor bond0"});
    world.facts.bonds["bond0"].miimon = 100;
    EXPECT_EQ(world.found(), Found{"bond-inactive bond0"});
    world.facts.bonds["bond0"].active = 3;
    EXPECT_EQ(world.found(), Found{});
}

// A bond is an IPoIB interface, too, with the hardware address of its active slave.
TEST(DiagnoseInterface, WhatIsWrongWithASlaveIsNotSaidOfItsBond)
{
    World world;
    Interface bond = World::interface(5, "bond0", 1);
    bond.link.kind = "bond";
    bond.pkey.reset();
    bond.connected.reset();
    bond.addresses = std::exchange(world.ib0().addresses, {});
    bond.queues = 1;
    world.ib0().master = "bond0";
    world.ib0().masterKind = "bond";
    world.facts.interfaces.push_back(bond);
    world.facts.bonds["bond0"] = {};
    world.facts.bonds["bond0"].mode = 1;
    world.facts.bonds["bond0"].miimon = 100;
    world.facts.bonds["bond0"].active = 3;
    EXPECT_EQ(world.found(), Found{});
    for (auto &interface : world.facts.interfaces) {
        interface.link.flags = IFF_UP;
        interface.broadcast.record->rate = 16;
    }
    EXPECT_EQ(world.found(), Found{"group-rate ib0"});
    for (auto &interface : world.facts.interfaces)
        interface.broadcast.record->rate = 3;
    EXPECT_EQ(world.found(), Found{"no-carrier ib0"});
}

TEST(DiagnoseInterface, Stalls)
{
    World world;
    world.ib0().statistics.after["tx_timeout"] = 0;
    EXPECT_EQ(world.found(), Found{});
    world.ib0().statistics.before["tx_timeout"] = 2;
    world.ib0().statistics.after["tx_timeout"] = 2;
    EXPECT_EQ(world.found(), Found{"note:stalls ib0"}) << "they may be of last year";
    world.ib0().statistics.after["tx_timeout"] = 3;
    EXPECT_EQ(world.found(), Found{"stalls ib0"});
    EXPECT_EQ(diagnose(world.facts).front().what,
              "its transmit queues have stalled 3 times, 1 of them just now");
}

// Makes a counter grow.
void grow(Counted &counters, const std::string &name, std::uint64_t by)
{
    counters.before[name] = 5;
    counters.after[name] = 5 + by;
}

TEST(DiagnoseInterface, Drops)
{
    World world;
    auto &statistics = world.ib0().statistics;
    grow(statistics, "tx_dropped", 0);
    grow(statistics, "tx_packets", 0);
    EXPECT_EQ(world.found(), Found{});
    grow(statistics, "tx_dropped", 9);
    EXPECT_EQ(world.found(), Found{}) << "a few are lost anywhere";
    grow(statistics, "tx_dropped", 10);
    EXPECT_EQ(world.found(), Found{"packets-dropped ib0"});
    EXPECT_EQ(diagnose(world.facts).front().what, "it drops packets");
    grow(statistics, "tx_packets", 990);
    EXPECT_EQ(world.found(), Found{"packets-dropped ib0"});
    grow(statistics, "tx_packets", 991);
    EXPECT_EQ(world.found(), Found{"note:packets-dropped ib0"}) << "less than one of a hundred";
    grow(world.ib0().reasons, "tx_too_long", 10);
    grow(world.ib0().reasons, "path_queries", 3);
    EXPECT_EQ(diagnose(world.facts).front().what, "it drops packets: tx_too_long by 10");
    world.first().pkeys = {0x7FFF};
    EXPECT_EQ(world.found(), Found{"partition-limited ib0"}) << "it follows from that";
}

// What has nothing to do with each other is said, both.
TEST(DiagnoseInterface, SeveralCauses)
{
    World world;
    world.ib0().managers = {"NetworkManager", "ifupdown"};
    grow(world.ib0().statistics, "tx_dropped", 10);
    world.ib0().bindings = {{"10.0.0.1", ENODEV, ""}};
    EXPECT_EQ(world.found(), (Found{"two-managers ib0", "packets-dropped ib0", "rdma-cm ib0"}));
    world.ib0().link.flags = IFF_UP;
    world.ib0().bindings.clear();
    world.ib0().statistics.after["tx_dropped"] = 5;
    EXPECT_EQ(world.found(), (Found{"two-managers ib0", "no-carrier ib0"}));
    grow(world.first().counters, "symbol_error", 1);
    world.first().manager.administration.reply = Reply::silent;
    EXPECT_EQ(world.found(), (Found{"link-errors mlx5_0 port 1", "manager-silent mlx5_0 port 1",
                                    "two-managers ib0"}));
}

TEST(DiagnoseInterface, AFirewall)
{
    World world;
    world.facts.drops = {{"eth0", "", "inet filter input"}};
    EXPECT_EQ(world.found(), Found{}) << "of another interface";
    world.facts.drops = {{"", "10.0.0.2", "inet filter input"}};
    EXPECT_EQ(world.found(), Found{}) << "of another host than is asked about";
    world.addPeer();
    EXPECT_EQ(world.found(), Found{"firewall ib0"});
    world.facts.drops = {{"ib0", "", "inet filter input"}};
    EXPECT_EQ(world.found(), Found{"firewall ib0"});
    EXPECT_EQ(diagnose(world.facts).front().what, "a firewall drops its packets");
    world.facts.drops = {{.chain = "ip filter INPUT", .isPolicy = true}};
    EXPECT_EQ(diagnose(world.facts).front().cure, "nft chain ip filter INPUT '{ policy accept; }'");
    world.facts.drops = {{.chain = "raw OUTPUT", .program = "iptables-legacy", .isPolicy = true}};
    EXPECT_EQ(diagnose(world.facts).front().cure, "iptables-legacy -t raw -P OUTPUT ACCEPT");
    world.facts.drops[0].isPolicy = false;
    EXPECT_EQ(diagnose(world.facts).front().why,
              "a rule of the chain \"raw OUTPUT\" drops them all, of iptables-legacy");
}

TEST(DiagnoseInterface, AFirewallOfOneFamily)
{
    World world;
    world.facts.drops = {{.chain = "ip6 filter input", .family = "ipv6", .isPolicy = true}};
    EXPECT_EQ(world.found(), Found{}) << "it has no IPv6 address";
    world.ib0().addresses.push_back(World::address(3, "fe80::1/64"));
    world.ib0().addresses.back().scope = RT_SCOPE_LINK;
    EXPECT_EQ(world.found(), Found{}) << "but that of the kernel";
    world.addPeer().address = "fe80::2%ib0";
    EXPECT_EQ(world.found(), Found{"firewall ib0"});
    world.facts.peer.reset();
    world.ib0().addresses.push_back(World::address(3, "fd00::1/64"));
    EXPECT_EQ(world.found(), Found{"firewall ib0"});
    EXPECT_EQ(diagnose(world.facts).front().what, "a firewall drops its IPv6 packets");
    world.facts.drops[0].family = "ipv4";
    EXPECT_EQ(diagnose(world.facts).front().what, "a firewall drops its IPv4 packets");
    world.ib0().addresses.erase(world.ib0().addresses.begin());
    EXPECT_EQ(world.found(), Found{});
}

TEST(DiagnoseInterface, NoAddress)
{
    World world;
    world.ib0().managers.clear();
    world.ib0().addresses = {World::address(3, "fe80::1/64")};
    world.ib0().addresses[0].scope = RT_SCOPE_LINK;
    EXPECT_EQ(world.found(), Found{"note:no-address ib0"});
    world.facts.wanted = "ib0";
    EXPECT_EQ(world.found(), Found{"no-address ib0"});
    world.ib0().hasChildren = true;
    EXPECT_EQ(world.found(), Found{}) << "they have them";
    world.ib0().hasChildren = false;
    world.facts.state.haRunning = true;
    EXPECT_EQ(world.found(), Found{}) << "it is not known which interfaces ipoib-ha has";
    world.facts.state.haPairs = {"ib00+ib1"};
    EXPECT_EQ(world.found(), Found{"no-address ib0"});
    world.facts.state.haPairs = {"ib2+ib1:ib0"};
    EXPECT_EQ(world.found(), Found{});
}

TEST(DiagnoseInterface, AnAddressThatAnotherHostHas)
{
    World world;
    world.ib0().addresses[0].flags = IFA_F_DADFAILED;
    EXPECT_EQ(world.found(), Found{"address-duplicate ib0"});
    world.ib0().addresses[0].flags = 0;
    world.ib0().duplicates = {"10.0.0.1"};
    EXPECT_EQ(world.found(), Found{"address-duplicate ib0"});
}

TEST(DiagnoseInterface, WhoAnswersForAnAddress)
{
    World world;
    const io::Bytes own{10, 0, 0, 1};
    world.facts.hardware = {World::hardware(World::guid), World::hardware(World::guid + 1)};
    noteReply(3, own, World::hardware(World::guid + 1, ib::defaultPrefix, 0), world.facts);
    EXPECT_EQ(world.found(), Found{}) << "another port of this host, whatever its flags";
    noteReply(3, io::Bytes{10, 0, 0, 2}, World::hardware(7), world.facts);
    noteReply(4, own, World::hardware(7), world.facts);
    noteReply(3, own, {}, world.facts);
    EXPECT_EQ(world.found(), Found{});
    noteReply(3, own, World::hardware(7), world.facts);
    noteReply(3, own, World::hardware(8), world.facts);
    EXPECT_EQ(world.found(), Found{"address-duplicate ib0"});
}

TEST(DiagnoseInterface, AnAddressThatEthernetHas)
{
    World world;
    world.facts.otherAddresses = {World::address(2, "10.0.0.7/24")};
    EXPECT_EQ(world.found(), Found{"address-elsewhere ib0"});
    EXPECT_EQ(diagnose(world.facts).front().what,
              "eth0 has an address of its subnet, 10.0.0.7/24, too");
    EXPECT_EQ(diagnose(world.facts).front().cure.find("del"), std::string::npos)
        << "the machine may be reached by it";
    world.facts.others[0].flags = 0;
    EXPECT_EQ(world.found(), Found{}) << "it is down, and another address";
    world.facts.otherAddresses = {World::address(2, "10.0.0.1/32")};
    EXPECT_EQ(world.found(), Found{"address-elsewhere ib0"});
    netlink::Link red;
    red.index = 7;
    red.name = "red";
    red.kind = "vrf";
    world.facts.others.push_back(red);
    world.facts.others[0].master = 7;
    EXPECT_EQ(world.found(), Found{}) << "in another VRF";
    world.facts.others[0].master = 0;
    EXPECT_EQ(world.found(), Found{"address-elsewhere ib0"});
    world.facts.otherAddresses = {World::address(2, "10.0.1.7/24")};
    EXPECT_EQ(world.found(), Found{});
}

TEST(DiagnoseInterface, ArpFlux)
{
    World world;
    world.addSecond();
    EXPECT_EQ(world.found(), Found{"arp-flux ib0"});
    for (auto &interface : world.facts.interfaces)
        interface.arpFilter = 1;
    EXPECT_EQ(world.found(), Found{});
    for (auto &interface : world.facts.interfaces)
        interface.arpFilter = 0;
    world.facts.ports[1].manager.guid = 2;
    EXPECT_EQ(world.found(), Found{}) << "another subnet";
    world.facts.ports[1].manager.guid = 1;
    world.facts.interfaces[1].link.broadcast = World::broadcast(0x8001);
    EXPECT_EQ(world.found(), Found{}) << "another partition";
}

TEST(DiagnoseInterface, NeighbourTable)
{
    World world;
    world.facts.tables[0].entries = 921;
    EXPECT_EQ(world.found(), Found{});
    world.facts.tables[0].entries = 922;
    EXPECT_EQ(world.found(), Found{"note:neighbour-limit ipv4"});
    EXPECT_EQ(diagnose(world.facts).front().what,
              "the table of neighbours is nearly full: 922 entries, gc_thresh3 is 1024");
    world.facts.tables[0].entries = 1024;
    EXPECT_EQ(world.found(), Found{"neighbour-limit ipv4"});
    world.facts.tables[0].entries = 0;
    world.facts.tables[0].most = 0;
    EXPECT_EQ(world.found(), Found{}) << "it cannot be read here";
    world.facts.tables[1].counters.before["table_fulls"] = 1;
    world.facts.tables[1].counters.after["table_fulls"] = 2;
    EXPECT_EQ(world.found(), Found{"neighbour-limit ipv6"});
}

TEST(DiagnoseInterface, NeighbourTableBesideTheSubnet)
{
    World world;
    world.first().lids = 1024;
    EXPECT_EQ(world.found(), Found{});
    world.first().lids = 1025;
    EXPECT_EQ(world.found(), (Found{"note:neighbour-room ipv4", "note:neighbour-room ipv6"}));
    EXPECT_EQ(diagnose(world.facts).front().cure,
              "sysctl -w net.ipv4.neigh.default.gc_thresh3=4096 "
              "net.ipv4.neigh.default.gc_thresh2=2048");
    world.facts.tables[1].most = 0;
    world.facts.tables[0].entries = 1024;
    EXPECT_EQ(world.found(), Found{"neighbour-limit ipv4"}) << "it is full already";
    world.facts.tables[0].most = 8192;
    EXPECT_EQ(world.found(), Found{});
    world.first().lids = 16384;
    world.first().lmc = 1;
    EXPECT_EQ(world.found(), Found{}) << "two LIDs for each port";
    world.first().lids.reset();
    world.facts.tables[0].most = 1;
    world.facts.tables[0].entries = 0;
    EXPECT_EQ(world.found(), Found{}) << "how many there are is not known";
}

TEST(DiagnoseInterface, Vrf)
{
    World world;
    world.ib0().master = "red";
    world.ib0().masterKind = "vrf";
    EXPECT_EQ(world.found(), Found{"note:vrf ib0"});
    world.facts.isOurs = false;
    EXPECT_EQ(world.found(), Found{"vrf ib0"});
    world.facts.kernel = {6, 18};
    EXPECT_EQ(world.found(), Found{"note:vrf ib0"});
}

TEST(DiagnoseInterface, RdmaCm)
{
    World world;
    world.ib0().bindings = {{"10.0.0.1", ENODEV, ""}};
    EXPECT_EQ(world.found(), Found{"rdma-cm ib0"});
    EXPECT_EQ(diagnose(world.facts).front().why, "to bind to it: No such device");
    world.ib0().bindings = {{"10.0.0.1", 0, "mlx5_1"}};
    EXPECT_EQ(diagnose(world.facts).front().why, "it finds mlx5_1, and not mlx5_0");
}

TEST(DiagnoseInterface, WhatCouldBeFaster)
{
    World world;
    world.ib0().queues = 1;
    EXPECT_EQ(world.found(), Found{"note:queues ib0"});
    world.first().vectors = 2;
    EXPECT_EQ(world.found(), Found{"note:queues ib0"});
    world.first().vectors = 1;
    EXPECT_EQ(world.found(), Found{}) << "more of them would be no gain";
    world.ib0().queues = 2;
    world.ib0().link.address = World::hardware(World::guid, ib::defaultPrefix, 0);
    EXPECT_EQ(world.found(), Found{"note:accelerated ib0"});
    world.facts.isOurs = false;
    EXPECT_EQ(world.found(), Found{}) << "in-tree, it may be built without connected mode";
    world.ib0().features = {
        {"rx-gro", true, true}, {"rx-checksum", false, false}, {"x", true, false}};
    EXPECT_EQ(world.found(), Found{});
    world.ib0().features[0].active = false;
    EXPECT_EQ(world.found(), Found{"note:offloads ib0"});
    EXPECT_EQ(diagnose(world.facts).front().cure, "ethtool -K ib0 rx-gro on");
}

TEST(DiagnoseInterface, InterruptsAtOneProcessor)
{
    World world;
    auto &all = world.facts.interrupts["mlx5_0"];
    all = {{30, "mlx5_async0@pci:1", "1", 9},
           {31, "mlx5_comp0@pci:1", "1", 9},
           {32, "mlx5_comp1@pci:1", "1", 0}};
    EXPECT_EQ(world.found(), Found{}) << "one is in use";
    all[2].count = 1;
    EXPECT_EQ(world.found(), Found{"note:interrupts mlx5_0"});
    EXPECT_EQ(diagnose(world.facts).front().what,
              "2 interrupts of completions go to processor 1, all of them");
    all[2].processors = "0";
    EXPECT_EQ(world.found(), Found{});
    all[1].processors = all[2].processors = "0-1";
    EXPECT_EQ(world.found(), Found{});
    all[1].processors = all[2].processors = "";
    EXPECT_EQ(world.found(), Found{}) << "it is not known";
    all[1].processors = all[2].processors = "0";
    world.facts.processors = 1;
    world.ib0().queues = 1;
    EXPECT_EQ(world.found(), Found{}) << "there is one";
}

// Whatever is found, causes come first, and notes last.
TEST(DiagnoseInterface, InTheOrderOfCauses)
{
    World world;
    world.ib0().link.mtu = 2044;
    world.ib0().bindings = {{"10.0.0.1", ENODEV, ""}};
    world.ib0().managers = {"NetworkManager", "ifupdown"};
    world.facts.drops = {{"ib0", "", "ip filter INPUT"}};
    world.first().pkeys = {0x7FFF};
    world.first().counters.before["link_downed"] = 0;
    world.first().counters.after["link_downed"] = 1;
    world.facts.stale = {{"ib_ipoib", {}, {}}};
    EXPECT_EQ(world.found(), (Found{"driver-stale ib_ipoib", "link-errors mlx5_0 port 1",
                                    "partition-limited ib0", "two-managers ib0", "firewall ib0",
                                    "rdma-cm ib0", "note:mtu-below-group ib0"}));
}

Found namesOf(const std::vector<Interface> &interfaces)
{
    Found names;
    for (const auto &one : interfaces)
        names.push_back(one.name());
    return names;
}

TEST(DiagnoseSubjects, ThoseInUseOrTheOneThatIsWanted)
{
    std::vector<Interface> all{World::interface(3, "ib0", 1), World::interface(4, "ib1", 2),
                               World::interface(5, "ib1.8001", 2)};
    all[2].parent = "ib1";
    all[1].link.flags = all[2].link.flags = 0;
    EXPECT_EQ(namesOf(subjectsOf(all, "")), Found{"ib0"});
    EXPECT_EQ(namesOf(subjectsOf(all, "ib1")), Found{"ib1"});
    EXPECT_EQ(namesOf(subjectsOf(all, "ib1.8001")), (Found{"ib1", "ib1.8001"}));
    EXPECT_EQ(namesOf(subjectsOf(all, "eth0")), Found{});
    all[1].addresses = {World::address(4, "10.0.1.1/24")};
    EXPECT_EQ(namesOf(subjectsOf(all, "")), (Found{"ib0", "ib1"}));
    all[1].addresses.clear();
    all[0].link.flags = 0;
    EXPECT_EQ(subjectsOf(all, "").size(), 3u) << "none is in use";
    all[0].master = all[1].master = "bond0";
    EXPECT_EQ(namesOf(subjectsOf(all, "bond0")), (Found{"ib0", "ib1"}));
    all.push_back(World::interface(6, "bond0", 1));
    EXPECT_EQ(namesOf(subjectsOf(all, "ib0")), (Found{"ib0", "bond0"})) << "routes are by that";
}

} // namespace
} // namespace openipoib::diagnose
