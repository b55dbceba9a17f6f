// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two endpoints joined by a cable that the test can cut, reorder and duplicate.
#include "link/endpoint.hpp"

#include "ib/packet_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>

namespace openipoib::link
{
namespace
{

using namespace std::chrono_literals;

io::Bytes numbered(std::uint32_t number)
{
    return ib::PacketBuilder{}.lrh({.dlid = 1}).bth({.psn = number}).deth({}).build();
}

std::uint32_t numberOf(const io::Bytes &packet)
{
    return ib::Bth::parse(io::View(packet).subspan(ib::Lrh::size))->psn;
}

class Cable : public testing::Test
{
  protected:
    // What happens to the frames of one direction in a step.
    using Fate = std::function<void(std::vector<io::Bytes> &)>;

    // Carry everything both ends have to say, then let 5 ms pass.
    void step()
    {
        a.onTime(now);
        b.onTime(now);
        carry(a, b);
        carry(b, a);
        now += 5ms;
    }

    template <typename Condition> bool until(Condition condition, Endpoint::Time::duration limit)
    {
        for (const auto end = now + limit; now < end; step())
            if (condition())
                return true;
        return condition();
    }

    void train()
    {
        ASSERT_TRUE(until([this] { return a.isUp() && b.isUp(); }, 500ms));
    }

    std::vector<std::uint32_t> received(Endpoint &end)
    {
        std::vector<std::uint32_t> numbers;
        for (const auto &packet : end.takeInput())
            numbers.push_back(numberOf(packet));
        return numbers;
    }

    // Send count packets from a, and expect all of them at b, once, in order.
    void expectTransfer(std::uint32_t count)
    {
        std::uint32_t sent = 0;
        std::vector<std::uint32_t> got;
        const bool done = until(
            [&] {
                for (; sent < count && a.canSend(); ++sent)
                    a.send(numbered(sent), now);
                const auto more = received(b);
                got.insert(got.end(), more.begin(), more.end());
                return got.size() >= count && a.unacknowledged() == 0;
            },
            120s);
        EXPECT_TRUE(done) << got.size() << " of " << count;
        ASSERT_EQ(got.size(), count);
        for (std::uint32_t i = 0; i < count; ++i)
            ASSERT_EQ(got[i], i);
    }

    Endpoint a{{.session = 11, .guid = 0xA}};
    Endpoint b{{.session = 22, .guid = 0xB}};
    Endpoint::Time now{1h};
    Fate fate = [](auto &) {};

  private:
    void carry(Endpoint &from, Endpoint &to)
    {
        auto frames = from.takeOutput();
        fate(frames);
        for (const auto &frame : frames)
            to.onFrame(frame, now);
    }
};

TEST_F(Cable, Trains)
{
    train();
    EXPECT_EQ(a.downs(), 0u);
}

TEST_F(Cable, OneWayCableDoesNotTrain)
{
    for (int i = 0; i < 100; ++i) {
        a.onTime(now);
        for (const auto &frame : a.takeOutput())
            b.onFrame(frame, now);
        b.onTime(now);
        static_cast<void>(b.takeOutput());
        now += 5ms;
    }
    EXPECT_FALSE(a.isUp());
    EXPECT_FALSE(b.isUp());
}

TEST_F(Cable, CarriesInOrder)
{
    train();
    expectTransfer(1000);
}

TEST_F(Cable, WindowClosesAndOpens)
{
    train();
    fate = [](auto &frames) { frames.clear(); };
    std::uint32_t sent = 0;
    for (; a.canSend(); ++sent)
        a.send(numbered(sent), now);
    EXPECT_EQ(sent, Endpoint::window);
    fate = [](auto &) {};
    EXPECT_TRUE(until([this] { return a.canSend(); }, 1s));
    EXPECT_TRUE(until([this] { return a.unacknowledged() == 0; }, 10s));
    EXPECT_EQ(received(b).size(), sent);
}

TEST_F(Cable, LossReorderAndDuplicationAreRepaired)
{
    train();
    std::mt19937 random(42);
    fate = [&random](auto &frames) {
        std::vector<io::Bytes> out;
        for (auto &frame : frames) {
            const auto dice = random() % 100;
            if (dice < 10)
                continue;
            if (dice < 20)
                out.push_back(frame);
            out.push_back(std::move(frame));
        }
        std::ranges::shuffle(out, random);
        frames = std::move(out);
    };
    expectTransfer(1000);
    EXPECT_EQ(a.downs(), 0u);
}

TEST_F(Cable, SilenceBringsTheLinkDownAndItTrainsAgain)
{
    train();
    fate = [](auto &frames) { frames.clear(); };
    EXPECT_TRUE(until([this] { return !a.isUp() && !b.isUp(); }, 1100ms));
    fate = [](auto &) {};
    train();
    EXPECT_EQ(a.downs(), 1u);
    expectTransfer(10);
}

TEST_F(Cable, PeerThatStartsAnewIsTakenAnew)
{
    train();
    b = Endpoint({.session = 33, .guid = 0xB});
    EXPECT_TRUE(until([this] { return a.downs() == 1 && a.isUp() && b.isUp(); }, 3s));
    expectTransfer(10);
}

TEST_F(Cable, SeveralPacketsInAFrame)
{
    train();
    io::Bytes payload = numbered(0);
    io::append(payload, numbered(1));
    payload.push_back(0xFF); // rest that is no packet
    a.sendFrame(payload, 2, now);
    EXPECT_TRUE(until([this] { return a.unacknowledged() == 0; }, 1s));
    EXPECT_EQ(received(b), (std::vector<std::uint32_t>{0, 1}));
}

TEST_F(Cable, HostileFramesChangeNothing)
{
    train();
    std::mt19937 random(7);
    const Header base = a.header(FrameType::data);
    for (int i = 0; i < 20000; ++i) {
        io::Bytes junk(random() % 200);
        std::ranges::generate(junk, [&random] { return static_cast<std::uint8_t>(random()); });
        if (i % 2 == 0) { // as seen by b: a good header of a stranger or of nobody
            Header header = base;
            header.type = static_cast<FrameType>(random());
            header.session = random() % 3 == 0 ? 0 : 22;
            header.seq = static_cast<std::uint32_t>(random());
            header.ack = static_cast<std::uint32_t>(random());
            junk = header.frame(junk);
        }
        b.onFrame(junk, now);
    }
    EXPECT_TRUE(b.isUp());
    EXPECT_TRUE(b.takeInput().empty());
    expectTransfer(100);
}

} // namespace
} // namespace openipoib::link
