// SPDX-License-Identifier: GPL-2.0-only OR MIT
// An emulated peer under test, an SA that it asks, and packets for it as hosts make them.
#pragma once

#include "ib/packet_builder.hpp"
#include "link/header.hpp"
#include "peer/ipoib_peer.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::fabric
{

using namespace std::chrono_literals;

class PeerWorld : public testing::Test
{
  protected:
    static constexpr std::uint16_t smLid = 1, lid = 7, askerLid = 9;
    static constexpr std::uint32_t qkey = 0xB1B, askerQpn = 0x48;
    static constexpr std::uint8_t sl = 3;
    static constexpr std::size_t maskAt = 48, recordAt = 56, stateAt = recordAt + 48;
    static constexpr std::size_t payloadAt = ib::Lrh::size + ib::Bth::size + ib::Deth::size;

    // A request to the SA, and what it is about.
    struct Request {
        io::Bytes mad;
        ib::Gid mgid{};
        std::uint64_t mask = 0;
    };

    static io::Bytes address(std::string_view text)
    {
        const bool isIpv6 = text.find(':') != std::string_view::npos;
        io::Bytes bytes(isIpv6 ? 16 : 4);
        EXPECT_EQ(inet_pton(isIpv6 ? AF_INET6 : AF_INET, std::string(text).c_str(), bytes.data()),
                  1);
        return bytes;
    }

    void add(std::string_view range) { peer.add(*AddressRange::parse(range), now); }

    IpoibPeer::Port active() const
    {
        return {.isActive = true, .lid = lid, .smLid = smLid, .smSl = 2, .gid = gid};
    }

    // What the peer has sent to the SA.
    std::vector<Request> requests()
    {
        std::vector<Request> found;
        for (const auto &packet : peer.takeOutput()) {
            const auto headers = PacketHeaders::parse(packet);
            EXPECT_EQ(headers->qpn, 1U);
            EXPECT_EQ(headers->lrh.dlid, smLid);
            EXPECT_EQ(headers->lrh.sl, 2);
            Request request{.mad = {packet.begin() + payloadAt, packet.end() - ib::icrcSize}};
            std::copy_n(request.mad.begin() + recordAt, 16, request.mgid.begin());
            request.mask = io::read<8>(request.mad, maskAt);
            found.push_back(request);
        }
        return found;
    }

    // As the SA answers: an MLID, and what it has chosen for the group.
    static io::Bytes answered(Request request, std::uint16_t status = 0)
    {
        io::Bytes &mad = request.mad;
        mad[3] = 0x81;
        mad[4] = static_cast<std::uint8_t>(status >> 8);
        mad[5] = static_cast<std::uint8_t>(status);
        io::Bytes rest;
        io::append<4>(rest, qkey);
        io::append<2>(rest, 0xC000U + request.mgid[15]);
        io::append<1>(rest, 0x84); // an MTU of 2048
        io::append<1>(rest, 0);
        io::append<2>(rest, ib::defaultPkey);
        io::append<2>(rest, 0x8300);
        io::append<4>(rest, std::uint32_t{sl} << 28);
        std::ranges::copy(rest, mad.begin() + recordAt + 32);
        return mad;
    }

    void receive(const io::Bytes &packet)
    {
        const auto headers = PacketHeaders::parse(packet);
        ASSERT_TRUE(headers);
        peer.receive(packet, *headers, now);
    }

    void receiveMad(const io::Bytes &mad)
    {
        receive(ib::PacketBuilder{}
                    .lrh({.dlid = lid, .slid = smLid})
                    .bth({.qpn = 1})
                    .deth({.qkey = ib::gsiQkey, .sourceQpn = 1})
                    .payload(mad)
                    .build());
    }

    // Everything that is asked is granted, until nothing more is; how often.
    std::size_t join()
    {
        std::size_t count = 0;
        for (auto asked = requests(); !asked.empty(); asked = requests())
            for (const Request &request : asked) {
                receiveMad(answered(request));
                ++count;
            }
        return count;
    }

    // With an active port and all its groups.
    void start(std::string_view range)
    {
        add(range);
        peer.onPort(active(), false, now);
        join();
    }

    // From the asker to a queue pair of the peer's.
    static ib::PacketBuilder unicast(std::uint32_t qpn, std::uint16_t type)
    {
        ib::PacketBuilder builder;
        builder.lrh({.sl = sl, .dlid = lid, .slid = askerLid})
            .bth({.qpn = qpn})
            .deth({.qkey = qkey, .sourceQpn = askerQpn})
            .ipoib({.type = type});
        return builder;
    }

    // From the asker to a group.
    static ib::PacketBuilder multicast(const ib::Gid &mgid, std::uint16_t type)
    {
        ib::PacketBuilder builder = unicast(ib::multicastQpn, type);
        builder.lrh({.sl = sl, .dlid = 0xC0FF, .slid = askerLid})
            .grh({.source = ib::makeGid(ib::defaultPrefix, 0xA), .destination = mgid});
        return builder;
    }

    static ib::PacketBuilder broadcast()
    {
        return multicast(Memberships::broadcastMgid(), ib::IpoibHeader::arp);
    }

    static io::Bytes arp(std::string_view target, unsigned operation = 1)
    {
        io::Bytes out;
        for (const unsigned field : {32U, 0x0800U, 0x1404U, operation})
            io::append<2>(out, field);
        ib::HardwareAddress{.qpn = askerQpn, .gid = ib::makeGid(ib::defaultPrefix, 0xA)}.appendTo(
            out);
        io::append(out, address("10.0.0.250"));
        out.resize(out.size() + ib::HardwareAddress::size);
        io::append(out, address(target));
        return out;
    }

    static void putChecksum(io::Bytes &out, std::size_t at, std::uint16_t check)
    {
        out[at] = static_cast<std::uint8_t>(check >> 8);
        out[at + 1] = static_cast<std::uint8_t>(check);
    }

    // A ping over IPv4, its bytes changed before the checksums are taken.
    template <typename Change> static io::Bytes echo(std::string_view target, Change change)
    {
        io::Bytes icmp{8, 0, 0, 0, 0x12, 0x34, 0, 1, 'p', 'i', 'n', 'g', '!'};
        io::Bytes out{0x45, 0, 0, static_cast<std::uint8_t>(20 + icmp.size()), 0, 0, 0, 0, 5,
                      1,    0, 0};
        io::append(out, address("10.0.0.250"));
        io::append(out, address(target));
        change(out, icmp);
        putChecksum(out, 10, link::checksum(out));
        putChecksum(icmp, 2, link::checksum(icmp));
        io::append(out, icmp);
        return out;
    }
    static io::Bytes echo(std::string_view target)
    {
        return echo(target, [](io::Bytes &, io::Bytes &) {});
    }

    // An ICMPv6 packet with a right checksum.
    static io::Bytes icmp6(std::string_view source, std::string_view target, std::uint8_t hops,
                           io::Bytes message)
    {
        io::Bytes pseudo;
        io::append(pseudo, address(source));
        io::append(pseudo, address(target));
        const io::Bytes addresses = pseudo;
        io::append<4>(pseudo, message.size());
        io::append<4>(pseudo, 58);
        io::append(pseudo, message);
        putChecksum(message, 2, link::checksum(pseudo));
        io::Bytes out;
        io::append<4>(out, 6U << 28);
        io::append<2>(out, message.size());
        io::append<1>(out, 58);
        io::append<1>(out, hops);
        io::append(out, addresses);
        io::append(out, message);
        return out;
    }

    static io::Bytes solicitation(std::string_view target)
    {
        io::Bytes out(8);
        out[0] = 135;
        io::append(out, address(target));
        io::append<4>(out, 0x0103'0000); // source link-layer address
        ib::HardwareAddress{.qpn = askerQpn, .gid = ib::makeGid(ib::defaultPrefix, 0xA)}.appendTo(
            out);
        return out;
    }

    struct Reply {
        PacketHeaders headers;
        ib::Deth deth;
        std::uint16_t type = 0;
        io::Bytes packet; // behind the IPoIB header
    };

    // The only packet that the peer has sent; nullopt if there is none.
    std::optional<Reply> reply()
    {
        const auto sent = peer.takeOutput();
        EXPECT_LE(sent.size(), 1U);
        if (sent.empty())
            return std::nullopt;
        const io::Bytes &packet = sent.front();
        Reply found;
        found.headers = *PacketHeaders::parse(packet);
        const io::View view = packet;
        const auto bth = *ib::Bth::parse(view.subspan(found.headers.bthAt));
        const std::size_t at = found.headers.bthAt + ib::Bth::size;
        found.deth = *ib::Deth::parse(view.subspan(at));
        found.type = ib::IpoibHeader::parse(view.subspan(at + ib::Deth::size))->type;
        found.packet = {packet.begin() + static_cast<std::ptrdiff_t>(at + ib::Deth::size +
                                                                     ib::IpoibHeader::size),
                        packet.end() - static_cast<std::ptrdiff_t>(ib::icrcSize + bth.pad)};
        return found;
    }

    std::uint64_t count(PeerDrop why) const { return peer.counters().get(why); }
    std::uint64_t count(PeerAnswered what) const { return peer.counters().get(what); }

    // The packet is counted so, and nothing else; and not answered.
    void expectDrop(const io::Bytes &packet, PeerDrop why)
    {
        const auto sum = [this] {
            std::uint64_t total = 0;
            for (std::size_t i = 0; i < peerDropNames.size(); ++i)
                total += count(static_cast<PeerDrop>(i));
            return total;
        };
        const auto before = count(why);
        const auto all = sum();
        receive(packet);
        EXPECT_EQ(count(why), before + 1) << peerDropNames[static_cast<std::size_t>(why)];
        EXPECT_EQ(sum(), all + 1);
        EXPECT_FALSE(reply());
    }

    Time now{1h};
    ib::Gid gid = ib::makeGid(ib::defaultPrefix, 0x0002'C900'0000'0007);
    IpoibPeer peer;
};

} // namespace openipoib::fabric
