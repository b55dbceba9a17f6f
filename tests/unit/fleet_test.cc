// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A fleet of hosts and its subnet manager: who is answered what, how fast, and what is counted.
#include "fleet/administration.hpp"
#include "fleet/hosts.hpp"

#include "ib/deth.hpp"
#include "ib/ipoib.hpp"
#include "ib/mad.hpp"
#include "ib/packet_builder.hpp"
#include "ib/sma.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace openipoib::fleet
{

namespace
{

using namespace std::chrono_literals;

constexpr std::size_t recordAt = 56;
constexpr std::uint32_t hosts = 300;
constexpr std::uint64_t firstGuid = 0x0200'0000'F1EE'0000;
constexpr Time start{1000s};

io::Bytes request(std::uint16_t attribute, ib::Method method, std::uint64_t transaction,
                  std::size_t gidAt, const ib::Gid &gid)
{
    io::Bytes mad;
    ib::Mad{.mgmtClass = ib::MgmtClass::subnAdm,
            .classVersion = 2,
            .method = method,
            .transaction = transaction,
            .attribute = attribute}
        .appendTo(mad);
    std::ranges::copy(gid, mad.begin() + static_cast<std::ptrdiff_t>(recordAt + gidAt));
    return mad;
}

io::Bytes pathRequest(std::uint64_t transaction, const ib::Gid &gid)
{
    return request(0x35, ib::Method::get, transaction, 8, gid);
}

std::optional<std::uint16_t> onlyOne(const ib::Gid &gid)
{
    return gid[15] == 7 ? std::optional<std::uint16_t>(0x107) : std::nullopt;
}

TEST(FleetAdministration, TellsPathsThatThereAre)
{
    Administration sa(onlyOne, 1000);
    sa.receive(pathRequest(5, ib::makeGid(ib::defaultPrefix, 7)), start);
    sa.receive(pathRequest(6, ib::makeGid(ib::defaultPrefix, 8)), start);
    const auto answers = sa.due(start + 1s);
    ASSERT_EQ(answers.size(), 2U);
    const auto good = ib::Mad::parse(answers[0]);
    EXPECT_EQ(good->method, ib::Method::getResp);
    EXPECT_EQ(good->transaction, 5U);
    EXPECT_EQ(good->status, 0);
    EXPECT_EQ(io::read<2>(answers[0], recordAt + 40), 0x107U);
    EXPECT_EQ(ib::Mad::parse(answers[1])->status, 0x300);
    EXPECT_EQ(sa.takeCount().paths, 2U);
}

TEST(FleetAdministration, AnswersSoManyASecondInTheirOrder)
{
    Administration sa(onlyOne, 10);
    for (std::uint64_t i = 0; i < 20; ++i)
        sa.receive(pathRequest(i, ib::makeGid(ib::defaultPrefix, 7)), start);
    std::uint64_t next = 0;
    for (auto now = start; now < start + 1s; now += 10ms)
        for (const auto &answer : sa.due(now))
            EXPECT_EQ(ib::Mad::parse(answer)->transaction, next++);
    EXPECT_EQ(next, 10U);
    EXPECT_EQ(sa.takeCount().mostWaiting, 20U);
    // What has been idle meanwhile is not made up for.
    (void)sa.due(start + 100s);
    sa.receive(pathRequest(50, ib::makeGid(ib::defaultPrefix, 7)), start + 200s);
    sa.receive(pathRequest(51, ib::makeGid(ib::defaultPrefix, 7)), start + 200s);
    EXPECT_EQ(sa.due(start + 200s).size(), 1U);
}

TEST(FleetAdministration, KnowsARequestThatComesAgain)
{
    Administration sa(onlyOne, 1);
    const auto mad = pathRequest(1, ib::makeGid(ib::defaultPrefix, 7));
    sa.receive(mad, start);
    sa.receive(mad, start);
    sa.receive(pathRequest(2, ib::makeGid(ib::defaultPrefix, 7)), start);
    const auto count = sa.takeCount();
    EXPECT_EQ(count.requests, 3U);
    EXPECT_EQ(count.again, 1U);
    EXPECT_EQ(sa.due(start + 10s).size(), 3U);
    sa.receive(mad, start + 10s); // it has been answered
    EXPECT_EQ(sa.takeCount().again, 0U);
    sa.takeOver();
    EXPECT_TRUE(sa.due(start + 100s).empty());
}

TEST(FleetAdministration, MakesGroups)
{
    Administration sa(onlyOne, 1000);
    const auto mgid = ib::makeIpoibMgid(ib::ipoibIpv4, 0xFFFF, 0xFFFF'FFFF);
    sa.receive(request(0x38, ib::Method::set, 1, 0, mgid), start);
    sa.receive(request(0x38, ib::Method::set, 2, 0, mgid), start);
    sa.receive(request(0x38, static_cast<ib::Method>(0x15), 3, 0, mgid), start);
    const auto answers = sa.due(start + 1s);
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(io::read<2>(answers[0], recordAt + 36), io::read<2>(answers[1], recordAt + 36));
    EXPECT_GE(io::read<2>(answers[0], recordAt + 36), std::uint64_t{ib::firstMulticastLid});
    EXPECT_EQ(io::read<4>(answers[0], recordAt + 32), 0x0B1BU);
    EXPECT_EQ(static_cast<unsigned>(ib::Mad::parse(answers[2])->method), 0x95U);
    EXPECT_EQ(sa.takeCount().joins, 2U);
}

io::Bytes groupRequest(std::uint64_t transaction)
{
    return request(0x38, ib::Method::set, transaction, 0,
                   ib::makeIpoibMgid(ib::ipoibIpv4, 0xFFFF, 0xFFFF'FFFF));
}

// All answers to so many requests of a kind
std::vector<io::Bytes> ask(const Faults &faults, bool forPaths, std::uint64_t requests)
{
    Administration sa(onlyOne, 1'000'000, faults);
    for (std::uint64_t i = 1; i <= requests; ++i)
        sa.receive(forPaths ? pathRequest(i, ib::makeGid(ib::defaultPrefix, 7)) : groupRequest(i),
                   start);
    return sa.due(start + 10s);
}

std::vector<io::Bytes> withoutTransactions(std::vector<io::Bytes> answers)
{
    for (auto &answer : answers)
        std::fill_n(answer.begin() + 8, 8, std::uint8_t{0});
    std::ranges::sort(answers);
    answers.erase(std::ranges::unique(answers).begin(), answers.end());
    return answers;
}

// Each wrong answer is another one than the right one, and each kind comes.
TEST(FleetFaults, GetAnswersWrong)
{
    for (const bool forPaths : {true, false}) {
        const auto right = withoutTransactions(ask({}, forPaths, 1));
        ASSERT_EQ(right.size(), 1U);
        const auto wrong = withoutTransactions(ask({{.wrong = 100}, 1}, forPaths, 500));
        EXPECT_EQ(wrong.size(), 9U);
        EXPECT_EQ(std::ranges::find(wrong, right[0]), wrong.end());
        const std::size_t lidAt = recordAt + (forPaths ? 40 : 36);
        EXPECT_TRUE(std::ranges::any_of(
            wrong, [&](const io::Bytes &mad) { return io::read<2>(mad, lidAt) == 0; }));
        EXPECT_TRUE(std::ranges::any_of(wrong, [&](const io::Bytes &mad) {
            return ib::Mad::parse(mad)->status != 0 && io::read<2>(mad, lidAt) != 0;
        }));
        EXPECT_TRUE(std::ranges::any_of(
            wrong, [](const io::Bytes &mad) { return io::read<2>(mad, 44) == 2; }));
    }
}

TEST(FleetFaults, AreDrawnFromTheSeed)
{
    const Faults::Rates some{.wrong = 30, .twice = 30};
    EXPECT_EQ(ask({some, 7}, true, 200), ask({some, 7}, true, 200));
    EXPECT_NE(ask({some, 7}, true, 200), ask({some, 8}, true, 200));
}

TEST(FleetFaults, SendAnswersTwice)
{
    const auto answers = ask({{.twice = 100}, 1}, true, 10);
    ASSERT_EQ(answers.size(), 20U);
    for (std::size_t i = 0; i < answers.size(); i += 2)
        EXPECT_EQ(answers[i], answers[i + 1]);
}

TEST(FleetFaults, AreCountedAndEnd)
{
    Administration sa(onlyOne, 1'000'000, {{.wrong = 100, .twice = 100}, 1});
    sa.receive(groupRequest(1), start);
    sa.receive(request(0x38, static_cast<ib::Method>(0x15), 2, 0, {}), start);
    EXPECT_EQ(sa.due(start + 1s).size(), 4U);
    const auto count = sa.takeCount();
    EXPECT_EQ(count.wrong, 1U); // who leaves a group is answered as ever
    EXPECT_EQ(count.twice, 2U);
    sa.endFaults();
    sa.receive(groupRequest(3), start + 2s);
    EXPECT_EQ(sa.due(start + 3s).size(), 1U);
    EXPECT_EQ(sa.takeCount().wrong, 0U);
}

class FleetHosts : public testing::Test
{
  protected:
    FleetHosts() : fleet(*fabric::AddressRange::parse("10.9.0.1-10.9.1.44")) {}

    static io::Bytes arpFor(std::uint8_t low)
    {
        io::Bytes arp;
        for (const std::uint64_t field : {0x20U, 0x0800U, 0x1404U, 1U})
            io::append<2>(arp, field);
        ib::HardwareAddress{.qpn = 0x42, .gid = ib::makeGid(ib::defaultPrefix, 1)}.appendTo(arp);
        io::append<4>(arp, 0x0A09FFFEU);
        arp.resize(arp.size() + ib::HardwareAddress::size);
        io::append<4>(arp, 0x0A090000U + low);
        return arp;
    }

    static io::Bytes packet(std::uint16_t dlid, std::uint32_t qpn, std::uint16_t type,
                            const io::Bytes &payload)
    {
        return ib::PacketBuilder{}
            .lrh({.dlid = dlid, .slid = SubnetManager::portLid})
            .bth({.qpn = qpn})
            .deth({.qkey = 0x0B1B, .sourceQpn = 0x42})
            .ipoib({.type = type})
            .payload(payload)
            .build();
    }

    Hosts fleet;
};

TEST_F(FleetHosts, EachHasALidOfItsOwn)
{
    EXPECT_EQ(fleet.lidOf(ib::makeGid(ib::defaultPrefix, firstGuid)), Hosts::firstLid);
    EXPECT_EQ(fleet.lidOf(ib::makeGid(ib::defaultPrefix, firstGuid + hosts - 1)),
              Hosts::firstLid + hosts - 1);
    EXPECT_FALSE(fleet.lidOf(ib::makeGid(ib::defaultPrefix, firstGuid + hosts)));
    EXPECT_FALSE(fleet.lidOf(ib::makeGid(0xFEC0'0000'0000'0000, firstGuid)));
    fleet.renumber();
    EXPECT_EQ(fleet.lidOf(ib::makeGid(ib::defaultPrefix, firstGuid)), Hosts::firstLid + hosts);
    fleet.renumber();
    EXPECT_EQ(fleet.lidOf(ib::makeGid(ib::defaultPrefix, firstGuid)), Hosts::firstLid);
}

TEST_F(FleetHosts, AnswerArp)
{
    const auto answer = fleet.answer(
        packet(ib::firstMulticastLid, ib::multicastQpn, ib::IpoibHeader::arp, arpFor(3)), start);
    ASSERT_TRUE(answer);
    const auto headers = fabric::PacketHeaders::parse(*answer);
    EXPECT_EQ(headers->lrh.slid, Hosts::firstLid + 2);
    EXPECT_EQ(headers->lrh.dlid, SubnetManager::portLid);
    const io::View reply = io::View(*answer).subspan(headers->bthAt + ib::Bth::size +
                                                     ib::Deth::size + ib::IpoibHeader::size);
    const auto sender = ib::HardwareAddress::parse(reply.subspan(8));
    EXPECT_EQ(sender->gid, ib::makeGid(ib::defaultPrefix, firstGuid + 2));
    EXPECT_EQ(sender->qpn, fabric::Addresses::firstQpn + 2);
    EXPECT_FALSE(fleet.answer(
        packet(ib::firstMulticastLid, ib::multicastQpn, ib::IpoibHeader::arp, io::Bytes(20)),
        start));
}

// What comes for a LID that a host had before does not reach it.
TEST_F(FleetHosts, TakeWhatIsForThem)
{
    const io::Bytes datagram(40);
    const std::uint32_t qpn = fabric::Addresses::firstQpn + 4;
    fleet.watch(start);
    (void)fleet.answer(packet(Hosts::firstLid + 5, qpn, ib::IpoibHeader::ipv4, datagram), start);
    (void)fleet.answer(packet(Hosts::firstLid, 5, ib::IpoibHeader::ipv4, datagram), start);
    EXPECT_EQ(fleet.reached().hosts, 0U);
    (void)fleet.answer(packet(Hosts::firstLid + 4, qpn, ib::IpoibHeader::ipv4, datagram),
                       start + 20ms);
    (void)fleet.answer(packet(Hosts::firstLid + 4, qpn, ib::IpoibHeader::ipv4, datagram),
                       start + 90ms);
    (void)fleet.answer(packet(Hosts::firstLid + 5, qpn + 1, ib::IpoibHeader::ipv4, datagram),
                       start + 50ms);
    EXPECT_EQ(fleet.reached().hosts, 2U);
    EXPECT_EQ(fleet.reached().half, 20ms);
    EXPECT_EQ(fleet.reached().last, 50ms);
    fleet.renumber();
    fleet.watch(start + 1s);
    (void)fleet.answer(packet(Hosts::firstLid + 4, qpn, ib::IpoibHeader::ipv4, datagram),
                       start + 1s);
    EXPECT_EQ(fleet.reached().hosts, 0U);
}

// The manager of the one end, the agent of the other.
class FleetManager : public testing::Test
{
  protected:
    FleetManager() { agent.linkUp(); }

    void talk(Time now)
    {
        while (const auto smp = manager.due(now)) {
            const auto answer = agent.answer(*smp);
            ASSERT_TRUE(answer);
            const auto headers = fabric::PacketHeaders::parse(*answer);
            manager.receive(io::View(*answer).subspan(
                headers->bthAt + ib::Bth::size + ib::Deth::size, ib::Mad::size));
        }
    }

    SubnetManager manager;
    ib::Sma agent{7, "port"};
};

TEST_F(FleetManager, TakesThePortToActive)
{
    EXPECT_FALSE(manager.due(start));
    manager.begin();
    talk(start);
    EXPECT_EQ(agent.state(), ib::PortState::active);
    EXPECT_EQ(agent.lid(), SubnetManager::portLid);
    EXPECT_EQ(agent.smLid(), manager.lid());
    EXPECT_TRUE(manager.hasAll());
    const auto before = manager.lid();
    manager.takeOver();
    EXPECT_FALSE(manager.hasAll());
    // ClientReregister (IBA 14.2.5.6) behind LRH, BTH, DETH and the head of the MAD
    const auto smp = manager.due(start + 1s);
    ASSERT_TRUE(smp);
    EXPECT_EQ((*smp)[8 + 12 + 8 + 64 + 51] & 0x80, 0x80);
    talk(start + 2s);
    EXPECT_EQ(agent.state(), ib::PortState::active);
    EXPECT_NE(agent.smLid(), before);
    EXPECT_EQ(agent.smLid(), manager.lid());
    EXPECT_NE(manager.lid(), SubnetManager::portLid);
}

TEST_F(FleetManager, AsksAgain)
{
    manager.begin();
    ASSERT_TRUE(manager.due(start));
    EXPECT_FALSE(manager.due(start + 100ms));
    EXPECT_TRUE(manager.due(start + 1s));
}

} // namespace

} // namespace openipoib::fleet
