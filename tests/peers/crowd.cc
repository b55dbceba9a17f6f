// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "peers/crowd.hpp"

#include "ib/packet_builder.hpp"
#include "peer/answer.hpp"

#include <algorithm>

namespace openipoib::peers
{

namespace
{

using namespace std::chrono_literals;

constexpr std::uint8_t connectedFlag = 0x80;
constexpr std::size_t arpSenderAt = 8; // its hardware address
constexpr std::uint32_t mtu = 4096;
constexpr std::uint32_t gsiQpn = 1;
constexpr std::uint32_t qkey = 0x0B1B; // of the broadcast group
constexpr auto askAgain = 1s;
constexpr unsigned mostAsked = 30;

// Clear of those of the addresses, and of the last, which means multicast.
constexpr std::uint32_t leastQpn = 0x10'0000;
constexpr std::uint32_t mostQpn = 0xFF'0000;

} // namespace

Crowd::Crowd(const fabric::AddressRange &range, std::uint32_t firstQpn)
    : lastQpn_(leastQpn + firstQpn % (mostQpn - leastQpn))
{
    addresses_.add(range);
}

std::uint32_t Crowd::newQpn()
{
    do
        lastQpn_ = lastQpn_ == mostQpn ? leastQpn : lastQpn_ + 1;
    while (connections_.contains(lastQpn_));
    return lastQpn_;
}

Crowd::Count Crowd::count() const
{
    const auto up = std::ranges::count_if(
        out_, [this](const auto &entry) { return connections_.at(entry.second).isUp; });
    return {.in = in_.size(), .out = static_cast<std::size_t>(up), .echoes = echoes_};
}

void Crowd::forget()
{
    connections_.clear();
    in_.clear();
    out_.clear();
}

Crowd::Connection *Crowd::find(std::uint32_t own)
{
    const auto found = connections_.find(own);
    return found == connections_.end() ? nullptr : &found->second;
}

void Crowd::erase(const Connection &connection)
{
    auto &index = connection.isOutgoing() ? out_ : in_;
    index.erase({connection.peer, connection.remote.address.qpn});
    connections_.erase(connection.own);
}

// The connection of a member to whoever has asked it, which may be still to be made.
Crowd::Connection &Crowd::outgoing(std::uint32_t peer, const Remote &remote)
{
    const Pair pair{peer, remote.address.qpn};
    if (const auto found = out_.find(pair); found != out_.end())
        return connections_.at(found->second);
    const std::uint32_t own = newQpn();
    out_.emplace(pair, own);
    return connections_
        .emplace(own, Connection{.own = own,
                                 .peer = peer,
                                 .remote = remote,
                                 .sent = reqTo(remote, own, peer),
                                 .receiver = Receiver(own)})
        .first->second;
}

CmMessage Crowd::reqTo(const Remote &remote, std::uint32_t own, std::uint32_t peer) const
{
    return {.type = CmType::req,
            .transaction = own,
            .commId = own,
            .serviceId = ipoibService | remote.address.qpn,
            .caGuid = port_.guid,
            .qpn = own,
            .psn = own,
            .lid = port_.lid,
            .remoteLid = remote.lid,
            .gid = port_.gid,
            .remoteGid = remote.address.gid,
            .ipoibQpn = peer,
            .longest = Receiver::longest};
}

void Crowd::flood(std::uint32_t count)
{
    const auto first = fabric::Addresses::firstQpn + static_cast<std::uint32_t>(addresses_.count());
    for (; lastAsked_ && count > 0; --count)
        send(lastAsked_->lid, reqTo(*lastAsked_, newQpn(), first + floods_++));
}

io::View Crowd::payloadOf(io::View packet, const fabric::PacketHeaders &headers) const
{
    const auto bth = ib::Bth::parse(packet.subspan(headers.bthAt));
    return packet.subspan(headers.bthAt + ib::Bth::size,
                          headers.payload - std::min<std::size_t>(bth->pad, headers.payload));
}

void Crowd::receive(io::View packet, Time now)
{
    const auto headers = fabric::PacketHeaders::parse(packet);
    if (!headers || headers->isRaw)
        return;
    const auto bth = ib::Bth::parse(packet.subspan(headers->bthAt));
    const io::View payload = payloadOf(packet, *headers);
    if (static_cast<ib::Opcode>(bth->opcode) != ib::Opcode::udSendOnly)
        receiveConnected(payload, *bth, now);
    else if (payload.size() < ib::Deth::size)
        return;
    else if (headers->qpn == gsiQpn)
        receiveMad(payload.subspan(ib::Deth::size), headers->lrh.slid);
    else
        receiveDatagram(payload, *headers);
}

void Crowd::receiveMad(io::View payload, std::uint16_t lid)
{
    const auto message = CmMessage::parse(payload);
    if (!message)
        return;
    if (message->type == CmType::req)
        return onReq(*message, lid);
    if (message->type == CmType::rep)
        return onRep(*message);
    const bool isEnd = message->type == CmType::dreq;
    if (isEnd)
        send(lid, {.type = CmType::drep,
                   .transaction = message->transaction,
                   .commId = message->remoteCommId,
                   .remoteCommId = message->commId});
    if (const auto *connection = find(message->remoteCommId);
        connection != nullptr && (isEnd || message->type == CmType::rej))
        erase(*connection);
}

// One that comes again gets the same answer; one with another ID is from somebody who
// has restarted.
void Crowd::onReq(const CmMessage &req, std::uint16_t lid)
{
    const auto peer = static_cast<std::uint32_t>(req.serviceId & qpnMask);
    if ((req.serviceId & ~std::uint64_t{qpnMask}) != ipoibService ||
        peer < fabric::Addresses::firstQpn ||
        peer - fabric::Addresses::firstQpn >= addresses_.count())
        return;
    if (const auto known = in_.find({peer, req.ipoibQpn}); known != in_.end()) {
        const Connection &before = connections_.at(known->second);
        if (before.sent.remoteCommId == req.commId && before.remoteQpn == req.qpn)
            return send(lid, before.sent);
        erase(before);
    }
    const Remote remote{.lid = lid, .address = {.qpn = req.ipoibQpn, .gid = req.gid}};
    lastAsked_ = remote;
    const std::uint32_t own = newQpn();
    const CmMessage rep{.type = CmType::rep,
                        .transaction = req.transaction,
                        .commId = own,
                        .remoteCommId = req.commId,
                        .caGuid = port_.guid,
                        .qpn = own,
                        .psn = own,
                        .ipoibQpn = peer,
                        .longest = Receiver::longest};
    in_.emplace(Pair{peer, req.ipoibQpn}, own);
    connections_.emplace(own, Connection{.isUp = true,
                                         .own = own,
                                         .peer = peer,
                                         .remoteQpn = req.qpn,
                                         .remote = remote,
                                         .sent = rep,
                                         .receiver = Receiver(own)});
    send(lid, rep);
}

void Crowd::onRep(const CmMessage &rep)
{
    auto *connection = find(rep.remoteCommId);
    if (connection == nullptr || !connection->isOutgoing())
        return;
    if (!connection->isUp)
        connection->sender.begin(rep.psn);
    connection->isUp = true;
    connection->remoteQpn = rep.qpn;
    send(connection->remote.lid, {.type = CmType::rtu,
                                  .transaction = rep.transaction,
                                  .commId = connection->own,
                                  .remoteCommId = rep.commId});
}

void Crowd::receiveDatagram(io::View payload, const fabric::PacketHeaders &headers)
{
    const auto deth = ib::Deth::parse(payload);
    const io::View message = payload.subspan(ib::Deth::size);
    const auto header = ib::IpoibHeader::parse(message);
    if (!header || header->type != ib::IpoibHeader::arp)
        return;
    const auto reply =
        fabric::answerArp({.packet = message.subspan(ib::IpoibHeader::size),
                           .qpn = headers.isMulticast() ? std::nullopt : std::optional(headers.qpn),
                           .addresses = addresses_,
                           .gid = port_.gid});
    if (!reply)
        return;
    io::Bytes arp = reply->packet;
    arp[arpSenderAt] = connectedFlag;
    output_.push_back(ib::PacketBuilder{}
                          .lrh({.dlid = headers.lrh.slid, .slid = port_.lid})
                          .bth({.qpn = deth->sourceQpn})
                          .deth({.qkey = qkey, .sourceQpn = reply->qpn})
                          .ipoib({.type = ib::IpoibHeader::arp})
                          .payload(arp)
                          .build());
}

void Crowd::receiveConnected(io::View payload, const ib::Bth &bth, Time now)
{
    auto *connection = find(bth.qpn);
    if (connection == nullptr)
        return;
    switch (static_cast<ib::Opcode>(bth.opcode)) {
    case ib::Opcode::rcAcknowledge:
        if (payload.size() >= Acknowledgement::size)
            connection->sender.acknowledge({.psn = bth.psn, .syndrome = payload[0]}, now);
        return;
    case ib::Opcode::rcSendFirst:
    case ib::Opcode::rcSendMiddle:
    case ib::Opcode::rcSendLast:
    case ib::Opcode::rcSendOnly: {
        const auto outcome = connection->receiver.receive(bth, payload);
        if (outcome.answer)
            send(*connection, *outcome.answer);
        if (outcome.message)
            onMessage(*connection, *outcome.message);
        return;
    }
    default:
        return;
    }
}

void Crowd::onMessage(const Connection &connection, io::View message)
{
    const auto header = ib::IpoibHeader::parse(message);
    if (!header)
        return;
    const fabric::PeerQuestion question{.packet = message.subspan(ib::IpoibHeader::size),
                                        .qpn = connection.peer,
                                        .addresses = addresses_,
                                        .gid = port_.gid};
    const bool isArp = header->type == ib::IpoibHeader::arp;
    auto reply = isArp ? fabric::answerArp(question) : fabric::answerIpv4(question);
    if (!reply || ib::IpoibHeader::size + reply->packet.size() > mtu)
        return;
    if (isArp)
        reply->packet[arpSenderAt] = connectedFlag;
    else
        ++echoes_;
    io::Bytes answer;
    ib::IpoibHeader{.type = header->type}.appendTo(answer);
    io::append(answer, reply->packet);
    outgoing(connection.peer, connection.remote).sender.push(std::move(answer));
}

void Crowd::onTime(Time now)
{
    std::vector<std::uint32_t> failed;
    for (const auto &entry : out_) {
        Connection &connection = connections_.at(entry.second);
        if (connection.isUp) {
            for (const auto &packet : connection.sender.due(now))
                send(connection, packet);
        } else if (now >= connection.askAt) {
            connection.askAt = now + askAgain;
            ++connection.asked;
            send(connection.remote.lid, connection.sent);
        }
        if (connection.sender.hasFailed() || connection.asked > mostAsked)
            failed.push_back(connection.own);
    }
    for (const std::uint32_t own : failed)
        erase(connections_.at(own));
}

void Crowd::send(std::uint16_t lid, const CmMessage &message)
{
    output_.push_back(ib::PacketBuilder{}
                          .lrh({.dlid = lid, .slid = port_.lid})
                          .bth({.qpn = gsiQpn})
                          .deth({.qkey = ib::gsiQkey, .sourceQpn = gsiQpn})
                          .payload(message.mad())
                          .build());
}

void Crowd::send(const Connection &connection, const Acknowledgement &answer)
{
    io::Bytes aeth;
    io::append<1>(aeth, answer.syndrome);
    io::append<3>(aeth, answer.messages);
    output_.push_back(ib::PacketBuilder{}
                          .lrh({.dlid = connection.remote.lid, .slid = port_.lid})
                          .bth({.opcode = static_cast<std::uint8_t>(ib::Opcode::rcAcknowledge),
                                .qpn = connection.remoteQpn,
                                .psn = answer.psn})
                          .payload(aeth)
                          .build());
}

void Crowd::send(const Connection &connection, const Sender::Packet &packet)
{
    output_.push_back(ib::PacketBuilder{}
                          .lrh({.dlid = connection.remote.lid, .slid = port_.lid})
                          .bth({.opcode = static_cast<std::uint8_t>(ib::Opcode::rcSendOnly),
                                .qpn = connection.remoteQpn,
                                .acknowledge = true,
                                .psn = packet.psn})
                          .payload(packet.payload)
                          .build());
}

} // namespace openipoib::peers
