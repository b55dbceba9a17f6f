// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A crowd of peers: who asks for a connection gets one, and nobody can harm it.
#include "peers/crowd.hpp"

#include "ib/deth.hpp"
#include "ib/packet_builder.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace openipoib::peers
{

namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t member = fabric::Addresses::firstQpn;

class AskedCrowd : public testing::Test
{
  protected:
    AskedCrowd() { crowd.onPort({.lid = 7, .gid = ib::makeGid(ib::defaultPrefix, 7), .guid = 7}); }

    static CmMessage request(std::uint32_t commId)
    {
        return {.type = CmType::req,
                .transaction = 1,
                .commId = commId,
                .serviceId = ipoibService | member,
                .qpn = 0x55,
                .lid = 9,
                .gid = ib::makeGid(ib::defaultPrefix, 9),
                .ipoibQpn = 0x48,
                .longest = Receiver::longest};
    }

    static io::Bytes packetWith(const CmMessage &message)
    {
        return ib::PacketBuilder{}
            .lrh({.dlid = 7, .slid = 9})
            .bth({.qpn = 1})
            .deth({.qkey = ib::gsiQkey, .sourceQpn = 1})
            .payload(message.mad())
            .build();
    }

    static io::Bytes data(std::uint32_t qpn, ib::Opcode opcode, io::View payload)
    {
        return ib::PacketBuilder{}
            .lrh({.dlid = 7, .slid = 9})
            .bth({.opcode = static_cast<std::uint8_t>(opcode),
                  .qpn = qpn,
                  .acknowledge = true,
                  .psn = qpn})
            .payload(payload)
            .build();
    }

    // The one message that it answers with.
    CmMessage answerTo(const CmMessage &message)
    {
        crowd.receive(packetWith(message), now);
        const auto output = crowd.takeOutput();
        EXPECT_EQ(output.size(), 1u);
        constexpr std::size_t madAt = ib::Lrh::size + ib::Bth::size + ib::Deth::size;
        const auto answer =
            output.empty() ? std::nullopt : CmMessage::parse(io::View(output[0]).subspan(madAt));
        EXPECT_TRUE(answer);
        return answer.value_or(CmMessage{});
    }

    Time now{1h};
    Crowd crowd{*fabric::AddressRange::parse("10.0.0.1-10.0.0.9"), 0};
};

} // namespace

TEST_F(AskedCrowd, ConnectsAndDisconnects)
{
    const auto rep = answerTo(request(3));
    EXPECT_EQ(rep.type, CmType::rep);
    EXPECT_EQ(rep.remoteCommId, 3u);
    EXPECT_EQ(rep.ipoibQpn, member);
    EXPECT_EQ(crowd.count().in, 1u);
    EXPECT_EQ(answerTo(request(3)), rep);
    EXPECT_NE(answerTo(request(4)).qpn, rep.qpn);
    EXPECT_EQ(crowd.count().in, 1u);
    const auto drep = answerTo({.type = CmType::dreq, .commId = 4, .remoteCommId = rep.commId + 1});
    EXPECT_EQ(drep.type, CmType::drep);
    EXPECT_EQ(crowd.count().in, 0u);
}

TEST_F(AskedCrowd, AServiceOfNobodyIsNotAnswered)
{
    for (const std::uint64_t service :
         {ipoibService | (member - 1), ipoibService | (member + 9), std::uint64_t{member}}) {
        auto req = request(3);
        req.serviceId = service;
        crowd.receive(packetWith(req), now);
    }
    EXPECT_TRUE(crowd.takeOutput().empty());
    EXPECT_EQ(crowd.count().in, 0u);
}

TEST_F(AskedCrowd, FloodsWhoHasAskedLast)
{
    crowd.flood(3);
    EXPECT_TRUE(crowd.takeOutput().empty());
    EXPECT_EQ(answerTo(request(3)).type, CmType::rep);
    crowd.flood(3);
    crowd.flood(2);
    const auto output = crowd.takeOutput();
    ASSERT_EQ(output.size(), 5u);
    constexpr std::size_t madAt = ib::Lrh::size + ib::Bth::size + ib::Deth::size;
    std::set<std::uint32_t> interfaces;
    std::set<std::uint32_t> ids;
    for (const auto &packet : output) {
        const auto req = CmMessage::parse(io::View(packet).subspan(madAt));
        ASSERT_TRUE(req);
        EXPECT_EQ(req->type, CmType::req);
        EXPECT_EQ(req->serviceId, ipoibService | 0x48);
        EXPECT_EQ(req->remoteLid, 9);
        interfaces.insert(req->ipoibQpn);
        ids.insert(req->commId);
    }
    EXPECT_EQ(interfaces.size(), 5u);
    EXPECT_EQ(ids.size(), 5u);
    EXPECT_GT(*interfaces.begin(), member + 8);
    EXPECT_EQ(crowd.count().out, 0u);
}

TEST_F(AskedCrowd, PacketsCutAnywhereAreDropped)
{
    const auto rep = answerTo(request(3));
    for (const auto &packet :
         {packetWith(request(4)), data(rep.qpn, ib::Opcode::rcSendOnly, io::Bytes(100)),
          data(rep.qpn, ib::Opcode::rcAcknowledge, io::Bytes(4))})
        for (std::size_t size = 0; size < packet.size(); ++size)
            crowd.receive(io::View(packet).first(size), now);
    EXPECT_TRUE(crowd.takeOutput().empty());
}

TEST_F(AskedCrowd, SurvivesWhateverComesThroughAConnection)
{
    const auto rep = answerTo(request(3));
    std::mt19937 random(1);
    for (int round = 0; round < 5000; ++round) {
        io::Bytes payload(random() % 80);
        for (auto &byte : payload)
            byte = static_cast<std::uint8_t>(random());
        auto packet = ib::PacketBuilder{}
                          .lrh({.dlid = 7, .slid = 9})
                          .bth({.opcode = static_cast<std::uint8_t>(random() % 0x20),
                                .qpn = rep.qpn,
                                .acknowledge = true,
                                .psn = (rep.psn + static_cast<std::uint32_t>(round)) & 0xFF'FFFF})
                          .payload(payload)
                          .overridePad(static_cast<std::uint8_t>(random() % 4))
                          .build();
        crowd.receive(packet, now);
        crowd.onTime(now += 1ms);
    }
    EXPECT_EQ(crowd.count().in, 1u);
}

} // namespace openipoib::peers
