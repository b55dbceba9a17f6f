// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What performance management asks of a port's counters, and is told. Places and widths
// are those of IBA volume 1, 16.1.3.5 and 16.1.4.11, not libibmad's.
#include "node_world.hpp"

namespace openipoib::fabric
{
namespace
{

constexpr std::uint16_t classPortInfo = 0x01, portCounters = 0x12, portCountersExtended = 0x1D;
constexpr std::uint32_t ok = 0, badVersion = 0x04, badMethod = 0x08, badAttribute = 0x0C,
                        badField = 0x1C;
constexpr std::size_t dataAt = 64, dataSize = 192;
constexpr std::uint8_t allPorts = 0xFF;
constexpr std::array<std::uint8_t, 3> somePorts{1, 2, 3};

struct Place {
    Counter counter;
    std::size_t bit; // the first, from the beginning of the attribute
    std::size_t bits;
    unsigned select;
    std::uint64_t unit = 1; // of what is counted
};

constexpr std::array<Place, 17> classicPlaces{{{Counter::symbolError, 32, 16, 0},
                                               {Counter::linkRecovery, 48, 8, 1},
                                               {Counter::linkDowned, 56, 8, 2},
                                               {Counter::rcvErrors, 64, 16, 3},
                                               {Counter::rcvRemotePhysical, 80, 16, 4},
                                               {Counter::rcvSwitchRelay, 96, 16, 5},
                                               {Counter::xmitDiscards, 112, 16, 6},
                                               {Counter::xmitConstraint, 128, 8, 7},
                                               {Counter::rcvConstraint, 136, 8, 8},
                                               {Counter::localIntegrity, 152, 4, 9},
                                               {Counter::bufferOverrun, 156, 4, 10},
                                               {Counter::vl15Dropped, 176, 16, 11},
                                               {Counter::xmitData, 192, 32, 12, 4},
                                               {Counter::rcvData, 224, 32, 13, 4},
                                               {Counter::xmitPackets, 256, 32, 14},
                                               {Counter::rcvPackets, 288, 32, 15},
                                               {Counter::xmitWait, 320, 32, 16}}};

constexpr std::array<Place, 8> extendedPlaces{{{Counter::xmitData, 64, 64, 0, 4},
                                               {Counter::rcvData, 128, 64, 1, 4},
                                               {Counter::xmitPackets, 192, 64, 2},
                                               {Counter::rcvPackets, 256, 64, 3},
                                               {Counter::unicastXmit, 320, 64, 4},
                                               {Counter::unicastRcv, 384, 64, 5},
                                               {Counter::multicastXmit, 448, 64, 6},
                                               {Counter::multicastRcv, 512, 64, 7}}};

std::uint64_t mostOf(const Place &place)
{
    return place.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << place.bits) - 1;
}

// Bits of an attribute, the most significant first.
std::uint64_t valueAt(io::View data, const Place &place)
{
    std::uint64_t value = 0;
    for (std::size_t bit = place.bit; bit < place.bit + place.bits; ++bit)
        value = value << 1 | (data[bit / 8] >> (7 - bit % 8) & 1U);
    return value;
}

void putAt(std::span<std::uint8_t> data, const Place &place, std::uint64_t value)
{
    for (std::size_t i = 0; i < place.bits; ++i) {
        const std::size_t bit = place.bit + place.bits - 1 - i;
        const auto mask = static_cast<std::uint8_t>(1U << (7 - bit % 8));
        data[bit / 8] =
            static_cast<std::uint8_t>((data[bit / 8] & ~mask) | ((value >> i & 1) != 0 ? mask : 0));
    }
}

// Which counters a Set is for: CounterSelect, and beyond its 16 bits CounterSelect2.
void select(std::span<std::uint8_t> data, std::uint32_t bits)
{
    data[2] = static_cast<std::uint8_t>(bits >> 8);
    data[3] = static_cast<std::uint8_t>(bits);
    if ((bits >> 16 & 1) != 0)
        data[18] = 1;
}

class PmaTest : public testing::Test
{
  protected:
    using Data = std::array<std::uint8_t, dataSize>;

    // The attribute of the answer; its status is kept.
    Data ask(ib::Method method, std::uint16_t attribute, const Data &data)
    {
        io::Bytes mad;
        ib::Mad{.mgmtClass = ib::MgmtClass::perf,
                .classVersion = classVersion,
                .method = method,
                .transaction = 0x1234567890,
                .attribute = attribute}
            .appendTo(mad);
        std::ranges::copy(data, mad.begin() + dataAt);
        pma.answer(mad);
        const auto header = ib::Mad::parse(mad);
        EXPECT_EQ(header->method, ib::Method::getResp);
        EXPECT_EQ(header->transaction, 0x1234567890U);
        EXPECT_EQ(header->attribute, attribute);
        status = header->status;
        Data answer{};
        std::copy_n(mad.begin() + dataAt, answer.size(), answer.begin());
        return answer;
    }

    static Data forPort(std::uint8_t port)
    {
        Data data{};
        data[1] = port;
        return data;
    }

    Data get(std::uint16_t attribute, std::uint8_t port = 1)
    {
        return ask(ib::Method::get, attribute, forPort(port));
    }

    // Set counters to what is wanted of them; bits say which.
    Data set(std::uint16_t attribute, std::uint8_t port, std::uint32_t bits, Data wanted = {})
    {
        wanted[1] = port;
        select(wanted, bits);
        return ask(ib::Method::set, attribute, wanted);
    }

    void count(std::uint8_t port, const Place &place, std::uint64_t value)
    {
        ports[port].add(place.counter, value * place.unit);
    }

    // All of a kind, each another value.
    template <std::size_t N> void countAll(std::uint8_t port, const std::array<Place, N> &places)
    {
        for (std::size_t i = 0; i < N; ++i)
            count(port, places[i], i % 14 + 1);
    }

    template <std::size_t N>
    void checkPlaces(std::uint16_t attribute, const std::array<Place, N> &places)
    {
        countAll(2, places);
        const Data answer = get(attribute, 2);
        EXPECT_EQ(status, ok);
        Data expected = forPort(2);
        for (std::size_t i = 0; i < N; ++i)
            putAt(expected, places[i], i % 14 + 1);
        EXPECT_EQ(answer, expected); // and nothing anywhere else
        EXPECT_EQ(get(attribute, 1), forPort(1));
    }

    template <std::size_t N>
    void checkSelection(std::uint16_t attribute, const std::array<Place, N> &places)
    {
        for (std::size_t chosen = 0; chosen < N; ++chosen) {
            const Data before = get(attribute);
            Data wanted;
            wanted.fill(0x55);
            wanted[18] = attribute == portCounters ? 0 : 0x55; // CounterSelect2
            const Data answer = set(attribute, 1, 1U << places[chosen].select, wanted);
            EXPECT_EQ(status, ok);
            const Data after = get(attribute);
            for (std::size_t i = 0; i < N; ++i) {
                const std::uint64_t value = valueAt(i == chosen ? wanted : before, places[i]);
                EXPECT_EQ(valueAt(answer, places[i]), value) << chosen << ' ' << i;
                EXPECT_EQ(valueAt(after, places[i]), value) << chosen << ' ' << i;
            }
            count(1, places[chosen], 3); // it goes on from there
            EXPECT_EQ(valueAt(get(attribute), places[chosen]), valueAt(wanted, places[chosen]) + 3);
        }
    }

    std::uint8_t classVersion = 1;
    std::uint32_t status = 0;
    std::array<PortCounters, 4> ports; // the first: of no port, as on an adapter
    Pma pma{3, [this](unsigned port) { return port == 0 ? nullptr : &ports.at(port); }};
};

TEST_F(PmaTest, EachCounterIsAtItsPlace)
{
    checkPlaces(portCounters, classicPlaces);
}

TEST_F(PmaTest, EachExtendedCounterIsAtItsPlace)
{
    checkPlaces(portCountersExtended, extendedPlaces);
}

TEST_F(PmaTest, ACounterStopsAtItsMost)
{
    Data expected = forPort(1);
    for (const Place &place : classicPlaces) {
        count(1, place, mostOf(place));
        putAt(expected, place, mostOf(place));
        EXPECT_EQ(get(portCounters), expected);
        count(1, place, 1);
        EXPECT_EQ(get(portCounters), expected) << "bit " << place.bit;
        count(1, place, mostOf(place) / 2);
        EXPECT_EQ(get(portCounters), expected) << "bit " << place.bit;
    }
    set(portCounters, 1, 0x1FFFF); // and begins again from there
    EXPECT_EQ(valueAt(get(portCounters), classicPlaces[9]), 0U);
    count(1, classicPlaces[9], 2);
    EXPECT_EQ(valueAt(get(portCounters), classicPlaces[9]), 2U);
}

TEST_F(PmaTest, AnExtendedCounterGoesOn)
{
    for (const Place &place : extendedPlaces) {
        count(1, place, std::uint64_t{1} << 32);
        count(1, place, 7);
        EXPECT_EQ(valueAt(get(portCountersExtended), place), (std::uint64_t{1} << 32) + 7);
    }
}

TEST_F(PmaTest, OnlyWhatIsSelectedIsSet)
{
    countAll(1, classicPlaces);
    checkSelection(portCounters, classicPlaces);
}

TEST_F(PmaTest, OnlyWhatIsSelectedIsSetOfTheExtendedOnes)
{
    countAll(1, extendedPlaces);
    checkSelection(portCountersExtended, extendedPlaces);
}

TEST_F(PmaTest, TheSelectionIsInTheAnswer)
{
    countAll(1, classicPlaces);
    const Data answer = set(portCounters, 1, 0x1F00F);
    EXPECT_EQ(answer[1], 1);
    EXPECT_EQ(io::read<2>(answer, 2), 0xF00FU);
    EXPECT_EQ(answer[18], 1);
}

// Nor does it give back what it came with.
TEST_F(PmaTest, AGetSetsNothing)
{
    countAll(1, classicPlaces);
    const Data before = get(portCounters);
    Data question;
    question.fill(0xFF);
    question[1] = 1;
    Data answer = ask(ib::Method::get, portCounters, question);
    EXPECT_EQ(status, ok);
    for (const std::size_t selects : std::array<std::size_t, 3>{2, 3, 18})
        answer[selects] = 0;
    EXPECT_EQ(answer, before);
    EXPECT_EQ(get(portCounters), before);
}

TEST_F(PmaTest, OnePortsCountersAreNotAnothers)
{
    for (const std::uint8_t port : somePorts)
        count(port, classicPlaces[0], port * 10U);
    set(portCounters, 2, 0x1FFFF);
    for (const std::uint8_t port : somePorts)
        EXPECT_EQ(valueAt(get(portCounters, port), classicPlaces[0]), port == 2 ? 0 : port * 10U);
}

TEST_F(PmaTest, ExtendedCountersAreSetApart)
{
    constexpr Place classic = classicPlaces[15], extended = extendedPlaces[3]; // received packets
    count(1, classic, 100);
    set(portCounters, 1, 0xFFFF);
    EXPECT_EQ(valueAt(get(portCounters), classic), 0U);
    EXPECT_EQ(valueAt(get(portCountersExtended), extended), 100U);
    count(1, classic, 5);
    set(portCountersExtended, 1, 0xFFFF);
    EXPECT_EQ(valueAt(get(portCounters), classic), 5U);
    EXPECT_EQ(valueAt(get(portCountersExtended), extended), 0U);
}

TEST_F(PmaTest, DataAreCountedInFourOctets)
{
    ports[1].add(Counter::xmitData, 11);
    EXPECT_EQ(valueAt(get(portCounters), classicPlaces[12]), 2U);
    EXPECT_EQ(valueAt(get(portCountersExtended), extendedPlaces[0]), 2U);
    ports[1].add(Counter::xmitData, 1); // the rest is not forgotten
    EXPECT_EQ(valueAt(get(portCounters), classicPlaces[12]), 3U);
}

TEST_F(PmaTest, AllPortsAreTheirSum)
{
    count(0, classicPlaces[0], 1000); // of no port
    for (const std::uint8_t port : somePorts) {
        count(port, classicPlaces[0], port);
        count(port, classicPlaces[9], 6); // three are more than four bits hold
        count(port, extendedPlaces[4], port * 100U);
    }
    Data answer = get(portCounters, allPorts);
    EXPECT_EQ(status, ok);
    EXPECT_EQ(answer[1], allPorts);
    EXPECT_EQ(valueAt(answer, classicPlaces[0]), 6U);
    EXPECT_EQ(valueAt(answer, classicPlaces[9]), 15U);
    EXPECT_EQ(valueAt(get(portCountersExtended, allPorts), extendedPlaces[4]), 600U);
    answer = set(portCounters, allPorts, 1);
    EXPECT_EQ(valueAt(answer, classicPlaces[0]), 0U);
    EXPECT_EQ(valueAt(answer, classicPlaces[9]), 15U);
    for (const std::uint8_t port : somePorts)
        EXPECT_EQ(valueAt(get(portCounters, port), classicPlaces[0]), 0U);
}

TEST_F(PmaTest, APortThatIsNotThereIsRefused)
{
    countAll(3, classicPlaces);
    const Data before = get(portCounters, 3);
    for (const auto attribute : {portCounters, portCountersExtended})
        for (const std::uint8_t port : std::array<std::uint8_t, 4>{0, 4, 5, 0xFE}) {
            const Data answer = get(attribute, port);
            EXPECT_EQ(status, badField) << attribute << " port " << int{port};
            EXPECT_EQ(answer, forPort(port));
            set(attribute, port, 0x1FFFF);
            EXPECT_EQ(status, badField) << attribute << " port " << int{port};
        }
    EXPECT_EQ(get(portCounters, 3), before);
}

TEST_F(PmaTest, OtherAttributesAreRefused)
{
    countAll(1, classicPlaces);
    // Notice, PortSamplesControl, PortSamplesResult, PortRcvErrorDetails, a vendor's
    for (const int attribute : {0x00, 0x02, 0x10, 0x11, 0x13, 0x15, 0x1C, 0x1E, 0x112, 0xFF00})
        for (const auto method : {ib::Method::get, ib::Method::set}) {
            Data question = forPort(1);
            select(question, 0x1FFFF);
            EXPECT_EQ(ask(method, static_cast<std::uint16_t>(attribute), question), question);
            EXPECT_EQ(status, badAttribute) << attribute;
        }
    EXPECT_EQ(valueAt(get(portCounters), classicPlaces[1]), 2U);
}

TEST_F(PmaTest, ClassPortInfoSaysWhatThereIs)
{
    Data garbage;
    garbage.fill(0xAA);
    const Data answer = ask(ib::Method::get, classPortInfo, garbage);
    EXPECT_EQ(status, ok);
    Data expected{};
    expected[0] = 1; // BaseVersion
    expected[1] = 1; // ClassVersion
    // AllPortSelect, IsExtendedWidthSupported, PortXmitWait
    expected[2] = 0x13;
    expected[7] = 18; // RespTimeValue: 4.096 us * 2^18
    EXPECT_EQ(answer, expected);
}

TEST_F(PmaTest, ClassPortInfoCannotBeSet)
{
    Data question{};
    question[0] = 2;
    EXPECT_EQ(ask(ib::Method::set, classPortInfo, question), question);
    EXPECT_EQ(status, badMethod);
    EXPECT_EQ(get(classPortInfo)[0], 1);
}

TEST_F(PmaTest, AnotherVersionIsRefused)
{
    countAll(1, classicPlaces);
    classVersion = 2;
    for (const auto attribute : {classPortInfo, portCounters, portCountersExtended}) {
        set(attribute, 1, 0x1FFFF);
        EXPECT_EQ(status, badVersion) << attribute;
    }
    classVersion = 1;
    EXPECT_EQ(valueAt(get(portCounters), classicPlaces[1]), 2U);
}

// The same by packets to a switch.
class NodePmaTest : public NodeWorld
{
  protected:
    static constexpr std::uint32_t asker = 0x55;

    void SetUp() override
    {
        configure();
        sent(1, vl15);
        for (int i = 0; i < 3; ++i)
            receive(2, data(13));
    }

    static io::Bytes request(ib::Method method, std::uint8_t port, std::uint16_t bits = 0)
    {
        io::Bytes mad;
        ib::Mad{.mgmtClass = ib::MgmtClass::perf, .method = method, .attribute = portCounters}
            .appendTo(mad);
        const auto body = std::span(mad).subspan(dataAt);
        body[1] = port;
        select(body, bits);
        return mad;
    }

    // The packet that answers one; empty if none does.
    io::Bytes ask(ib::Method method, std::uint8_t port, std::uint16_t bits = 0,
                  std::uint16_t pkey = ib::defaultPkey, std::uint32_t qpn = 1,
                  std::uint32_t qkey = ib::gsiQkey)
    {
        receive(1, ib::PacketBuilder{}
                       .lrh({.dlid = switchLid, .slid = smLid})
                       .bth({.pkey = pkey, .qpn = qpn})
                       .deth({.qkey = qkey, .sourceQpn = asker})
                       .payload(request(method, port, bits))
                       .build());
        const auto answers = sent(1, vl0);
        EXPECT_LE(answers.size(), 1U);
        return answers.empty() ? io::Bytes{} : answers[0];
    }

    static std::uint64_t received(const io::Bytes &answer)
    {
        return valueAt(io::View(madOf(answer)).subspan(dataAt), classicPlaces[15]);
    }
};

TEST_F(NodePmaTest, WhoAsksIsToldWhatAPortHasCounted)
{
    const io::Bytes answer = ask(ib::Method::get, 2);
    ASSERT_FALSE(answer.empty());
    EXPECT_EQ(ib::Lrh::parse(answer)->dlid, smLid);
    EXPECT_EQ(ib::Lrh::parse(answer)->slid, switchLid);
    EXPECT_EQ(ib::Bth::parse(io::View(answer).subspan(8))->qpn, asker);
    EXPECT_EQ(received(answer), 3U);
}

TEST_F(NodePmaTest, WhoClearsCountersClearsThem)
{
    ASSERT_FALSE(ask(ib::Method::set, 2, 0x8000).empty());
    receive(2, data(13));
    const io::Bytes answer = ask(ib::Method::get, 2);
    ASSERT_FALSE(answer.empty());
    EXPECT_EQ(received(answer), 1U);
    EXPECT_EQ(node.port(2).counters.get(Counter::rcvPackets), 4U); // what ibfabric-ctl shows
}

TEST_F(NodePmaTest, AllPortsAreThoseWithACable)
{
    const auto countOf = [this](std::uint8_t port) {
        return node.port(port).counters.get(Counter::rcvPackets);
    };
    node.port(0).counters.add(Counter::rcvPackets, 1000);
    const io::Bytes answer = ask(ib::Method::get, allPorts);
    ASSERT_FALSE(answer.empty());
    EXPECT_EQ(received(answer), countOf(1) + countOf(2) + countOf(3) + countOf(4));
    EXPECT_EQ(received(ask(ib::Method::get, 0)), 1000U);
}

TEST_F(NodePmaTest, WhatIsNoRequestIsNotAnswered)
{
    const std::uint64_t before = drops(1, Drop::management);
    for (const int method : {0x00, 0x03, 0x05, 0x07, 0x81, 0x82, 0x12})
        EXPECT_TRUE(ask(static_cast<ib::Method>(method), 2, 0xFFFF).empty()) << method;
    EXPECT_TRUE(ask(ib::Method::set, 2, 0xFFFF, 0x8123).empty()); // a foreign P_Key
    EXPECT_TRUE(ask(ib::Method::set, 2, 0xFFFF, ib::defaultPkey, 2).empty());
    EXPECT_EQ(drops(1, Drop::management), before + 9);
    EXPECT_EQ(received(ask(ib::Method::get, 2)), 3U);
}

// Privileged users alone can send with that Q_Key.
TEST_F(NodePmaTest, OnlyWhoHasTheKeysIsAnswered)
{
    const auto violations = [this](MAD_FIELDS field) { return node.port(0).info(field); };
    for (const std::uint32_t qkey : {0U, 0xB1BU, 0x8001'0001U})
        EXPECT_TRUE(ask(ib::Method::set, 2, 0xFFFF, ib::defaultPkey, 1, qkey).empty()) << qkey;
    EXPECT_EQ(violations(IB_PORT_QKEY_VIOL_F), 3U);
    EXPECT_EQ(violations(IB_PORT_PKEY_VIOL_F), 0U);
    EXPECT_TRUE(ask(ib::Method::set, 2, 0xFFFF, 0x8123).empty());
    EXPECT_EQ(violations(IB_PORT_PKEY_VIOL_F), 1U);
    EXPECT_EQ(received(ask(ib::Method::get, 2)), 3U);
    const io::Bytes answer = ask(ib::Method::get, 2, 0, 0x7FFF); // a limited member asks
    ASSERT_FALSE(answer.empty());
    EXPECT_EQ(PacketHeaders::parse(answer)->pkey, ib::defaultPkey); // or it would not take it
    Attribute keys{};
    keys[0] = 0x7F;
    keys[1] = 0xFF;
    ASSERT_EQ(set(pkeyTable, 0, keys), 0U);
    EXPECT_FALSE(ask(ib::Method::get, 2).empty());
    EXPECT_TRUE(ask(ib::Method::set, 2, 0xFFFF, 0x7FFF).empty()); // two limited ones do not meet
    EXPECT_EQ(violations(IB_PORT_PKEY_VIOL_F), 2U);
    EXPECT_EQ(received(ask(ib::Method::get, 2)), 3U);
}

// Whoever reads them, or does not: the source LID may be anybody's.
TEST_F(NodePmaTest, AnswersThatNobodyTakesHoldBackWhoAsks)
{
    const std::size_t before = node.port(3).queues[vl0].packets.size();
    const io::Bytes question = ib::PacketBuilder{}
                                   .lrh({.vl = 2, .dlid = switchLid, .slid = 13})
                                   .bth({.qpn = 1})
                                   .deth({.qkey = ib::gsiQkey, .sourceQpn = asker})
                                   .payload(request(ib::Method::get, 2))
                                   .build();
    std::size_t given = 0;
    for (; node.openLanes(1)[2] && given < 10'000; ++given)
        receive(1, question);
    EXPECT_LT(given, 1000U);
    EXPECT_LT(node.port(3).queues[vl0].bytes, 300'000U);
    EXPECT_EQ(node.openLanes(1), allLanes & ~Lanes{1U << 2});
    EXPECT_TRUE(acceptsInput(2));
    node.setOverdue(1, true);
    receive(1, question);
    EXPECT_EQ(drops(3, Drop::noRoom), 1U); // the answer to it
    node.setOverdue(1, false);
    EXPECT_EQ(sent(3, vl0).size(), before + given);
    EXPECT_TRUE(acceptsInput(1));
}

} // namespace
} // namespace openipoib::fabric
