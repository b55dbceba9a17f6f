// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The parts of a `udp:` cable that have no sockets: addresses, keys, datagrams, numbers.
#include "io/key_file.hpp"
#include "udp/address.hpp"
#include "udp/datagram.hpp"
#include "udp/reassembly.hpp"
#include "udp/replay.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace openipoib::fabric
{
namespace
{

using namespace std::chrono_literals;

const io::Bytes key(keySize, 7);

TEST(UdpEnds, AreReadAsPeopleWriteThem)
{
    EXPECT_EQ(UdpEnds::parse("10.0.0.1:7471=far.example:7472").value(),
              (UdpEnds{{"10.0.0.1", 7471}, UdpEnd{"far.example", 7472}}));
    EXPECT_EQ(UdpEnds::parse("[fd00::1]:1=[fd00::2]:2").value(),
              (UdpEnds{{"fd00::1", 1}, UdpEnd{"fd00::2", 2}}));
    EXPECT_EQ(UdpEnds::parse(":7471").value(), (UdpEnds{{"", 7471}, {}}));
    EXPECT_EQ(UdpEnds::parse("=10.0.0.2:1").value(), (UdpEnds{{"", 0}, UdpEnd{"10.0.0.2", 1}}));
    EXPECT_EQ(UdpEnds::parse("[fe80::1%eth0]:1").value(), (UdpEnds{{"fe80::1%eth0", 1}, {}}));
}

TEST(UdpEnds, AreRefusedIfTheyCouldMeanSomethingElse)
{
    for (const char *wrong :
         {"",           "7471",      ":",           ":x",    ":65536", ":-1",
          ":1x",        "fd00::1:1", "[fd00::1]",   "[]:1",  "[a]:1",  "[fd00::1:1",
          "a b:1",      ":0",        "10.0.0.1:1=", ":1=:2", ":1=a:0", ":1=fd00::1:2",
          ":1=a:1=b:2", ":1=[b]:1"})
        EXPECT_FALSE(UdpEnds::parse(wrong)) << wrong;
}

class KeyFile : public testing::Test
{
  protected:
    KeyFile()
    {
        std::string pattern = testing::TempDir() + "keyXXXXXX";
        folder = ::mkdtemp(pattern.data());
    }
    ~KeyFile() override { std::filesystem::remove_all(folder); }

    io::Result<io::Bytes> read(const std::string &text, mode_t mode = 0600)
    {
        const std::string file = folder / "key";
        std::ofstream(file) << text;
        ::chmod(file.c_str(), mode);
        return readKey(file);
    }

    std::filesystem::path folder;
    std::string right = std::string(62, '0') + "aF";
};

TEST_F(KeyFile, HasSixtyFourDigits)
{
    io::Bytes expected(keySize);
    expected.back() = 0xAF;
    EXPECT_EQ(read(right + "\n").value(), expected);
    EXPECT_EQ(read(right, 0400).value(), expected);
}

TEST_F(KeyFile, WithSomethingElseIsRefused)
{
    for (const std::string &wrong : {std::string(), right.substr(1), right + "0", "x" + right,
                                     "0x" + right.substr(2), right + std::string(100, ' ') + "0"})
        EXPECT_EQ(read(wrong).error().code, EINVAL) << wrong;
    EXPECT_EQ(readKey(folder / "none").error().code, ENOENT);
    EXPECT_EQ(readKey(folder).error().code, EINVAL);
    ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
    EXPECT_EQ(readKey(folder / "fifo").error().code, EINVAL);
}

TEST_F(KeyFile, ThatOthersMayUseIsRefused)
{
    for (const mode_t mode : {0640, 0620, 0604, 0602, 0610, 0644, 0777})
        EXPECT_EQ(read(right, mode).error().code, EACCES) << std::oct << mode;
}

TEST(Mac, IsThatOfTheStandard)
{
    // RFC 4231, test case 2, and once more, since the context is used again.
    const auto bytes = [](std::string_view text) { return io::Bytes(text.begin(), text.end()); };
    const Mac mac(bytes("Jefe"));
    for (unsigned i = 0; i < 2; ++i) {
        const Mac::Code code = mac.of(bytes("what do ya want for nothing?"));
        EXPECT_EQ(io::read<8>(code, 0), 0x5bdcc146bf60754eU);
        EXPECT_EQ(io::read<8>(code, 24), 0x9dec58b964ec3843U);
    }
    EXPECT_FALSE(mac.agrees(bytes("text"), {}));
}

TEST(Datagram, SaysTheSameAfterTheWire)
{
    const Mac mac(key);
    const io::Bytes payload{1, 2, 3};
    const auto wire =
        Datagram{.count = 3, .index = 2, .from = 5, .to = 6, .seq = 9, .payload = payload}.bytes(
            mac);
    EXPECT_EQ(wire.size(), Datagram::overhead + 3);
    const auto read = Datagram::parse(wire, mac).value();
    EXPECT_EQ(read.count, 3);
    EXPECT_EQ(read.index, 2);
    EXPECT_EQ(read.from, 5U);
    EXPECT_EQ(read.to, 6U);
    EXPECT_EQ(read.seq, 9U);
    EXPECT_EQ(read.first(), 7U);
    EXPECT_TRUE(std::ranges::equal(read.payload, payload));
}

TEST(Datagram, IsRefusedIfABitOfItHasChanged)
{
    const Mac mac(key);
    const io::Bytes payload{1, 2, 3};
    const auto right =
        Datagram{.count = 1, .from = 5, .to = 6, .seq = 9, .payload = payload}.bytes(mac);
    ASSERT_TRUE(Datagram::parse(right, mac));
    for (std::size_t bit = 0; bit < right.size() * 8; ++bit) {
        auto wrong = right;
        wrong[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        ASSERT_FALSE(Datagram::parse(wrong, mac)) << bit;
        EXPECT_EQ(Datagram::parse(wrong, mac).error(),
                  bit < 8 ? DatagramFault::version : DatagramFault::code);
    }
    EXPECT_EQ(Datagram::parse(right, Mac(io::Bytes(keySize, 8))).error(), DatagramFault::code);
    for (std::size_t size = 0; size < right.size(); ++size)
        EXPECT_FALSE(Datagram::parse(io::View(right).first(size), mac)) << size;
}

TEST(Datagram, IsRefusedIfItsPartsDoNotAddUp)
{
    const Mac mac(key);
    const io::Bytes one(1);
    for (const Datagram &wrong :
         {Datagram{.count = 0, .index = 0, .from = 1, .to = 1, .seq = 1, .payload = one},
          Datagram{.count = 0, .index = 1, .from = 1, .to = 1, .seq = 1, .payload = {}},
          Datagram{.count = 1, .index = 0, .from = 1, .to = 1, .seq = 1, .payload = {}},
          Datagram{.count = 2, .index = 2, .from = 1, .to = 1, .seq = 9, .payload = one},
          Datagram{.count = 9, .index = 3, .from = 1, .to = 1, .seq = 2, .payload = one},
          Datagram{.count = 1, .index = 0, .from = 0, .to = 1, .seq = 1, .payload = one}})
        EXPECT_EQ(Datagram::parse(wrong.bytes(mac), mac).error(), DatagramFault::length);
}

TEST(ReplayWindow, TakesEachNumberOnce)
{
    ReplayWindow window;
    window.begin(100);
    EXPECT_FALSE(window.take(100));
    EXPECT_TRUE(window.take(103));
    EXPECT_TRUE(window.take(101));
    EXPECT_FALSE(window.take(101));
    EXPECT_TRUE(window.take(102));
    EXPECT_TRUE(window.take(99));
    EXPECT_EQ(window.newest(), 103U);
}

TEST(ReplayWindow, TakesNothingThatIsTooOldToTell)
{
    ReplayWindow window;
    window.begin(1);
    EXPECT_TRUE(window.take(ReplayWindow::size));
    EXPECT_TRUE(window.take(2));
    EXPECT_FALSE(window.take(1));
    EXPECT_TRUE(window.take(ReplayWindow::size + 3)); // where 3 was
    EXPECT_FALSE(window.take(3));
    EXPECT_TRUE(window.take(4));
    EXPECT_TRUE(window.take(1'000'000));
    EXPECT_FALSE(window.take(1'000'000 - ReplayWindow::size));
    EXPECT_TRUE(window.take(1'000'000 - ReplayWindow::size + 1));
    EXPECT_TRUE(window.take(~std::uint64_t{0}));
}

class ReassemblyTest : public testing::Test
{
  protected:
    static constexpr std::size_t most = 10;

    // A fragment of the frame that begins with that number.
    std::optional<io::Bytes> add(std::uint64_t first, std::uint8_t index, std::uint8_t count,
                                 const io::Bytes &payload)
    {
        return reassembly.add(
            {.count = count, .index = index, .from = 1, .seq = first + index, .payload = payload},
            now);
    }

    UdpCounters counters;
    Reassembly reassembly{most, counters};
    Time now{1h};
};

TEST_F(ReassemblyTest, FragmentsComeInAnyOrder)
{
    EXPECT_FALSE(add(10, 2, 3, {5}));
    EXPECT_FALSE(add(20, 1, 2, {8}));
    EXPECT_FALSE(add(10, 0, 3, {1, 2}));
    EXPECT_EQ(add(20, 0, 2, {7}), (io::Bytes{7, 8}));
    EXPECT_EQ(add(10, 1, 3, {3, 4}), (io::Bytes{1, 2, 3, 4, 5}));
    EXPECT_EQ(reassembly.frames(), 0U);
    EXPECT_EQ(add(30, 0, 1, {9}), io::Bytes{9});
}

TEST_F(ReassemblyTest, FragmentsThatDoNotFitEndTheFrame)
{
    EXPECT_FALSE(add(10, 0, 3, {1}));
    EXPECT_FALSE(add(10, 1, 2, {1})); // of another number of them
    EXPECT_FALSE(add(20, 0, 3, {1}));
    EXPECT_FALSE(add(20, 0, 3, {1})); // twice
    EXPECT_EQ(counters.rxFragment, 2U);
    EXPECT_EQ(reassembly.frames(), 0U);
}

TEST_F(ReassemblyTest, NoFrameIsLongerThanOneMayBe)
{
    EXPECT_FALSE(add(10, 0, 1, io::Bytes(most + 1)));
    EXPECT_FALSE(add(20, 0, 2, io::Bytes(most)));
    EXPECT_FALSE(add(20, 1, 2, io::Bytes(1)));
    EXPECT_EQ(counters.rxFragment, 2U);
    EXPECT_EQ(reassembly.frames(), 0U);
    EXPECT_TRUE(add(30, 0, 1, io::Bytes(most)));
}

TEST_F(ReassemblyTest, HoldsSoManyFramesAndGivesUpTheOldest)
{
    for (std::uint64_t frame = 1; frame <= Reassembly::mostFrames + 1; ++frame)
        EXPECT_FALSE(add(frame * 2, 0, 2, {1}));
    EXPECT_EQ(reassembly.frames(), Reassembly::mostFrames);
    EXPECT_EQ(counters.rxIncomplete, 1U);
    EXPECT_TRUE(add(4, 1, 2, {1}));
    EXPECT_FALSE(add(2, 1, 2, {1}));
}

TEST_F(ReassemblyTest, HoldsThemForSoLong)
{
    EXPECT_FALSE(add(10, 0, 2, {1}));
    now += Reassembly::longest - 1ms;
    reassembly.expire(now);
    EXPECT_EQ(reassembly.frames(), 1U);
    now += Reassembly::longest / 4;
    reassembly.expire(now);
    EXPECT_EQ(reassembly.frames(), 0U);
    EXPECT_EQ(counters.rxIncomplete, 1U);
}

} // namespace
} // namespace openipoib::fabric
