// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/ipoib.hpp"
#include "link/header.hpp"
#include "peer/answer.hpp"

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t headerSize = 40;
constexpr std::size_t addressSize = 16;
constexpr std::size_t nextAt = 6;
constexpr std::size_t hopsAt = 7;
constexpr std::size_t sourceAt = 8;
constexpr std::size_t destinationAt = 24;
constexpr std::uint8_t nextIcmp = 58;
constexpr std::uint8_t nextFragment = 44;
constexpr std::uint8_t hops = 64;
constexpr std::uint8_t neighbourHops = 255;

constexpr std::size_t icmpSize = 8;
constexpr std::uint8_t echoRequest = 128;
constexpr std::uint8_t echoReply = 129;
constexpr std::uint8_t solicitation = 135;
constexpr std::uint8_t advertisement = 136;
constexpr std::size_t targetAt = 8;
constexpr std::size_t solicitationSize = targetAt + addressSize;
constexpr std::uint8_t optionSource = 1;
constexpr std::uint8_t optionTarget = 2;
constexpr std::uint8_t optionWords = 3; // of 8 octets: two, two of padding, the address
constexpr std::uint32_t flagSolicited = 1U << 30;
constexpr std::uint32_t flagOverride = 1U << 29;

io::Bytes allNodes()
{
    io::Bytes address(addressSize);
    address[0] = 0xFF;
    address[1] = 2;
    address[15] = 1;
    return address;
}

bool isUnspecified(io::View address)
{
    return std::ranges::all_of(address, [](std::uint8_t byte) { return byte == 0; });
}

// Of ICMPv6 behind a header: 0 if it is right, or what belongs into it.
std::uint16_t checksum(io::View source, io::View destination, io::View icmp)
{
    io::Bytes all;
    io::append(all, source);
    io::append(all, destination);
    io::append<4>(all, icmp.size());
    io::append<4>(all, nextIcmp);
    io::append(all, icmp);
    return link::checksum(all);
}

io::Bytes packetOf(io::View source, io::View destination, std::uint8_t limit, io::Bytes icmp)
{
    const std::uint16_t check = checksum(source, destination, icmp);
    icmp[2] = io::bits<std::uint8_t>(check, 8, 8);
    icmp[3] = io::bits<std::uint8_t>(check, 0, 8);
    io::Bytes out;
    io::append<4>(out, 6U << 28);
    io::append<2>(out, icmp.size());
    io::append<1>(out, nextIcmp);
    io::append<1>(out, limit);
    io::append(out, source);
    io::append(out, destination);
    io::append(out, icmp);
    return out;
}

// RFC 4861, 7.1.1, of what follows the target.
bool areOptionsValid(io::View options, bool isFromNowhere)
{
    while (!options.empty()) {
        const std::size_t length = options.size() < 2 ? 0 : std::size_t{options[1]} * 8;
        if (length == 0 || length > options.size() ||
            (options[0] == optionSource && (isFromNowhere || options[1] != optionWords)))
            return false;
        options = options.subspan(length);
    }
    return true;
}

PeerAnswer answerEcho(const PeerQuestion &question, io::View icmp)
{
    const io::View in = question.packet;
    const io::View own = in.subspan(destinationAt, addressSize);
    const auto qpn = question.addresses.qpn(own);
    if (!qpn || !question.qpn || !question.isFor(*qpn))
        return std::unexpected(PeerDrop::address);
    io::Bytes echo;
    io::append<1>(echo, echoReply);
    io::append<3>(echo, 0);
    io::append(echo, icmp.subspan(4));
    return PeerReply{.what = PeerAnswered::echo6,
                     .qpn = *qpn,
                     .packet = packetOf(own, in.subspan(sourceAt, addressSize), hops, echo)};
}

PeerAnswer answerSolicitation(const PeerQuestion &question, io::View icmp)
{
    const io::View in = question.packet;
    const io::View source = in.subspan(sourceAt, addressSize);
    const bool isFromNowhere = isUnspecified(source);
    constexpr std::uint8_t multicast = 0xFF;
    if (in[hopsAt] != neighbourHops || icmp.size() < solicitationSize ||
        icmp[targetAt] == multicast || (isFromNowhere && in[destinationAt] != multicast) ||
        !areOptionsValid(icmp.subspan(solicitationSize), isFromNowhere))
        return std::unexpected(PeerDrop::malformed);
    const io::View target = icmp.subspan(targetAt, addressSize);
    const auto qpn = question.addresses.qpn(target);
    if (!qpn || !question.isFor(*qpn))
        return std::unexpected(PeerDrop::address);
    io::Bytes message;
    io::append<1>(message, advertisement);
    io::append<3>(message, 0);
    io::append<4>(message, flagOverride | (isFromNowhere ? 0 : flagSolicited));
    io::append(message, target);
    io::append<1>(message, optionTarget);
    io::append<1>(message, optionWords);
    io::append<2>(message, 0);
    ib::HardwareAddress{.qpn = *qpn, .gid = question.gid}.appendTo(message);
    const io::Bytes everybody = allNodes();
    return PeerReply{.what = PeerAnswered::neighbour,
                     .qpn = *qpn,
                     .isToAll = isFromNowhere,
                     .packet = packetOf(target, isFromNowhere ? io::View(everybody) : source,
                                        neighbourHops, message)};
}

} // namespace

PeerAnswer answerIpv6(const PeerQuestion &question)
{
    const io::View in = question.packet;
    if (in.size() < headerSize || in[0] >> 4 != 6)
        return std::unexpected(PeerDrop::malformed);
    const std::size_t length = io::read<2>(in, 4);
    if (length > in.size() - headerSize)
        return std::unexpected(PeerDrop::malformed);
    if (in[nextAt] == nextFragment)
        return std::unexpected(PeerDrop::fragment);
    if (in[nextAt] != nextIcmp)
        return std::unexpected(PeerDrop::ignored);
    const io::View icmp = in.subspan(headerSize, length);
    if (icmp.size() < icmpSize)
        return std::unexpected(PeerDrop::malformed);
    if (checksum(in.subspan(sourceAt, addressSize), in.subspan(destinationAt, addressSize), icmp) !=
        0)
        return std::unexpected(PeerDrop::checksum);
    if (icmp[0] == echoRequest && icmp[1] == 0)
        return answerEcho(question, icmp);
    if (icmp[0] == solicitation && icmp[1] == 0)
        return answerSolicitation(question, icmp);
    return std::unexpected(PeerDrop::ignored);
}

} // namespace openipoib::fabric
