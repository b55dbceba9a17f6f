// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Both ends of a reliable connection: what is lost comes again, and what makes no sense
// does no harm.
#include "peers/reliable.hpp"

#include <gtest/gtest.h>

namespace openipoib::peers
{

namespace
{

using namespace std::chrono_literals;

constexpr std::uint8_t noBuffers = 0x20; // RNR NAK

ib::Bth packet(ib::Opcode opcode, std::uint32_t psn)
{
    return {.opcode = static_cast<std::uint8_t>(opcode), .acknowledge = true, .psn = psn};
}

class Receiving : public testing::Test
{
  protected:
    Receiver::Outcome receive(ib::Opcode opcode, std::uint32_t psn, const io::Bytes &payload)
    {
        return receiver.receive(packet(opcode, psn), payload);
    }

    // What is answered is this alone.
    static void expectRefused(const Receiver::Outcome &outcome, std::uint8_t syndrome,
                              std::uint32_t psn)
    {
        EXPECT_FALSE(outcome.message);
        ASSERT_TRUE(outcome.answer);
        EXPECT_EQ(outcome.answer->syndrome, syndrome);
        EXPECT_EQ(outcome.answer->psn, psn);
    }

    static void expectTaken(const Receiver::Outcome &outcome, std::uint32_t psn,
                            const std::optional<io::Bytes> &message)
    {
        EXPECT_EQ(outcome.message, message);
        ASSERT_TRUE(outcome.answer);
        EXPECT_TRUE(outcome.answer->isAck());
        EXPECT_EQ(outcome.answer->psn, psn);
    }

    Receiver receiver{0xFF'FFFE};
};

class Sending : public testing::Test
{
  protected:
    void SetUp() override
    {
        sender.begin(0xFF'FFFF);
        for (const std::uint8_t byte : io::Bytes{1, 2, 3})
            sender.push({byte});
    }

    std::vector<std::uint32_t> due()
    {
        std::vector<std::uint32_t> psns;
        for (const auto &sent : sender.due(now))
            psns.push_back(sent.psn);
        return psns;
    }

    using Psns = std::vector<std::uint32_t>;

    Time now{1h};
    Sender sender;
};

} // namespace

TEST_F(Receiving, MessagesOfOneAndOfSeveralPackets)
{
    expectTaken(receive(ib::Opcode::rcSendOnly, 0xFF'FFFE, {1}), 0xFF'FFFE, io::Bytes{1});
    expectTaken(receive(ib::Opcode::rcSendFirst, 0xFF'FFFF, {2}), 0xFF'FFFF, std::nullopt);
    expectTaken(receive(ib::Opcode::rcSendMiddle, 0, {3}), 0, std::nullopt);
    const auto outcome = receive(ib::Opcode::rcSendLast, 1, {4});
    expectTaken(outcome, 1, io::Bytes{2, 3, 4});
    EXPECT_EQ(outcome.answer->messages, 2u);
    expectTaken(receive(ib::Opcode::rcSendOnly, 2, {}), 2, io::Bytes{});
}

TEST_F(Receiving, WhatComesAgainIsOnlyAcknowledgedAgain)
{
    (void)receive(ib::Opcode::rcSendOnly, 0xFF'FFFE, {1});
    expectTaken(receive(ib::Opcode::rcSendOnly, 0xFF'FFFE, {1}), 0xFF'FFFE, std::nullopt);
    expectTaken(receive(ib::Opcode::rcSendOnly, 0xFF'0000, {1}), 0xFF'FFFE, std::nullopt);
}

TEST_F(Receiving, AGapIsToldOnceUntilItIsFilled)
{
    const auto late = [this] { return receive(ib::Opcode::rcSendOnly, 0, {3}); };
    expectRefused(late(), Acknowledgement::outOfSequence, 0xFF'FFFE);
    EXPECT_FALSE(late().answer);
    expectTaken(receive(ib::Opcode::rcSendOnly, 0xFF'FFFE, {1}), 0xFF'FFFE, io::Bytes{1});
    expectRefused(late(), Acknowledgement::outOfSequence, 0xFF'FFFF);
}

TEST_F(Receiving, APacketThatContinuesNothingIsInvalid)
{
    for (const auto opcode : {ib::Opcode::rcSendMiddle, ib::Opcode::rcSendLast})
        expectRefused(receive(opcode, 0xFF'FFFE, {1}), Acknowledgement::invalidRequest, 0xFF'FFFE);
    expectTaken(receive(ib::Opcode::rcSendOnly, 0xFF'FFFE, {1}), 0xFF'FFFE, io::Bytes{1});
    expectRefused(receive(ib::Opcode::rcSendLast, 0xFF'FFFF, {2}), Acknowledgement::invalidRequest,
                  0xFF'FFFF);
}

TEST_F(Receiving, APacketThatBeginsInsideAMessageIsInvalid)
{
    (void)receive(ib::Opcode::rcSendFirst, 0xFF'FFFE, {1});
    for (const auto opcode : {ib::Opcode::rcSendFirst, ib::Opcode::rcSendOnly})
        expectRefused(receive(opcode, 0xFF'FFFF, {2}), Acknowledgement::invalidRequest, 0xFF'FFFF);
    expectTaken(receive(ib::Opcode::rcSendLast, 0xFF'FFFF, {3}), 0xFF'FFFF, io::Bytes{1, 3});
}

TEST_F(Receiving, AMessageEndsNoLaterThanAtTheLongest)
{
    receiver = Receiver(0);
    const std::uint32_t most = Receiver::longest / 4096;
    (void)receive(ib::Opcode::rcSendFirst, 0, io::Bytes(4096));
    for (std::uint32_t psn = 1; psn < most; ++psn)
        expectTaken(receive(ib::Opcode::rcSendMiddle, psn, io::Bytes(4096)), psn, std::nullopt);
    for (const auto opcode : {ib::Opcode::rcSendMiddle, ib::Opcode::rcSendLast})
        expectRefused(receive(opcode, most, io::Bytes(4096)), Acknowledgement::invalidRequest,
                      most);
    const auto outcome = receive(ib::Opcode::rcSendLast, most, io::Bytes(Receiver::longest % 4096));
    ASSERT_TRUE(outcome.message);
    EXPECT_EQ(outcome.message->size(), Receiver::longest);
}

TEST_F(Sending, AllAtOnceAndAgainWhenNobodyAnswers)
{
    EXPECT_EQ(due(), (Psns{0xFF'FFFF, 0, 1}));
    EXPECT_EQ(due(), Psns{});
    now += 1s;
    EXPECT_EQ(due(), (Psns{0xFF'FFFF, 0, 1}));
}

TEST_F(Sending, WhatIsAcknowledgedIsNotSentAgain)
{
    (void)due();
    sender.acknowledge({.psn = 0}, now);
    sender.push({4});
    EXPECT_EQ(due(), Psns{2});
    now += 1s;
    EXPECT_EQ(due(), (Psns{1, 2}));
}

TEST_F(Sending, AGapOrMissingBuffersSendItAgain)
{
    (void)due();
    for (const std::uint8_t syndrome : {Acknowledgement::outOfSequence, noBuffers}) {
        sender.acknowledge({.psn = 0, .syndrome = syndrome}, now);
        EXPECT_EQ(due(), Psns{});
        now += 10ms;
        EXPECT_EQ(due(), (Psns{0, 1}));
    }
}

TEST_F(Sending, AnAnswerToWhatWasNotSentIsNone)
{
    sender.acknowledge({.psn = 0xFF'FFFF}, now);
    EXPECT_EQ(due(), (Psns{0xFF'FFFF, 0, 1}));
    for (const std::uint32_t psn : {0xFF'FFFEu, 2u, 0x7F'0000u, 0x80'0000u, 0xF0'0000u}) {
        sender.acknowledge({.psn = psn}, now);
        sender.acknowledge({.psn = psn, .syndrome = Acknowledgement::outOfSequence}, now);
    }
    EXPECT_EQ(due(), Psns{});
    now += 1s;
    EXPECT_EQ(due(), (Psns{0xFF'FFFF, 0, 1}));
}

TEST_F(Sending, FailsWhenNobodyAnswersForLong)
{
    for (int i = 0; i < 9; ++i) {
        EXPECT_FALSE(sender.hasFailed());
        now += 1s;
        (void)due();
    }
    now += 1s;
    (void)due();
    EXPECT_TRUE(sender.hasFailed());
}

} // namespace openipoib::peers
