// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Any packets for an emulated IPoIB peer, for libFuzzer: as they are, as an IPoIB datagram
// that is well wrapped, or as the SA's answer. What leaves is well formed, and no more
// than an answer a packet.
#include "ib/packet_builder.hpp"
#include "input.hpp"
#include "link/header.hpp"
#include "peer/ipoib_peer.hpp"
#include "promise.hpp"

#include <algorithm>
#include <array>

namespace
{

using namespace openipoib;
using namespace openipoib::fabric;

constexpr std::uint16_t lid = 7, smLid = 1, askerLid = 9;
constexpr std::uint32_t qkey = 0xB1B;
constexpr std::size_t most = 512;
constexpr std::size_t payloadAt = ib::Lrh::size + ib::Bth::size + ib::Deth::size;

void putChecksum(io::Bytes &out, std::size_t at, std::uint16_t check)
{
    out[at] = static_cast<std::uint8_t>(check >> 8);
    out[at + 1] = static_cast<std::uint8_t>(check);
}

// Right checksums of IPv4 and ICMP, where there is room for them.
void repairIpv4(io::Bytes &packet)
{
    const std::size_t header = packet.empty() ? 0 : std::size_t{packet[0] & 0xFU} * 4;
    if (header < 20 || packet.size() < header + 8)
        return;
    packet[2] = static_cast<std::uint8_t>(packet.size() >> 8);
    packet[3] = static_cast<std::uint8_t>(packet.size());
    putChecksum(packet, 10, 0);
    putChecksum(packet, 10, link::checksum(io::View(packet).first(header)));
    putChecksum(packet, header + 2, 0);
    putChecksum(packet, header + 2, link::checksum(io::View(packet).subspan(header)));
}

// Right length, next header and checksum of ICMPv6.
void repairIpv6(io::Bytes &packet)
{
    if (packet.size() < 48)
        return;
    const std::size_t length = packet.size() - 40;
    packet[4] = static_cast<std::uint8_t>(length >> 8);
    packet[5] = static_cast<std::uint8_t>(length);
    packet[6] = 58;
    putChecksum(packet, 42, 0);
    io::Bytes pseudo(packet.begin() + 8, packet.begin() + 40);
    io::append<4>(pseudo, length);
    io::append<4>(pseudo, 58);
    io::append(pseudo, io::View(packet).subspan(40));
    putChecksum(packet, 42, link::checksum(pseudo));
}

io::Bytes datagram(Input &input)
{
    constexpr std::array<std::uint16_t, 4> types{ib::IpoibHeader::arp, ib::IpoibHeader::ipv4,
                                                 ib::IpoibHeader::ipv6, 0x1234};
    const std::uint8_t choice = input.byte();
    const std::uint16_t type = types[choice & 3];
    io::Bytes payload = input.bytes(input.half() % most);
    if ((choice & 4) != 0 && type == ib::IpoibHeader::ipv4)
        repairIpv4(payload);
    if ((choice & 4) != 0 && type == ib::IpoibHeader::ipv6)
        repairIpv6(payload);
    ib::PacketBuilder builder;
    builder.deth({.qkey = qkey, .sourceQpn = 0x48}).ipoib({.type = type}).payload(payload);
    if ((choice & 8) != 0)
        return builder.lrh({.dlid = lid, .slid = askerLid})
            .bth({.qpn = Addresses::firstQpn + (choice >> 4)})
            .build();
    return builder.lrh({.dlid = 0xC000, .slid = askerLid})
        .grh({.destination = Memberships::broadcastMgid()})
        .bth({.qpn = ib::multicastQpn})
        .build();
}

class World
{
  public:
    World()
    {
        for (const char *range : {"10.0.0.1-10.0.0.8", "fd00::1-fd00::8"})
            peer_.add(*AddressRange::parse(range), now_);
        setPort(true, lid);
        while (!asked_.empty())
            answerRequests(true, {});
    }

    void step(Input &input)
    {
        const std::uint8_t what = input.byte();
        if ((what & 0xF) == 0) {
            now_ += std::chrono::seconds(what);
            peer_.onTime(now_);
        } else if ((what & 0xF) == 1) {
            setPort((what & 16) != 0, (what & 32) != 0 ? lid : input.half());
        } else if ((what & 0xF) == 2) {
            answerRequests((what & 16) != 0, input.bytes(what));
        } else {
            receive((what & 0xF) < 5 ? input.bytes(input.half() % most) : datagram(input));
        }
        promise(peer_.deadline() > now_, "nothing that is due is left");
    }

  private:
    void setPort(bool isActive, std::uint16_t number)
    {
        peer_.onPort({.isActive = isActive, .lid = number, .smLid = smLid}, false, now_);
        drain();
    }

    void receive(const io::Bytes &packet)
    {
        const auto headers = PacketHeaders::parse(packet);
        if (!headers)
            return;
        const bool isMad = headers->qpn == 1;
        peer_.receive(packet, *headers, now_);
        promise(drain() <= 1 || isMad, "an answer a packet");
    }

    // Grant what has been asked, or answer with bytes in place of those of the request.
    void answerRequests(bool isRight, const io::Bytes &changes)
    {
        for (io::Bytes mad : std::exchange(asked_, {})) {
            mad[3] = 0x81;
            const std::size_t record = 56;
            mad[record + 34] = qkey >> 8;
            mad[record + 35] = qkey & 0xFF;
            mad[record + 36] = 0xC0;
            mad[record + 38] = 0x84;
            if (!isRight)
                std::copy_n(changes.begin(), std::min(changes.size(), std::size_t{72}),
                            mad.begin() + 40);
            receive(ib::PacketBuilder{}
                        .lrh({.dlid = lid, .slid = smLid})
                        .bth({.qpn = 1})
                        .deth({.qkey = ib::gsiQkey, .sourceQpn = 1})
                        .payload(mad)
                        .build());
        }
    }

    std::size_t drain()
    {
        std::size_t count = 0;
        for (const auto &packet : peer_.takeOutput()) {
            const auto headers = PacketHeaders::parse(packet);
            promise(headers.has_value(), "packets make sense");
            if (headers->qpn != 1)
                ++count;
            else
                asked_.emplace_back(packet.begin() + payloadAt, packet.end() - ib::icrcSize);
        }
        return count;
    }

    Time now_{std::chrono::hours(1)};
    IpoibPeer peer_;
    std::vector<io::Bytes> asked_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    Input input({data, size});
    World world;
    while (!input.atEnd())
        world.step(input);
    return 0;
}
