// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Emulated IPoIB peers: joining groups, and what is answered and dropped.
#include "peer_world.hpp"

namespace openipoib::fabric
{
namespace
{

using PeerJoinTest = PeerWorld;
using PeerAnswerTest = PeerWorld;
using PeerDropTest = PeerWorld;

constexpr std::uint32_t qpn = Addresses::firstQpn;

TEST(AddressRangeTest, IsReadAndWritten)
{
    for (const char *text :
         {"10.0.0.1", "10.0.0.1-10.0.39.16", "fd00::1", "fd00::1-fd00::1:0", "fe80::5"})
        EXPECT_EQ(AddressRange::parse(text).value_or(AddressRange{}).text(), text);
    EXPECT_EQ(AddressRange::parse("10.0.0.1-10.0.39.16")->count(), 10000U);
    EXPECT_EQ(AddressRange::parse("10.0.0.255-10.0.1.0")->address(1), (io::Bytes{10, 0, 1, 0}));
}

TEST(AddressRangeTest, WhatIsNoneIsRefused)
{
    for (const char *text : {"", "-", "10.0.0", "10.0.0.1-", "10.0.0.1/24", "10.0.0.2-10.0.0.1",
                             "10.0.0.1-fd00::1", "fd00::1-fd00:1::1", "224.0.0.1", "0.0.0.0",
                             "::", "ff02::1", "10.0.0.1-10.0.0.2-10.0.0.3", "10.0.0.1-224.0.0.1"})
        EXPECT_FALSE(AddressRange::parse(text)) << text;
}

TEST(AddressesTest, EachHasAQueuePairOfItsOwn)
{
    Addresses addresses;
    for (const char *text : {"10.0.0.1-10.0.0.9", "fd00::1-fd00::2", "10.0.1.0"}) {
        ASSERT_FALSE(addresses.refusal(*AddressRange::parse(text)));
        addresses.add(*AddressRange::parse(text));
    }
    EXPECT_EQ(addresses.count(), 12U);
    const auto at = [&](const char *text) {
        return addresses.qpn(AddressRange::parse(text)->address(0));
    };
    EXPECT_EQ(at("10.0.0.1"), qpn);
    EXPECT_EQ(at("10.0.0.9"), qpn + 8);
    EXPECT_EQ(at("fd00::2"), qpn + 10);
    EXPECT_EQ(at("10.0.1.0"), qpn + 11);
    EXPECT_FALSE(at("10.0.0.10"));
    EXPECT_FALSE(at("fd00::3"));
    EXPECT_FALSE(at("::10.0.0.1"));
}

TEST(AddressesTest, TooManyAreRefused)
{
    Addresses addresses;
    addresses.add(*AddressRange::parse("10.0.0.1-10.0.255.255"));
    EXPECT_TRUE(addresses.refusal(*AddressRange::parse("10.0.255.255")));
    EXPECT_TRUE(addresses.refusal(*AddressRange::parse("11.0.0.0-11.255.255.255")));
    EXPECT_TRUE(addresses.refusal(*AddressRange::parse("fd00::1-fd00::ffff:ffff:ffff:ffff")));
    EXPECT_TRUE(addresses.refusal(*AddressRange::parse("fd00::-fd00::400")));
    EXPECT_FALSE(addresses.refusal(*AddressRange::parse("fd00::1-fd00::400")));
    EXPECT_FALSE(addresses.refusal(*AddressRange::parse("11.0.0.0-11.14.255.255")));
}

TEST_F(PeerJoinTest, TheBroadcastGroupIsJoinedWhenThePortIsActive)
{
    add("10.0.0.1");
    peer.onPort({.lid = lid, .smLid = smLid, .smSl = 2, .gid = gid}, false, now);
    EXPECT_TRUE(requests().empty());
    peer.onPort(active(), false, now);
    const auto asked = requests();
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].mgid, Memberships::broadcastMgid());
    EXPECT_EQ(asked[0].mgid, (ib::Gid{0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF,
                                      0xFF, 0xFF, 0xFF}));
    EXPECT_EQ(asked[0].mask, 0x10083U); // MGID, PortGID, P_Key, JoinState
    EXPECT_EQ(asked[0].mad[3], 2);      // Set
    EXPECT_EQ(asked[0].mad[stateAt], 1);
    EXPECT_TRUE(std::ranges::equal(io::View(asked[0].mad).subspan(recordAt + 16, 16), gid));
    EXPECT_EQ(peer.groups().broadcast(), nullptr);
    receiveMad(answered(asked[0]));
    ASSERT_NE(peer.groups().broadcast(), nullptr);
    EXPECT_EQ(peer.groups().broadcast()->qkey, qkey);
    EXPECT_EQ(peer.groups().broadcast()->mlid, 0xC0FF);
    EXPECT_EQ(peer.groups().broadcast()->payload(), 2048U);
    EXPECT_EQ(peer.groups().broadcast()->sl, sl);
    EXPECT_EQ(peer.deadline(), Time::max());
}

TEST_F(PeerJoinTest, ItAsksAgainWithBackoffUntilThereIsAnAnswer)
{
    peer.onPort(active(), false, now);
    auto asked = requests();
    ASSERT_EQ(asked.size(), 1U);
    const Request first = asked[0];
    for (const auto wait : {1s, 2s, 4s, 8s, 16s, 16s}) {
        EXPECT_EQ(peer.deadline(), now + wait);
        peer.onTime(now + wait - 1ms);
        EXPECT_TRUE(requests().empty());
        now += wait;
        peer.onTime(now);
        asked = requests();
        ASSERT_EQ(asked.size(), 1U);
    }
    receiveMad(answered(first)); // nobody waits for that any more
    EXPECT_EQ(peer.groups().joined(), 0U);
    EXPECT_EQ(count(PeerDrop::ignored), 1U);
    receiveMad(answered(asked[0]));
    EXPECT_EQ(peer.groups().joined(), 1U);
}

TEST_F(PeerJoinTest, ARefusalIsAskedAgainLater)
{
    peer.onPort(active(), false, now);
    receiveMad(answered(requests().at(0), 0x0300));
    EXPECT_EQ(peer.groups().joined(), 0U);
    EXPECT_TRUE(requests().empty());
    now = peer.deadline();
    EXPECT_EQ(now, Time{1h} + 1s);
    peer.onTime(now);
    EXPECT_EQ(join(), 1U);
}

TEST_F(PeerJoinTest, AnswersThatMakeNoSenseAreDropped)
{
    peer.onPort(active(), false, now);
    const Request asked = requests().at(0);
    const auto change = [&](std::size_t at, std::uint8_t value) {
        io::Bytes mad = answered(asked);
        mad[at] = value;
        receiveMad(mad);
    };
    change(1, 4);              // another class
    change(3, 1);              // no answer
    change(15, 0xEE);          // another transaction
    change(17, 0x35);          // PathRecord
    change(recordAt, 0);       // another group
    change(recordAt + 36, 0);  // no multicast LID
    change(recordAt + 38, 63); // no MTU
    io::Bytes mad = answered(asked);
    mad.resize(ib::Mad::size - 4);
    receiveMad(mad);
    EXPECT_EQ(count(PeerDrop::ignored), 8U);
    EXPECT_EQ(peer.groups().joined(), 0U);
    receiveMad(answered(asked));
    EXPECT_EQ(peer.groups().joined(), 1U);
}

TEST_F(PeerJoinTest, ItJoinsAnewWhenThePortOrTheSmHasChanged)
{
    start("10.0.0.1");
    peer.onPort(active(), false, now); // nothing new
    EXPECT_TRUE(requests().empty());
    peer.onPort(active(), true, now); // client reregistration
    EXPECT_EQ(peer.groups().joined(), 1U);
    EXPECT_EQ(join(), 1U);
    auto port = active();
    port.smSl = 3;
    peer.onPort(port, false, now);
    EXPECT_EQ(peer.takeOutput().size(), 1U);
    port = active();
    port.lid = lid + 1;
    peer.onPort(port, false, now); // what has been said of another LID is void
    EXPECT_EQ(peer.groups().joined(), 0U);
    EXPECT_EQ(join(), 1U);
    port.isActive = false;
    peer.onPort(port, false, now);
    EXPECT_TRUE(requests().empty());
    EXPECT_EQ(peer.groups().joined(), 0U);
    EXPECT_EQ(peer.deadline(), Time::max());
    port.isActive = true;
    peer.onPort(port, false, now);
    EXPECT_EQ(join(), 1U);
}

TEST_F(PeerJoinTest, GroupsOfIpv6FollowTheBroadcastGroup)
{
    add("fd00::1:1-fd00::1:28"); // 40
    add("fd01::1:1");            // the solicited-node group of another
    peer.onPort(active(), false, now);
    auto asked = requests();
    ASSERT_EQ(asked.size(), 1U);
    receiveMad(answered(asked[0]));
    asked = requests();
    ASSERT_EQ(asked.size(), 16U); // at once
    EXPECT_EQ(peer.groups().wanted(), 42U);
    for (const Request &request : asked) {
        EXPECT_EQ(request.mask, 0x173F7U); // and what the group is to be like
        EXPECT_EQ(io::read<4>(request.mad, recordAt + 32), qkey);
    }
    EXPECT_EQ(asked[0].mgid, ib::makeIpoibMgid(ib::ipoibIpv6, 0xFFFF, 1)); // all nodes
    EXPECT_EQ(asked[1].mgid, ib::makeIpoibMgid(ib::ipoibIpv6, 0xFFFF, 0x1'FF01'0001));
    for (const Request &request : asked)
        receiveMad(answered(request));
    join();
    EXPECT_EQ(peer.groups().joined(), 42U);
    EXPECT_EQ(peer.deadline(), Time::max());
    add("fd02::9"); // later
    EXPECT_EQ(join(), 1U);
}

TEST_F(PeerAnswerTest, ArpForEachAddress)
{
    start("10.0.0.1-10.0.39.16");
    for (const auto &[target, number] :
         {std::pair{"10.0.0.1", 0U}, {"10.0.0.2", 1U}, {"10.0.39.16", 9999U}}) {
        receive(broadcast().payload(arp(target)).build());
        const auto got = reply();
        ASSERT_TRUE(got);
        EXPECT_EQ(got->headers.lrh.dlid, askerLid);
        EXPECT_EQ(got->headers.lrh.slid, lid);
        EXPECT_EQ(got->headers.lrh.sl, sl);
        EXPECT_EQ(got->headers.qpn, askerQpn);
        EXPECT_EQ(got->headers.pkey, 0xFFFF);
        EXPECT_EQ(got->deth.qkey, qkey);
        EXPECT_EQ(got->deth.sourceQpn, qpn + number);
        EXPECT_EQ(got->type, ib::IpoibHeader::arp);
        io::Bytes expected{0, 32, 8, 0, 20, 4, 0, 2};
        ib::HardwareAddress{.qpn = qpn + number, .gid = gid}.appendTo(expected);
        io::append(expected, address(target));
        ib::HardwareAddress{.qpn = askerQpn, .gid = ib::makeGid(ib::defaultPrefix, 0xA)}.appendTo(
            expected);
        io::append(expected, address("10.0.0.250"));
        EXPECT_EQ(got->packet, expected);
    }
    EXPECT_EQ(count(PeerAnswered::arp), 3U);
}

TEST_F(PeerAnswerTest, ArpToItsQueuePair)
{
    start("10.0.0.1-10.0.0.2");
    receive(unicast(qpn + 1, ib::IpoibHeader::arp).payload(arp("10.0.0.2")).build());
    EXPECT_TRUE(reply());
    expectDrop(unicast(qpn, ib::IpoibHeader::arp).payload(arp("10.0.0.2")).build(),
               PeerDrop::address);
}

TEST_F(PeerAnswerTest, Pings)
{
    start("10.0.0.1-10.0.0.2");
    receive(unicast(qpn + 1, ib::IpoibHeader::ipv4).payload(echo("10.0.0.2")).build());
    const auto got = reply();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->headers.qpn, askerQpn);
    EXPECT_EQ(got->deth.sourceQpn, qpn + 1);
    EXPECT_EQ(got->type, ib::IpoibHeader::ipv4);
    ASSERT_EQ(got->packet.size(), 33U);
    const io::View packet = got->packet;
    EXPECT_EQ(link::checksum(packet.first(20)), 0);
    EXPECT_EQ(link::checksum(packet.subspan(20)), 0);
    EXPECT_EQ(io::read<4>(packet, 12), 0x0A00'0002U);
    EXPECT_EQ(io::read<4>(packet, 16), 0x0A00'00FAU);
    EXPECT_EQ(packet[20], 0);
    EXPECT_TRUE(std::ranges::equal(packet.subspan(24), io::View(echo("10.0.0.2")).subspan(24)));
    EXPECT_EQ(count(PeerAnswered::echo), 1U);
}

TEST_F(PeerAnswerTest, PingsWithOptionsOfIp)
{
    start("10.0.0.1");
    const auto packet = echo("10.0.0.1", [](io::Bytes &header, io::Bytes &) {
        header[0] = 0x46;
        header[3] += 4;
        header.resize(24, 1);
    });
    receive(unicast(qpn, ib::IpoibHeader::ipv4).payload(packet).build());
    const auto got = reply();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->packet.size(), 33U);
}

TEST_F(PeerAnswerTest, NeighbourSolicitations)
{
    start("fd00::1-fd00::2");
    const auto group = ib::makeIpoibMgid(ib::ipoibIpv6, 0xFFFF, 0x1'FF00'0002);
    receive(multicast(group, ib::IpoibHeader::ipv6)
                .payload(icmp6("fd00::fa", "ff02::1:ff00:2", 255, solicitation("fd00::2")))
                .build());
    const auto got = reply();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->headers.lrh.dlid, askerLid);
    EXPECT_EQ(got->headers.qpn, askerQpn);
    EXPECT_EQ(got->deth.sourceQpn, qpn + 1);
    io::Bytes message{136, 0, 0, 0, 0x60, 0, 0, 0};
    io::append(message, address("fd00::2"));
    io::append<4>(message, 0x0203'0000);
    ib::HardwareAddress{.qpn = qpn + 1, .gid = gid}.appendTo(message);
    EXPECT_EQ(got->packet, icmp6("fd00::2", "fd00::fa", 255, message));
    EXPECT_EQ(count(PeerAnswered::neighbour), 1U);
}

TEST_F(PeerAnswerTest, WhoHasNoAddressYetIsAnsweredThroughAllNodes)
{
    start("fd00::1");
    io::Bytes message = solicitation("fd00::1");
    message.resize(24); // no link-layer address
    receive(
        multicast(ib::makeIpoibMgid(ib::ipoibIpv6, 0xFFFF, 0x1'FF00'0001), ib::IpoibHeader::ipv6)
            .payload(icmp6("::", "ff02::1:ff00:1", 255, message))
            .build());
    const auto got = reply();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->headers.lrh.dlid, 0xC001);
    EXPECT_EQ(got->headers.lrh.next, ib::LinkNext::grh);
    EXPECT_EQ(got->headers.qpn, ib::multicastQpn);
    EXPECT_EQ(io::View(got->packet).subspan(24, 16)[0], 0xFF);
    EXPECT_EQ(got->packet[44], 0x20); // not solicited
}

TEST_F(PeerAnswerTest, PingsOverIpv6)
{
    start("fd00::1");
    const io::Bytes asked = icmp6("fd00::fa", "fd00::1", 64, {128, 0, 0, 0, 1, 2, 0, 1, 'x', 'y'});
    receive(unicast(qpn, ib::IpoibHeader::ipv6).payload(asked).build());
    const auto got = reply();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->packet, icmp6("fd00::1", "fd00::fa", 64, {129, 0, 0, 0, 1, 2, 0, 1, 'x', 'y'}));
    EXPECT_EQ(count(PeerAnswered::echo6), 1U);
}

TEST_F(PeerDropTest, WhatAnAdapterWouldNotDeliver)
{
    start("10.0.0.1");
    const io::Bytes good = arp("10.0.0.1");
    expectDrop(broadcast().deth({.qkey = qkey + 1}).payload(good).build(), PeerDrop::qkey);
    expectDrop(broadcast().bth({.pkey = 0x8001, .qpn = ib::multicastQpn}).payload(good).build(),
               PeerDrop::pkey);
    expectDrop(broadcast().bth({.opcode = 0x04, .qpn = ib::multicastQpn}).payload(good).build(),
               PeerDrop::opcode);
    expectDrop(broadcast().bth({.qpn = qpn}).payload(good).build(), PeerDrop::malformed);
    expectDrop(broadcast().bth({.version = 1, .qpn = ib::multicastQpn}).payload(good).build(),
               PeerDrop::malformed);
    expectDrop(broadcast().overrideGrhLength(8).payload(good).build(), PeerDrop::malformed);
    expectDrop(multicast(ib::makeIpoibMgid(ib::ipoibIpv4, 0xFFFF, 1), ib::IpoibHeader::arp)
                   .payload(good)
                   .build(),
               PeerDrop::group);
    expectDrop(unicast(qpn, ib::IpoibHeader::arp)
                   .lrh({.dlid = lid, .slid = ib::permissiveLid})
                   .payload(good)
                   .build(),
               PeerDrop::malformed);
    expectDrop(ib::PacketBuilder{}.lrh({.dlid = lid, .slid = askerLid}).payload(good).build(),
               PeerDrop::opcode); // raw
    expectDrop(ib::PacketBuilder{}
                   .lrh({.dlid = lid, .slid = askerLid})
                   .bth({.qpn = qpn})
                   .payload(io::Bytes(4))
                   .build(),
               PeerDrop::malformed);
    expectDrop(unicast(qpn, ib::IpoibHeader::ipv4).payload(io::Bytes(2100)).build(),
               PeerDrop::malformed); // more than the group's MTU
    expectDrop(unicast(qpn, 0x1234).payload(good).build(), PeerDrop::ignored);
}

TEST_F(PeerDropTest, NothingIsTakenBeforeTheBroadcastGroupIsJoined)
{
    add("10.0.0.1");
    peer.onPort(active(), false, now);
    static_cast<void>(requests());
    expectDrop(broadcast().payload(arp("10.0.0.1")).build(), PeerDrop::qkey);
}

TEST_F(PeerDropTest, Arp)
{
    start("10.0.0.1");
    for (const std::size_t field : {1U, 2U, 4U, 5U}) {
        io::Bytes packet = arp("10.0.0.1");
        ++packet[field];
        expectDrop(broadcast().payload(packet).build(), PeerDrop::malformed);
    }
    io::Bytes cut = arp("10.0.0.1");
    cut.pop_back();
    expectDrop(broadcast().payload(cut).build(), PeerDrop::malformed);
    expectDrop(broadcast().payload({}).build(), PeerDrop::malformed);
    expectDrop(broadcast().payload(arp("10.0.0.1", 2)).build(), PeerDrop::ignored);
    expectDrop(broadcast().payload(arp("10.0.0.2")).build(), PeerDrop::address);
}

TEST_F(PeerDropTest, Ipv4)
{
    start("10.0.0.1-10.0.0.2");
    const auto to = [](const io::Bytes &packet) {
        return unicast(qpn, ib::IpoibHeader::ipv4).payload(packet).build();
    };
    const auto header = [](std::size_t at, std::uint8_t value) {
        return echo("10.0.0.1", [=](io::Bytes &ip, io::Bytes &) { ip[at] = value; });
    };
    const auto icmp = [](std::size_t at, std::uint8_t value) {
        return echo("10.0.0.1", [=](io::Bytes &, io::Bytes &message) { message[at] = value; });
    };
    expectDrop(to(header(0, 0x65)), PeerDrop::malformed);
    expectDrop(to(header(0, 0x44)), PeerDrop::malformed);
    expectDrop(to(header(3, 200)), PeerDrop::malformed); // more than there is
    expectDrop(to(header(3, 19)), PeerDrop::malformed);
    expectDrop(to(header(3, 27)), PeerDrop::malformed); // no whole header of ICMP
    expectDrop(to({0x45, 0, 0}), PeerDrop::malformed);
    expectDrop(to(header(6, 0x20)), PeerDrop::fragment); // the first
    expectDrop(to(header(7, 0x01)), PeerDrop::fragment); // the last
    expectDrop(to(header(9, 17)), PeerDrop::ignored);    // UDP
    expectDrop(to(icmp(0, 0)), PeerDrop::ignored);       // a reply
    expectDrop(to(icmp(1, 1)), PeerDrop::ignored);
    for (const std::size_t at : {8U, 30U}) {
        io::Bytes packet = echo("10.0.0.1");
        packet[at] ^= 1;
        expectDrop(to(packet), PeerDrop::checksum);
    }
    expectDrop(to(echo("10.0.0.2")), PeerDrop::address); // the queue pair of another
    expectDrop(to(echo("10.0.0.3")), PeerDrop::address);
    expectDrop(multicast(Memberships::broadcastMgid(), ib::IpoibHeader::ipv4)
                   .payload(echo("10.0.0.1"))
                   .build(),
               PeerDrop::address);
}

TEST_F(PeerDropTest, Ipv6)
{
    start("fd00::1");
    const auto to = [](const io::Bytes &packet) {
        return unicast(qpn, ib::IpoibHeader::ipv6).payload(packet).build();
    };
    const io::Bytes ping = icmp6("fd00::fa", "fd00::1", 64, {128, 0, 0, 0, 0, 1, 0, 1});
    const auto changed = [&](std::size_t at, std::uint8_t value) {
        io::Bytes packet = ping;
        packet[at] = value;
        return to(packet);
    };
    expectDrop(to({0x60, 0, 0}), PeerDrop::malformed);
    expectDrop(changed(0, 0x45), PeerDrop::malformed);
    expectDrop(changed(5, 9), PeerDrop::malformed);
    expectDrop(changed(5, 7), PeerDrop::malformed);
    expectDrop(changed(6, 44), PeerDrop::fragment);
    expectDrop(changed(6, 17), PeerDrop::ignored);
    expectDrop(changed(46, 9), PeerDrop::checksum);
    expectDrop(to(icmp6("fd00::fa", "fd00::2", 64, {128, 0, 0, 0, 0, 1, 0, 1})), PeerDrop::address);
    expectDrop(to(icmp6("fd00::fa", "fd00::1", 64, {129, 0, 0, 0, 0, 1, 0, 1})), PeerDrop::ignored);
}

TEST_F(PeerDropTest, NeighbourSolicitations)
{
    start("fd00::1");
    const auto ask = [](const io::Bytes &message, std::uint8_t hops = 255,
                        std::string_view from = "fd00::fa", std::string_view to = "fd00::1") {
        return unicast(qpn, ib::IpoibHeader::ipv6).payload(icmp6(from, to, hops, message)).build();
    };
    const io::Bytes good = solicitation("fd00::1");
    receive(ask(good));
    EXPECT_TRUE(reply());
    const auto changed = [&](std::size_t at, std::uint8_t value) {
        io::Bytes message = good;
        message[at] = value;
        return message;
    };
    expectDrop(ask(good, 254), PeerDrop::malformed); // from another link
    expectDrop(ask({good.begin(), good.begin() + 20}), PeerDrop::malformed);
    expectDrop(ask({good.begin(), good.begin() + 25}), PeerDrop::malformed);
    expectDrop(ask(changed(25, 0)), PeerDrop::malformed); // an option without length
    expectDrop(ask(changed(25, 4)), PeerDrop::malformed); // longer than the packet
    expectDrop(ask(changed(25, 1)), PeerDrop::malformed); // an Ethernet address
    expectDrop(ask(changed(8, 0xFF)), PeerDrop::malformed);
    expectDrop(ask(good, 255, "::", "ff02::1:ff00:1"), PeerDrop::malformed); // and an address
    expectDrop(ask({good.begin(), good.begin() + 24}, 255, "::"), PeerDrop::malformed);
    expectDrop(ask(solicitation("fd00::2")), PeerDrop::address);
    expectDrop(ask(changed(1, 1)), PeerDrop::ignored);
}

} // namespace
} // namespace openipoib::fabric
