// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Whose answers count, and how many may be missing.
#include "ha-daemon/core/targets.hpp"
#include "ha-daemon/linux/announcer.hpp"
#include "ha-daemon/linux/arp_listener.hpp"

#include "netlink/link.hpp"
#include "network_namespace.hpp"

#include <gtest/gtest.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

const io::Bytes target{10, 0, 0, 2};
const io::Bytes another{10, 0, 0, 3};
constexpr int ib0 = 4;
constexpr int ib1 = 5;

void sendArp(int interface, const io::Bytes &packet)
{
    const io::UniqueFd fd(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_protocol = htons(ETH_P_ARP);
    to.sll_ifindex = interface;
    ASSERT_EQ(::sendto(fd.get(), packet.data(), packet.size(), 0,
                       reinterpret_cast<const sockaddr *>(&to), sizeof to),
              static_cast<ssize_t>(packet.size()));
}

class HaTargets : public testing::Test
{
  protected:
    Targets targets{{.addresses = {target, another}, .every = 1s, .misses = 2}};
    Time now{1s};

    void SetUp() override { targets.watch({{ib0, ib1}}); }
    // That many rounds are asked, and nobody answers.
    void silence(unsigned rounds)
    {
        for (; rounds; --rounds) {
            targets.asked(now);
            now += 1s;
        }
    }
    [[nodiscard]] bool bad(Side side) const { return !targets.whyBad(side).empty(); }
};

TEST_F(HaTargets, AFewRoundsMayBeMissed)
{
    silence(2);
    EXPECT_FALSE(bad(Side::primary));
    silence(1); // the second has had its time
    EXPECT_TRUE(bad(Side::primary));
    EXPECT_TRUE(bad(Side::secondary));
}

TEST_F(HaTargets, OneAnswerDoesForItsInterface)
{
    silence(20);
    targets.heard(ib1, another);
    EXPECT_TRUE(bad(Side::primary));
    EXPECT_FALSE(bad(Side::secondary));
    silence(2);
    EXPECT_FALSE(bad(Side::secondary));
    silence(1);
    EXPECT_TRUE(bad(Side::secondary));
}

TEST_F(HaTargets, WhoHasAnsweredCountsForThisInterfaceAlone)
{
    EXPECT_EQ(targets.met(Side::primary), Met::nobody) << "nobody was asked";
    targets.heard(ib0, another);
    EXPECT_EQ(targets.met(Side::primary), Met::somebody);
    EXPECT_EQ(targets.met(Side::secondary), Met::nobody);
    targets.watch({{9, ib1}});
    EXPECT_EQ(targets.met(Side::primary), Met::nobody) << "by the one before";
}

TEST_F(HaTargets, AnswersOfOthersAndElsewhereDoNotCount)
{
    silence(3);
    targets.heard(ib0, io::Bytes{10, 0, 0, 4});
    targets.heard(7, target);
    targets.heard(0, target);
    EXPECT_TRUE(bad(Side::primary));
    EXPECT_TRUE(bad(Side::secondary));
}

TEST_F(HaTargets, ANewInterfaceHasTimeToHear)
{
    silence(3);
    targets.watch({{9, ib1}});
    EXPECT_FALSE(bad(Side::primary));
    EXPECT_TRUE(bad(Side::secondary));
    targets.watch({{0, ib1}});
    silence(3);
    EXPECT_FALSE(bad(Side::primary)); // there is none
}

TEST_F(HaTargets, RoundsHaveTheirInterval)
{
    ASSERT_TRUE(targets.next());
    EXPECT_LE(*targets.next(), now);
    targets.asked(now);
    EXPECT_EQ(*targets.next(), now + 1s);
}

TEST(HaNoTargets, NobodyIsAskedAndNothingIsBad)
{
    Targets none{TargetPolicy{}};
    none.watch({{ib0, ib1}});
    EXPECT_FALSE(none.next());
    EXPECT_TRUE(none.whyBad(Side::primary).empty());
}

TEST(HaArpListener, OnlyWholeRepliesCount)
{
    const io::Bytes hardware(20, 0xAB);
    const io::Bytes reply = arpReply(hardware, target);
    const auto replier = arpReplier(reply);
    ASSERT_TRUE(replier);
    EXPECT_EQ(replier->address, target);
    EXPECT_EQ(replier->hardware, hardware);
    EXPECT_FALSE(arpReplier(arpProbe(hardware, target)));
    for (std::size_t length = 0; length < reply.size(); ++length)
        EXPECT_FALSE(arpReplier(io::View(reply).first(length))) << length;
    // Each field of the header has to be what it should.
    for (std::size_t at = 0; at < 8; ++at) {
        io::Bytes other = reply;
        other[at] ^= 0x40;
        EXPECT_FALSE(arpReplier(other)) << at;
    }
}

// What is put into the queue is what a plain read gives, since the listener checks as well.
TEST(HaArpListener, RequestsTakeNoRoom)
{
    inNamespace([](netlink::Socket &netlink) {
        const auto lo = netlink::findLink(netlink, "lo");
        ASSERT_TRUE(lo && netlink::setUp(netlink, *lo, true));
        const auto listener = ArpListener::open();
        ASSERT_TRUE(listener) << listener.error().text();
        const io::Bytes hardware(20, 0xAB);
        const io::Bytes reply = arpReply(hardware, target);
        io::Bytes ofEthernet = reply;
        ofEthernet[1] = ARPHRD_ETHER;
        for (const auto &packet : {arpProbe(hardware, target), ofEthernet, reply})
            sendArp(lo->index, packet);
        io::Bytes got(reply.size());
        // Over lo a packet has arrived when sendto() returns.
        ASSERT_EQ(::recv(listener->fd(), got.data(), got.size(), 0),
                  static_cast<ssize_t>(got.size()));
        EXPECT_EQ(got, reply);
        EXPECT_LT(::recv(listener->fd(), got.data(), got.size(), 0), 0);

        sendArp(lo->index, reply);
        io::Bytes from;
        EXPECT_FALSE(listener->receive([&](int interface, const ArpReplier &by) {
            EXPECT_EQ(interface, lo->index);
            from = by.address;
        }));
        EXPECT_EQ(from, target);
        constexpr int many = 70; // more than are taken at once
        for (int count = 0; count < many; ++count)
            sendArp(lo->index, reply);
        int heard = 0;
        const auto count = [&](int, const ArpReplier &) { ++heard; };
        EXPECT_TRUE(listener->receive(count));
        EXPECT_FALSE(listener->receive(count));
        EXPECT_EQ(heard, many);
    });
}

TEST(HaTargetsChanged, WhoIsCutOffStaysThatWithOtherTargets)
{
    Targets targets({.addresses = {{10, 0, 0, 2}}, .every = 1s, .misses = 3});
    targets.watch({{1, 2}});
    for (int rounds = 0; rounds < 4; ++rounds) {
        targets.asked(1s * rounds);
        targets.heard(2, io::Bytes{10, 0, 0, 2});
    }
    EXPECT_NE(targets.whyBad(Side::primary), "");
    targets.configure({.addresses = {{10, 0, 0, 3}}, .every = 1s, .misses = 5});
    EXPECT_NE(targets.whyBad(Side::primary), "") << "a failback would follow";
    EXPECT_EQ(targets.whyBad(Side::secondary), "");
    targets.heard(1, io::Bytes{10, 0, 0, 3});
    EXPECT_EQ(targets.whyBad(Side::primary), "");
    targets.configure({});
    EXPECT_EQ(targets.whyBad(Side::primary), "");
}

} // namespace
} // namespace openipoib::ha
