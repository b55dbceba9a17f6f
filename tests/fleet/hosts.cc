// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "fleet/hosts.hpp"

#include "ib/deth.hpp"
#include "ib/ipoib.hpp"
#include "ib/packet_builder.hpp"
#include "peer/answer.hpp"

#include <algorithm>

namespace openipoib::fleet
{

namespace
{

constexpr std::uint64_t firstGuid = 0x0200'0000'F1EE'0000;
constexpr std::uint32_t qkey = 0x0B1B;  // of the broadcast group
constexpr std::size_t arpTargetAt = 52; // its IPv4 address (RFC 4391, section 9.1)
constexpr std::size_t ipv4Size = 4;

} // namespace

Hosts::Hosts(const fabric::AddressRange &range) : firstReached_(range.count())
{
    addresses_.add(range);
}

ib::Gid Hosts::gid(std::size_t host)
{
    return ib::makeGid(ib::defaultPrefix, firstGuid + host);
}

std::optional<std::uint16_t> Hosts::lidOf(const ib::Gid &gid) const
{
    const std::uint64_t host = io::read<8>(gid, 8) - firstGuid;
    if (io::read<8>(gid, 0) != ib::defaultPrefix || host >= count())
        return std::nullopt;
    return lid(host);
}

// The host that a packet is for: by its LID and queue pair, or by the address that it asks for.
std::optional<std::size_t> Hosts::hostOf(const fabric::PacketHeaders &headers,
                                         io::View payload) const
{
    if (!headers.isMulticast()) {
        const std::size_t host = headers.qpn - fabric::Addresses::firstQpn;
        return host < count() && headers.lrh.dlid == lid(host) ? std::optional(host) : std::nullopt;
    }
    if (payload.size() < arpTargetAt + ipv4Size)
        return std::nullopt;
    const auto qpn = addresses_.qpn(payload.subspan(arpTargetAt, ipv4Size));
    return qpn ? std::optional<std::size_t>(*qpn - fabric::Addresses::firstQpn) : std::nullopt;
}

std::optional<io::Bytes> Hosts::answer(io::View packet, Time now)
{
    const auto headers = fabric::PacketHeaders::parse(packet);
    if (!headers || headers->isRaw)
        return std::nullopt;
    const io::View datagram = packet.subspan(headers->bthAt + ib::Bth::size, headers->payload);
    const auto bth = ib::Bth::parse(packet.subspan(headers->bthAt));
    const auto deth = ib::Deth::parse(datagram);
    constexpr std::size_t before = ib::Deth::size + ib::IpoibHeader::size;
    if (!deth || datagram.size() < before + bth->pad)
        return std::nullopt;
    const auto header = ib::IpoibHeader::parse(datagram.subspan(ib::Deth::size));
    const io::View payload = datagram.subspan(before, datagram.size() - before - bth->pad);
    const auto host = hostOf(*headers, payload);
    if (!host)
        return std::nullopt;
    auto &reached = firstReached_[*host];
    if (!headers->isMulticast() && !reached)
        reached = now;
    const fabric::PeerQuestion question{.packet = payload,
                                        .qpn = headers->isMulticast() ? std::nullopt
                                                                      : std::optional(headers->qpn),
                                        .addresses = addresses_,
                                        .gid = gid(*host)};
    const auto reply = header->type == ib::IpoibHeader::arp ? fabric::answerArp(question)
                                                            : fabric::answerIpv4(question);
    if (!reply)
        return std::nullopt;
    return ib::PacketBuilder{}
        .lrh({.dlid = headers->lrh.slid, .slid = lid(*host)})
        .bth({.qpn = deth->sourceQpn})
        .deth({.qkey = qkey, .sourceQpn = reply->qpn})
        .ipoib({.type = header->type})
        .payload(reply->packet)
        .build();
}

void Hosts::watch(Time now)
{
    watchedFrom_ = now;
    std::ranges::fill(firstReached_, std::nullopt);
}

Hosts::Reached Hosts::reached() const
{
    std::vector<Time> times;
    for (const auto &time : firstReached_)
        if (time)
            times.push_back(*time);
    if (times.empty())
        return {};
    std::ranges::sort(times);
    const auto since = [this](Time time) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(time - watchedFrom_);
    };
    return {.hosts = times.size(),
            .half = since(times[(times.size() - 1) / 2]),
            .last = since(times.back())};
}

} // namespace openipoib::fleet
