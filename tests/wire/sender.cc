// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "wire/sender.hpp"

namespace openipoib::wire
{

namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t ownQpn = 0x1234;
// Frames outside the sequence are not acknowledged: so many of them at once
// fit any receive ring.
constexpr std::uint32_t rawBatch = 16;
constexpr auto askAgain = 500ms;
constexpr io::MacAddress stranger{0x02, 0, 0, 0xBA, 0xD0, 0x01};

} // namespace

Sender::Sender(Fabric &fabric, const Options &options)
    : fabric_(fabric), options_(options),
      random_(options.seed), own_{.qpn = ownQpn,
                                  .gid = ib::makeGid(ib::defaultPrefix, fabric.sma().guid())}
{
    fabric_.onPacket([this](io::View packet) { onPacket(packet); });
}

io::Result<void> Sender::bringUp(Fabric::Duration limit)
{
    auto up = fabric_.until([this] { return fabric_.endpoint().isUp(); }, limit,
                            "training with the peer");
    if (!up)
        return up;
    return fabric_.until([this] { return fabric_.sma().state() == ib::PortState::active; }, limit,
                         "port made ACTIVE by the subnet manager");
}

Target Sender::target() const
{
    return {.address = options_.peer,
            .lid = fabric_.sma().smLid(),
            .ownLid = fabric_.sma().lid(),
            .qkey = options_.qkey,
            .ownGid = own_.gid,
            .link = fabric_.endpoint().header(link::FrameType::data),
            .peerSession = fabric_.peerSession()};
}

io::Result<void> Sender::shoot(const Shot &shot)
{
    switch (shot.level) {
    case Shot::Level::packet:
        return fabric_.send(shot.bytes, shot.count);
    case Shot::Level::frame:
        return fabric_.sendRaw(shot.bytes);
    case Shot::Level::stranger:
        return fabric_.sendRawFrom(stranger, shot.bytes);
    }
    return io::fail(EINVAL, "shot");
}

io::Result<void> Sender::shootAll(std::uint32_t count,
                                  const std::function<Shot(std::uint32_t)> &make)
{
    const unsigned downs = fabric_.endpoint().downs();
    for (std::uint32_t number = 0; number < count; ++number) {
        const Shot shot = make(number);
        if (auto sent = shoot(shot); !sent)
            return sent;
        if (shot.level == Shot::Level::packet || (number + 1) % rawBatch != 0)
            continue;
        if (auto drained = fabric_.drain(); !drained)
            return drained;
    }
    if (auto drained = fabric_.drain(); !drained)
        return drained;
    if (fabric_.endpoint().downs() != downs)
        return io::fail(ENETRESET, "link went down");
    return {};
}

io::Result<void> Sender::run(const Case &what, std::uint32_t count)
{
    return shootAll(count, [this, &what](std::uint32_t number) {
        return what.make(target(), random_, number);
    });
}

io::Result<void> Sender::send(const Connected &what)
{
    return shootAll(1, [this, &what](std::uint32_t) { return connected(target(), what); });
}

io::Result<void> Sender::fuzz(std::span<const std::uint32_t> qpns, std::uint32_t count)
{
    return shootAll(count, [this, qpns](std::uint32_t) { return fuzzed(target(), qpns, random_); });
}

io::Result<unsigned> Sender::probe(Fabric::Duration limit)
{
    io::Bytes arp;
    Arp{.sender = own_, .senderIp = options_.ownIp, .target = {}, .targetIp = options_.peerIp}
        .appendTo(arp);
    const auto before = replies_;
    const auto end = std::chrono::steady_clock::now() + limit;
    for (unsigned asked = 1;; ++asked) {
        const auto packet =
            unicast(target()).ipoib({.type = ib::IpoibHeader::arp}).payload(arp).build();
        if (auto sent = fabric_.send(packet); !sent)
            return std::unexpected(sent.error());
        const auto answered = fabric_.until([this, before] { return replies_ > before; }, askAgain,
                                            "ARP reply of the peer");
        if (answered)
            return asked;
        if (answered.error().code != ETIMEDOUT || std::chrono::steady_clock::now() >= end)
            return std::unexpected(answered.error());
    }
}

// Count ARP replies that the peer has sent to this station's QP.
void Sender::onPacket(io::View packet)
{
    const auto lrh = ib::Lrh::parse(packet);
    if (!lrh || lrh->dlid != fabric_.sma().lid() || lrh->next == ib::LinkNext::raw)
        return;
    std::size_t at = ib::Lrh::size + (lrh->next == ib::LinkNext::grh ? ib::Grh::size : 0);
    const auto bth = ib::Bth::parse(packet.subspan(std::min(at, packet.size())));
    at += ib::Bth::size + ib::Deth::size;
    if (!bth || bth->qpn != ownQpn || at > packet.size())
        return;
    const auto ipoib = ib::IpoibHeader::parse(packet.subspan(at));
    if (!ipoib || ipoib->type != ib::IpoibHeader::arp)
        return;
    const auto arp = Arp::parse(packet.subspan(at + ib::IpoibHeader::size));
    if (arp && arp->operation == Arp::reply && arp->senderIp == options_.peerIp)
        ++replies_;
}

} // namespace openipoib::wire
