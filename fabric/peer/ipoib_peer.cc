// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "peer/ipoib_peer.hpp"

#include "ib/packet_builder.hpp"

namespace openipoib::fabric
{

namespace
{

constexpr std::uint32_t gsiQpn = 1;
constexpr std::uint16_t partition = 0x7FFF; // of a P_Key

ib::Gid mgidOf(std::uint64_t group)
{
    return ib::makeIpoibMgid(ib::ipoibIpv6, Memberships::pkey, group);
}

ib::Gid allNodesMgid()
{
    return mgidOf(1);
}

// RFC 4291, 2.7.1: ff02::1:ffXX:XXXX
ib::Gid solicitedNodeMgid(std::uint64_t address)
{
    constexpr std::uint64_t low = 0xFF'FFFF;
    return mgidOf(std::uint64_t{1} << 32 | std::uint64_t{0xFF} << 24 | (address & low));
}

} // namespace

void IpoibPeer::add(const AddressRange &range, Time now)
{
    addresses_.add(range);
    if (range.isIpv6) {
        groups_.want(allNodesMgid(), now);
        for (std::uint64_t i = 0; i < range.count(); ++i)
            groups_.want(solicitedNodeMgid(range.first + i), now);
    }
    ask(now);
}

void IpoibPeer::onPort(const Port &port, bool mustRejoin, Time now)
{
    if (port == port_ && !mustRejoin)
        return;
    const bool isOther = port.lid != port_.lid || port.gid != port_.gid;
    port_ = port;
    if (!port.isActive || isOther)
        groups_.leaveAll();
    if (port.isActive)
        groups_.joinAll(port.gid, now);
    ask(now);
}

void IpoibPeer::ask(Time now)
{
    for (const auto &mad : groups_.requests(now))
        output_.push_back(ib::PacketBuilder{}
                              .lrh({.sl = port_.smSl, .dlid = port_.smLid, .slid = port_.lid})
                              .bth({.qpn = gsiQpn})
                              .deth({.qkey = ib::gsiQkey, .sourceQpn = gsiQpn})
                              .payload(mad)
                              .build());
}

// Headers first, as a channel adapter looks at them.
std::expected<IpoibPeer::Datagram, PeerDrop> IpoibPeer::open(io::View packet,
                                                             const PacketHeaders &headers) const
{
    if (headers.isRaw || packet[headers.bthAt] != static_cast<std::uint8_t>(ib::Opcode::udSendOnly))
        return std::unexpected(PeerDrop::opcode);
    const auto bth = ib::Bth::parse(packet.subspan(headers.bthAt));
    const std::size_t payloadAt = headers.bthAt + ib::Bth::size + ib::Deth::size;
    const std::size_t tail = bth->pad + ib::icrcSize;
    if (packet.size() < payloadAt + ib::IpoibHeader::size + tail || bth->version != 0 ||
        headers.lrh.slid == 0 || headers.lrh.slid >= ib::firstMulticastLid)
        return std::unexpected(PeerDrop::malformed);
    if ((headers.pkey & partition) != (Memberships::pkey & partition))
        return std::unexpected(PeerDrop::pkey);
    const auto deth = ib::Deth::parse(packet.subspan(headers.bthAt + ib::Bth::size));
    const ib::MemberRecord *broadcast = groups_.broadcast();
    if (broadcast == nullptr || deth->qkey != broadcast->qkey)
        return std::unexpected(PeerDrop::qkey);
    const bool hasGrh = headers.lrh.next == ib::LinkNext::grh;
    const auto grh =
        hasGrh ? ib::Grh::parse(packet.subspan(ib::Lrh::size)) : std::optional<ib::Grh>{};
    if (grh && (grh->version != 6 || grh->next != ib::Grh::nextBth ||
                grh->payloadLength != packet.size() - headers.bthAt))
        return std::unexpected(PeerDrop::malformed);
    if (headers.isMulticast() && (!grh || headers.qpn != ib::multicastQpn))
        return std::unexpected(PeerDrop::malformed);
    if (headers.isMulticast() && groups_.find(grh->destination) == nullptr)
        return std::unexpected(PeerDrop::group);
    const io::View payload = packet.subspan(payloadAt, packet.size() - payloadAt - tail);
    if (payload.size() > broadcast->payload())
        return std::unexpected(PeerDrop::malformed);
    return Datagram{.qpn = headers.isMulticast() ? std::nullopt : std::optional(headers.qpn),
                    .sourceQpn = deth->sourceQpn,
                    .type = ib::IpoibHeader::parse(payload)->type,
                    .packet = payload.subspan(ib::IpoibHeader::size)};
}

// And takes note of it.
bool IpoibPeer::isAnswerOfSa(io::View packet, const PacketHeaders &headers)
{
    const std::size_t at = headers.bthAt + ib::Bth::size + ib::Deth::size;
    if (packet.size() != at + ib::Mad::size + ib::icrcSize ||
        packet[headers.bthAt] != static_cast<std::uint8_t>(ib::Opcode::udSendOnly))
        return false;
    const auto deth = ib::Deth::parse(packet.subspan(headers.bthAt + ib::Bth::size));
    return deth->qkey == ib::gsiQkey && groups_.onAnswer(packet.subspan(at, ib::Mad::size));
}

PeerAnswer IpoibPeer::answer(const Datagram &datagram) const
{
    const PeerQuestion question{
        .packet = datagram.packet, .qpn = datagram.qpn, .addresses = addresses_, .gid = port_.gid};
    switch (datagram.type) {
    case ib::IpoibHeader::arp:
        return answerArp(question);
    case ib::IpoibHeader::ipv4:
        return answerIpv4(question);
    case ib::IpoibHeader::ipv6:
        return answerIpv6(question);
    default:
        return std::unexpected(PeerDrop::ignored);
    }
}

void IpoibPeer::receive(io::View packet, const PacketHeaders &headers, Time now)
{
    if (!headers.isRaw && headers.qpn == gsiQpn) {
        if (!isAnswerOfSa(packet, headers))
            counters_.add(PeerDrop::ignored);
        return ask(now);
    }
    const auto datagram = open(packet, headers);
    if (!datagram)
        return counters_.add(datagram.error());
    const auto reply = answer(*datagram);
    if (!reply)
        return counters_.add(reply.error());
    counters_.add(reply->what);
    send(*reply, headers, datagram->sourceQpn);
}

void IpoibPeer::send(const PeerReply &reply, const PacketHeaders &asked, std::uint32_t qpn)
{
    const ib::MemberRecord &broadcast = *groups_.broadcast();
    const bool isIpv6 = reply.what == PeerAnswered::neighbour || reply.what == PeerAnswered::echo6;
    ib::PacketBuilder builder;
    builder.deth({.qkey = broadcast.qkey, .sourceQpn = reply.qpn})
        .ipoib({.type = reply.what == PeerAnswered::arp ? ib::IpoibHeader::arp
                        : isIpv6                        ? ib::IpoibHeader::ipv6
                                                        : ib::IpoibHeader::ipv4})
        .payload(reply.packet);
    if (!reply.isToAll) {
        builder.lrh({.sl = asked.lrh.sl, .dlid = asked.lrh.slid, .slid = port_.lid})
            .bth({.qpn = qpn});
    } else if (const ib::MemberRecord *all = groups_.find(allNodesMgid())) {
        builder.lrh({.sl = all->sl, .dlid = all->mlid, .slid = port_.lid})
            .grh({.trafficClass = all->trafficClass,
                  .flowLabel = all->flowLabel,
                  .hopLimit = all->hopLimit,
                  .source = port_.gid,
                  .destination = all->mgid})
            .bth({.qpn = ib::multicastQpn});
    } else {
        return;
    }
    output_.push_back(builder.build());
}

} // namespace openipoib::fabric
