// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Who hears which packets, and what is written down of them.
#include "fabric_world.hpp"

#include "io/file.hpp"
#include "io/pcap.hpp"
#include "io/process.hpp"
#include "io/recorder.hpp"

#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace openipoib::fabric
{
namespace
{

class Folder
{
  public:
    Folder() { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    Folder(Folder &&) = delete;
    Folder &operator=(Folder &&) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string file(const std::string &name) const { return path_ + "/" + name; }

  private:
    std::string path_ = testing::TempDir() + "captureXXXXXX";
};

struct Ear final : PacketEar {
    void onPacket(PortRef at, Way way, io::View /*packet*/, Time /*now*/) override
    {
        heard.emplace_back(at, way);
    }
    std::vector<std::pair<PortRef, Way>> heard;
};

std::chrono::nanoseconds wallClock(Time /*now*/)
{
    return std::chrono::seconds(1'700'000'000) + std::chrono::nanoseconds(5);
}

// Sizes of the packets in a capture; it must have nothing but whole ones.
std::vector<std::size_t> packetsIn(std::string_view bytes)
{
    const io::View view(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
    std::vector<std::size_t> sizes;
    if (view.size() < pcapHeaderSize || io::read<4>(view, 0) != 0xA1B23C4D ||
        io::read<4>(view, 20) != 197) {
        ADD_FAILURE() << "no header";
        return sizes;
    }
    for (std::size_t at = pcapHeaderSize; at < view.size(); at += pcapRecordHeaderSize) {
        if (at + pcapRecordHeaderSize > view.size() ||
            at + pcapRecordHeaderSize + io::read<4>(view, at + 8) > view.size()) {
            ADD_FAILURE() << "a part of a packet";
            break;
        }
        const std::size_t stored = io::read<4>(view, at + 8);
        sizes.push_back(stored - erfHeaderSize - vcrcSize);
        at += stored;
    }
    return sizes;
}

std::string contents(const std::string &path)
{
    return io::readFile(path, 1 << 24).value_or("");
}

class CaptureTest : public FabricWorld
{
  protected:
    // An unreliable datagram from the host, as IPoIB sends them.
    void sendIpoib(std::uint16_t type, const io::Bytes &payload)
    {
        host.send(ib::PacketBuilder{}
                      .lrh({.dlid = 0xC000, .slid = 5})
                      .grh({})
                      .bth({.qpn = 0xFFFFFF})
                      .deth({.qkey = 0xB1B, .sourceQpn = 0x48})
                      .ipoib({.type = type})
                      .payload(payload)
                      .build(),
                  now);
    }

    void sendArp()
    {
        io::Bytes arp;
        io::append<2>(arp, 32); // InfiniBand
        io::append<2>(arp, ib::IpoibHeader::ipv4);
        io::append<2>(arp, 0x1404); // lengths of the addresses
        io::append<2>(arp, 1);      // request
        ib::HardwareAddress{.qpn = 0x48}.appendTo(arp);
        io::append<4>(arp, 0x0A000001);
        ib::HardwareAddress{}.appendTo(arp);
        io::append<4>(arp, 0x0A000002);
        sendIpoib(ib::IpoibHeader::arp, arp);
    }

    void sendPing()
    {
        io::Bytes ping;
        io::append<4>(ping, 0x4500001C); // IPv4, 28 octets
        io::append<4>(ping, 0x00004000);
        io::append<4>(ping, 0x400126DF); // TTL 64, ICMP, checksum
        io::append<4>(ping, 0x0A000001);
        io::append<4>(ping, 0x0A000002);
        io::append<4>(ping, 0x0800F7FD); // echo request, checksum
        io::append<4>(ping, 0x00010001);
        sendIpoib(ib::IpoibHeader::ipv4, ping);
    }

    void sendConnectRequest()
    {
        io::Bytes mad;
        ib::Mad{.attribute = 0x10}.appendTo(mad); // ConnectRequest
        mad[1] = 0x07;                            // communication management
        mad[2] = 2;
        mad[3] = 0x03; // Send
        host.send(ib::PacketBuilder{}
                      .lrh({.dlid = 6, .slid = 5})
                      .bth({.qpn = 1})
                      .deth({.qkey = ib::gsiQkey, .sourceQpn = 1})
                      .payload(mad)
                      .build(),
                  now);
    }

    Folder folder;
};

TEST_F(CaptureTest, PacketsAreHeardOnTheirWay)
{
    steps(20);
    Ear ear;
    fabric.setEar(&ear);
    ASSERT_FALSE(probe({1, 4}).empty());
    using Heard = std::vector<std::pair<PortRef, Way>>;
    EXPECT_EQ(ear.heard, (Heard{{port("S-1:1"), Way::entry},
                                {port("S-1:4"), Way::out},
                                {port("S-2:4"), Way::in},
                                {port("S-2:4"), Way::out},
                                {port("S-1:4"), Way::in},
                                {port("S-1:1"), Way::out}}));
    fabric.setEar(nullptr);
    ASSERT_FALSE(probe({1}).empty());
    EXPECT_EQ(ear.heard.size(), 6U);
}

TEST_F(CaptureTest, AFileHasEachPacketOnceALink)
{
    steps(20);
    Recorder recorder(wallClock);
    ASSERT_TRUE(recorder.openFile(folder.file("all"), 1 << 20));
    fabric.setEar(&recorder);
    ASSERT_FALSE(probe({1, 4}).empty());
    recorder.flush();
    constexpr std::size_t size = 8 + 12 + 8 + 256 + 4; // LRH, BTH, DETH, MAD, ICRC
    EXPECT_EQ(packetsIn(contents(folder.file("all"))), std::vector(4, size));
}

TEST_F(CaptureTest, FilesAreRotatedAndBounded)
{
    constexpr std::uint64_t bound = 1 << 20;
    constexpr std::size_t size = 4096;
    Recorder recorder(wallClock);
    ASSERT_TRUE(recorder.openFile(folder.file("all"), bound));
    for (int i = 0; i < 1000; ++i) { // four times as much
        recorder.onPacket({}, Way::out, io::Bytes(size), now);
        if (i % 7 == 0)
            recorder.flush();
        ASSERT_TRUE(recorder.isRecording());
    }
    recorder.flush();
    std::size_t packets = 0;
    for (const auto *name : {"all", "all.1"}) {
        const std::string bytes = contents(folder.file(name));
        EXPECT_LE(bytes.size(), bound / 2) << name;
        packets += packetsIn(bytes).size();
    }
    EXPECT_GT(packets, bound / 2 / (size + 100));
    EXPECT_EQ(recorder.lost(), 0U);
}

TEST_F(CaptureTest, WhatCannotBeWrittenEndsTheCaptureAlone)
{
    Recorder recorder(wallClock);
    EXPECT_FALSE(recorder.openFile(folder.file("none/all"), 1 << 20));
    EXPECT_FALSE(recorder.isRecording());
    ASSERT_TRUE(recorder.openFile(folder.file("all"), 1 << 20));
    std::filesystem::create_directory(folder.file("all.1"));
    for (int i = 0; i < 600; ++i)
        recorder.onPacket({}, Way::out, io::Bytes(4096), now);
    recorder.flush();
    EXPECT_FALSE(recorder.isRecording());
}

class StreamTest : public CaptureTest
{
  protected:
    void SetUp() override
    {
        CaptureTest::SetUp();
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
        local = io::UniqueFd(ends[0]);
        remote = io::UniqueFd(ends[1]);
    }

    std::string take()
    {
        std::string all;
        std::array<char, 65536> buffer{};
        for (;;) {
            const ssize_t got = ::recv(remote.get(), buffer.data(), buffer.size(), 0);
            if (got <= 0) {
                isClosed = got == 0;
                return all;
            }
            all.append(buffer.data(), static_cast<std::size_t>(got));
        }
    }

    Recorder recorder{wallClock};
    io::UniqueFd local, remote;
    bool isClosed = false;
};

TEST_F(StreamTest, APortsPacketsUpToACount)
{
    recorder.addStream(std::move(local), port("S-1:4"), 2);
    recorder.onPacket(port("S-1:4"), Way::in, io::Bytes(100), now);
    recorder.onPacket(port("S-1:1"), Way::in, io::Bytes(101), now);
    recorder.flush();
    EXPECT_EQ(packetsIn(take()), (std::vector<std::size_t>{100}));
    EXPECT_FALSE(isClosed);
    recorder.onPacket(port("S-1:4"), Way::out, io::Bytes(200), now);
    recorder.onPacket(port("S-1:4"), Way::out, io::Bytes(300), now);
    recorder.flush();
    EXPECT_EQ(take().size(), pcapOverhead + 200);
    EXPECT_TRUE(isClosed);
    EXPECT_FALSE(recorder.isRecording());
}

TEST_F(StreamTest, AReaderThatDoesNotReadLosesPacketsAndNothingWaits)
{
    recorder.addStream(std::move(local), port("S-1:4"), 0);
    for (int i = 0; i < 4000; ++i) { // 16 MiB
        recorder.onPacket(port("S-1:4"), Way::in, io::Bytes(4096), now);
        recorder.flush();
    }
    EXPECT_GT(recorder.lost(), 1000U);
    EXPECT_TRUE(recorder.isRecording());
    std::string all; // of what has come there are only whole packets
    for (std::string part = take(); !part.empty(); part = take()) {
        all += part;
        recorder.flush();
    }
    EXPECT_EQ(packetsIn(all).size(), 4000 - recorder.lost());
}

TEST_F(StreamTest, AReaderThatIsGoneIsForgotten)
{
    ASSERT_NE(std::signal(SIGPIPE, SIG_IGN), SIG_ERR);
    recorder.addStream(std::move(local), port("S-1:4"), 0);
    remote.reset();
    recorder.onPacket(port("S-1:4"), Way::in, io::Bytes(100), now);
    recorder.flush();
    EXPECT_FALSE(recorder.isRecording());
}

TEST_F(StreamTest, ReadersThatAreGoneMakeRoomThoughTheirPortIsIdle)
{
    std::array<std::array<int, 2>, Recorder::mostStreams> pairs{};
    for (auto &ends : pairs) {
        EXPECT_FALSE(recorder.isFull());
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
        recorder.addStream(io::UniqueFd(ends[0]), port("S-1:4"), 0);
        recorder.flush();
    }
    EXPECT_TRUE(recorder.isFull());
    ASSERT_EQ(::write(pairs[2][1], "talk", 4), 4); // what it says does not hide that it goes
    ::close(pairs[2][1]);
    EXPECT_FALSE(recorder.isFull());
    recorder.addStream(std::move(local), port("S-1:4"), 0);
    EXPECT_TRUE(recorder.isFull());
    for (const auto &ends : pairs)
        if (ends != pairs[2])
            ::close(ends[1]);
}

TEST_F(CaptureTest, TsharkReadsIt)
{
    steps(20);
    ASSERT_TRUE(host.isUp());
    Recorder recorder(wallClock);
    ASSERT_TRUE(recorder.openFile(folder.file("all"), 1 << 20));
    fabric.setEar(&recorder);
    ASSERT_FALSE(probe({1}).empty());
    sendArp();
    sendPing();
    sendConnectRequest();
    steps(2);
    recorder.flush();
    const auto tshark = io::runProgram({"tshark", "-n", "-r", folder.file("all")});
    ASSERT_TRUE(tshark) << tshark.error().text() << ": scripts/bootstrap installs it";
    EXPECT_EQ(tshark->status, 0) << tshark->errors;
    for (const auto *words :
         {"SubnGet(NodeInfo)", "SubnGetResp(NodeInfo)", "Who has 10.0.0.2? Tell 10.0.0.1",
          "Echo (ping) request", "ConnectRequest"})
        EXPECT_NE(tshark->output.find(words), std::string::npos) << words << "\n" << tshark->output;
    EXPECT_EQ(tshark->output.find("Malformed"), std::string::npos) << tshark->output;
}

} // namespace
} // namespace openipoib::fabric
