// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/ipoib.hpp"
#include "link/header.hpp"
#include "peer/answer.hpp"

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t arpSize = 56;
constexpr std::uint16_t arpInfiniband = 32;
constexpr std::uint16_t arpRequest = 1;
constexpr std::uint16_t arpReply = 2;
constexpr std::size_t ipv4AddressSize = 4;
constexpr std::size_t senderHardwareAt = 8;
constexpr std::size_t senderAt = senderHardwareAt + ib::HardwareAddress::size;
constexpr std::size_t targetAt = senderAt + ipv4AddressSize + ib::HardwareAddress::size;

constexpr std::size_t headerSize = 20;
constexpr std::size_t protocolAt = 9;
constexpr std::size_t sourceAt = 12;
constexpr std::size_t destinationAt = 16;
constexpr std::uint8_t protocolIcmp = 1;
constexpr std::uint16_t fragmentBits = 0x3FFF; // more to come, and the offset
constexpr std::uint8_t hops = 64;
constexpr std::size_t echoSize = 8;
constexpr std::uint8_t echoRequest = 8;
constexpr std::uint8_t echoReply = 0;

// The header of an answer to a packet, without options.
io::Bytes headerTo(io::View packet, std::size_t payload)
{
    io::Bytes out;
    io::append<1>(out, 0x45);
    io::append<1>(out, packet[1]); // type of service
    io::append<2>(out, headerSize + payload);
    io::append<4>(out, 0); // neither identification nor fragments
    io::append<1>(out, hops);
    io::append<1>(out, protocolIcmp);
    io::append<2>(out, 0);
    io::append(out, packet.subspan(destinationAt, ipv4AddressSize));
    io::append(out, packet.subspan(sourceAt, ipv4AddressSize));
    const std::uint16_t check = link::checksum(out);
    out[10] = io::bits<std::uint8_t>(check, 8, 8);
    out[11] = io::bits<std::uint8_t>(check, 0, 8);
    return out;
}

} // namespace

PeerAnswer answerArp(const PeerQuestion &question)
{
    const io::View in = question.packet;
    if (in.size() < arpSize || io::read<2>(in, 0) != arpInfiniband ||
        io::read<2>(in, 2) != ib::IpoibHeader::ipv4 || in[4] != ib::HardwareAddress::size ||
        in[5] != ipv4AddressSize)
        return std::unexpected(PeerDrop::malformed);
    if (io::read<2>(in, 6) != arpRequest)
        return std::unexpected(PeerDrop::ignored);
    const io::View target = in.subspan(targetAt, ipv4AddressSize);
    const auto qpn = question.addresses.qpn(target);
    if (!qpn || !question.isFor(*qpn))
        return std::unexpected(PeerDrop::address);
    PeerReply reply{.what = PeerAnswered::arp, .qpn = *qpn, .packet = {}};
    io::append(reply.packet, in.first(6));
    io::append<2>(reply.packet, arpReply);
    ib::HardwareAddress{.qpn = *qpn, .gid = question.gid}.appendTo(reply.packet);
    io::append(reply.packet, target);
    io::append(reply.packet, in.subspan(senderHardwareAt, ib::HardwareAddress::size));
    io::append(reply.packet, in.subspan(senderAt, ipv4AddressSize));
    return reply;
}

PeerAnswer answerIpv4(const PeerQuestion &question)
{
    const io::View in = question.packet;
    if (in.size() < headerSize || in[0] >> 4 != 4)
        return std::unexpected(PeerDrop::malformed);
    const std::size_t header = std::size_t{in[0] & 0xFU} * 4;
    const std::size_t total = io::read<2>(in, 2);
    if (header < headerSize || total < header || total > in.size())
        return std::unexpected(PeerDrop::malformed);
    if (link::checksum(in.first(header)) != 0)
        return std::unexpected(PeerDrop::checksum);
    const auto qpn = question.addresses.qpn(in.subspan(destinationAt, ipv4AddressSize));
    if (!qpn || !question.qpn || !question.isFor(*qpn))
        return std::unexpected(PeerDrop::address);
    if ((io::read<2>(in, 6) & fragmentBits) != 0)
        return std::unexpected(PeerDrop::fragment);
    if (in[protocolAt] != protocolIcmp)
        return std::unexpected(PeerDrop::ignored);
    const io::View icmp = in.subspan(header, total - header);
    if (icmp.size() < echoSize)
        return std::unexpected(PeerDrop::malformed);
    if (link::checksum(icmp) != 0)
        return std::unexpected(PeerDrop::checksum);
    if (icmp[0] != echoRequest || icmp[1] != 0)
        return std::unexpected(PeerDrop::ignored);
    io::Bytes echo;
    io::append<1>(echo, echoReply);
    io::append<3>(echo, 0); // code and checksum
    io::append(echo, icmp.subspan(4));
    const std::uint16_t check = link::checksum(echo);
    echo[2] = io::bits<std::uint8_t>(check, 8, 8);
    echo[3] = io::bits<std::uint8_t>(check, 0, 8);
    PeerReply reply{.what = PeerAnswered::echo, .qpn = *qpn, .packet = headerTo(in, echo.size())};
    io::append(reply.packet, echo);
    return reply;
}

} // namespace openipoib::fabric
