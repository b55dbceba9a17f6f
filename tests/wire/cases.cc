// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "wire/cases.hpp"

#include "ib/mad.hpp"

#include <algorithm>
#include <array>

namespace openipoib::wire
{

namespace
{

using ib::Bth;
using ib::Deth;
using ib::Grh;
using ib::IpoibHeader;
using ib::LinkNext;
using ib::Lrh;
using ib::PacketBuilder;
using Level = Shot::Level;
using Random = std::mt19937_64;

constexpr std::uint32_t absentQpn = 0xFEDCBA;

io::Bytes randomBytes(Random &random, std::size_t size)
{
    io::Bytes bytes(size);
    std::ranges::generate(bytes, [&random] { return static_cast<std::uint8_t>(random()); });
    return bytes;
}

Lrh lrh(const Target &t)
{
    return {.dlid = t.lid, .slid = t.ownLid};
}

Bth bth(const Target &t)
{
    return {.qpn = t.address.qpn};
}

Deth deth(const Target &t)
{
    return {.qkey = t.qkey, .sourceQpn = 0x1234};
}

// Right in everything; the cases below change one thing each.
PacketBuilder base(const Target &t)
{
    return unicast(t).ipoib({}).payload(io::Bytes(40, 0x45));
}

PacketBuilder withLrh(const Target &t, const Lrh &header)
{
    return base(t).lrh(header);
}

PacketBuilder withBth(const Target &t, const Bth &header)
{
    return base(t).bth(header);
}

PacketBuilder global(const Target &t, const Grh &header)
{
    return base(t).grh(header);
}

Grh grh(const Target &t)
{
    return {.source = t.ownGid, .destination = t.address.gid};
}

PacketBuilder multicast(const Target &t, const ib::Gid &group)
{
    Grh header = grh(t);
    header.destination = group;
    Lrh link = lrh(t);
    link.dlid = ib::firstMulticastLid;
    Bth transport = bth(t);
    transport.qpn = ib::multicastQpn;
    return base(t).lrh(link).grh(header).bth(transport);
}

io::Bytes mad(ib::MgmtClass mgmtClass)
{
    io::Bytes bytes;
    ib::Mad{.mgmtClass = mgmtClass, .method = ib::Method::get, .attribute = 0x11}.appendTo(bytes);
    return bytes;
}

Shot packet(const PacketBuilder &builder)
{
    return {.level = Level::packet, .bytes = builder.build()};
}

Shot frame(const io::Bytes &bytes)
{
    return {.level = Level::frame, .bytes = bytes};
}

// IPoIB payload without its length being looked at by any layer below.
Shot ipoibPayload(const Target &t, const io::Bytes &payload)
{
    return packet(unicast(t).payload(payload));
}

// Headers

Shot shortLrh(const Target &t, Random &, std::uint32_t n)
{
    return packet(base(t).truncate(n % Lrh::size));
}

Shot lengthLong(const Target &t, Random &, std::uint32_t n)
{
    return packet(base(t).overrideWords(static_cast<std::uint16_t>(0x7FF - n % 1000)));
}

Shot lengthShort(const Target &t, Random &, std::uint32_t n)
{
    return packet(base(t).overrideWords(static_cast<std::uint16_t>(n % 6)));
}

Shot cutOff(const Target &t, Random &, std::uint32_t n)
{
    const std::size_t whole = base(t).build().size();
    return packet(base(t).truncate(Lrh::size + n % (whole - Lrh::size)));
}

Shot linkVersion(const Target &t, Random &, std::uint32_t n)
{
    Lrh header = lrh(t);
    header.linkVersion = static_cast<std::uint8_t>(1 + n % 15);
    return packet(withLrh(t, header));
}

Shot rawPacket(const Target &t, Random &, std::uint32_t n)
{
    return packet(base(t).overrideNext(n % 2 != 0 ? LinkNext::raw : LinkNext::rawIpv6));
}

Shot bthVersion(const Target &t, Random &, std::uint32_t n)
{
    Bth header = bth(t);
    header.version = static_cast<std::uint8_t>(1 + n % 15);
    return packet(withBth(t, header));
}

Shot opcode(const Target &t, Random &, std::uint32_t n)
{
    Bth header = bth(t);
    header.opcode = static_cast<std::uint8_t>(n);
    if (header.opcode == 0x64 || header.opcode == 0x65)
        header.opcode = 0xFF;
    return packet(withBth(t, header));
}

Shot shortDatagram(const Target &t, Random &, std::uint32_t)
{
    return packet(PacketBuilder{}.lrh(lrh(t)).bth(bth(t))); // BTH, then nothing
}

Shot shortImmediate(const Target &t, Random &, std::uint32_t)
{
    Bth header = bth(t);
    header.opcode = static_cast<std::uint8_t>(ib::Opcode::udSendOnlyImmediate);
    return packet(PacketBuilder{}.lrh(lrh(t)).bth(header).deth(deth(t)));
}

Shot padTooLong(const Target &t, Random &, std::uint32_t n)
{
    return packet(unicast(t).overridePad(static_cast<std::uint8_t>(1 + n % 3)));
}

Shot truncatedGrh(const Target &t, Random &, std::uint32_t n)
{
    const std::uint16_t words = static_cast<std::uint16_t>(6 + n % 10); // less than both headers
    return packet(global(t, grh(t)).overrideWords(words).truncate(std::size_t{words} * 4));
}

Shot grhLength(const Target &t, Random &random, std::uint32_t)
{
    return packet(
        global(t, grh(t)).overrideGrhLength(static_cast<std::uint16_t>(random() | 0x8000)));
}

Shot grhVersion(const Target &t, Random &, std::uint32_t n)
{
    Grh header = grh(t);
    header.version = static_cast<std::uint8_t>(n % 6);
    return packet(global(t, header));
}

Shot grhNext(const Target &t, Random &, std::uint32_t n)
{
    Grh header = grh(t);
    header.next = static_cast<std::uint8_t>(n % Grh::nextBth);
    return packet(global(t, header));
}

// Addresses

Shot otherDgid(const Target &t, Random &random, std::uint32_t)
{
    Grh header = grh(t);
    header.destination = ib::makeGid(ib::defaultPrefix, random() | 1);
    return packet(global(t, header));
}

Shot wrongDlid(const Target &t, Random &, std::uint32_t n)
{
    Lrh header = lrh(t);
    header.dlid = static_cast<std::uint16_t>(0x1000 + n % 0x1000);
    return packet(withLrh(t, header));
}

Shot zeroDlid(const Target &t, Random &, std::uint32_t)
{
    Lrh header = lrh(t);
    header.dlid = 0;
    return packet(withLrh(t, header));
}

Shot permissiveDlid(const Target &t, Random &, std::uint32_t)
{
    Lrh header = lrh(t);
    header.dlid = ib::permissiveLid;
    return packet(withLrh(t, header));
}

Shot multicastSlid(const Target &t, Random &, std::uint32_t)
{
    Lrh header = lrh(t);
    header.slid = ib::firstMulticastLid;
    return packet(withLrh(t, header));
}

Shot multicastWithoutGrh(const Target &t, Random &, std::uint32_t)
{
    Lrh header = lrh(t);
    header.dlid = ib::firstMulticastLid;
    Bth transport = bth(t);
    transport.qpn = ib::multicastQpn;
    return packet(base(t).lrh(header).bth(transport));
}

Shot multicastToQp(const Target &t, Random &, std::uint32_t)
{
    Lrh header = lrh(t);
    header.dlid = ib::firstMulticastLid;
    return packet(withLrh(t, header));
}

Shot multicastQpUnicastLid(const Target &t, Random &, std::uint32_t)
{
    Bth header = bth(t);
    header.qpn = ib::multicastQpn;
    return packet(withBth(t, header));
}

Shot unknownGroup(const Target &t, Random &random, std::uint32_t)
{
    return packet(multicast(t, ib::makeIpoibMgid(ib::ipoibIpv6, 0xFFFF, random())));
}

Shot unknownQp(const Target &t, Random &, std::uint32_t n)
{
    Bth header = bth(t);
    header.qpn = absentQpn - n % 100;
    return packet(withBth(t, header));
}

// Keys, lanes, sizes

Shot otherPartition(const Target &t, Random &, std::uint32_t n)
{
    Bth header = bth(t);
    header.pkey = static_cast<std::uint16_t>(0x8001 + n % 0x7000);
    return packet(withBth(t, header));
}

Shot zeroPkey(const Target &t, Random &, std::uint32_t n)
{
    Bth header = bth(t);
    header.pkey = static_cast<std::uint16_t>(n % 2 * 0x8000);
    return packet(withBth(t, header));
}

Shot wrongQkey(const Target &t, Random &, std::uint32_t n)
{
    Deth header = deth(t);
    header.qkey ^= 1u << n % 32;
    return packet(base(t).deth(header));
}

Shot wrongGsiQkey(const Target &t, Random &, std::uint32_t n)
{
    Bth header = bth(t);
    header.qpn = 1;
    return packet(PacketBuilder{}
                      .lrh(lrh(t))
                      .bth(header)
                      .deth({.qkey = ib::gsiQkey ^ 1u << n % 32, .sourceQpn = 1})
                      .payload(mad(ib::MgmtClass::perf)));
}

Shot wrongVl(const Target &t, Random &, std::uint32_t)
{
    Lrh header = lrh(t);
    header.vl = 15;
    return packet(withLrh(t, header));
}

Shot smpToGsi(const Target &t, Random &, std::uint32_t)
{
    Lrh header = lrh(t);
    header.vl = 15;
    return packet(PacketBuilder{}
                      .lrh(header)
                      .bth({.qpn = 1})
                      .deth({.qkey = ib::gsiQkey, .sourceQpn = 0})
                      .payload(mad(ib::MgmtClass::subnLid)));
}

Shot smpOffVl15(const Target &t, Random &, std::uint32_t n)
{
    Lrh header = lrh(t);
    header.vl = static_cast<std::uint8_t>(n % 15);
    return packet(
        PacketBuilder{}.lrh(header).bth({.qpn = 0}).deth({}).payload(mad(ib::MgmtClass::subnLid)));
}

Shot oversize(const Target &t, Random &, std::uint32_t n)
{
    return packet(unicast(t).ipoib({}).payload(io::Bytes(4096 + n % 64, 0x55)));
}

// IPoIB

Shot shorterThanIpoib(const Target &t, Random &random, std::uint32_t n)
{
    return ipoibPayload(t, randomBytes(random, n % IpoibHeader::size));
}

Shot onlyIpoib(const Target &t, Random &, std::uint32_t n)
{
    constexpr std::array types{IpoibHeader::ipv4, IpoibHeader::arp, IpoibHeader::ipv6};
    return packet(unicast(t).ipoib({.type = types[n % types.size()]}));
}

Shot unknownType(const Target &t, Random &random, std::uint32_t n)
{
    return packet(unicast(t)
                      .ipoib({.type = static_cast<std::uint16_t>(0x9000 | (random() & 0xFFF))})
                      .payload(randomBytes(random, 1 + n % 128)));
}

Shot garbageIp(const Target &t, Random &random, std::uint32_t n)
{
    constexpr std::array types{IpoibHeader::ipv4, IpoibHeader::arp, IpoibHeader::ipv6};
    return packet(unicast(t)
                      .ipoib({.type = types[n % types.size()], .reserved = 0xFFFF})
                      .payload(randomBytes(random, 1 + random() % 2000)));
}

// Link frames

Shot frameVersion(const Target &t, Random &, std::uint32_t n)
{
    link::Header header = t.link;
    header.version = static_cast<std::uint8_t>(n % 254 == 0 ? 0 : n % 254 + 1);
    return frame(header.frame(base(t).build()));
}

Shot frameType(const Target &t, Random &, std::uint32_t n)
{
    link::Header header = t.link;
    header.type = static_cast<link::FrameType>(4 + n % 200);
    return frame(header.frame({}));
}

Shot frameRunt(const Target &t, Random &, std::uint32_t n)
{
    io::Bytes bytes = t.link.frame({});
    bytes.resize(1 + n % (link::Header::size - 1));
    return frame(bytes);
}

Shot frameLength(const Target &t, Random &, std::uint32_t n)
{
    const auto length =
        static_cast<std::uint16_t>(n % 2 != 0 ? n % link::Header::size : 2000 + n % 60000);
    return frame(t.link.frameWithLength(base(t).build(), length));
}

Shot frameCheck(const Target &t, Random &random, std::uint32_t)
{
    io::Bytes bytes = t.link.frame(base(t).build());
    bytes[link::Header::size + random() % 40] ^= 0x55;
    return frame(bytes);
}

Shot frameSession(const Target &t, Random &random, std::uint32_t n)
{
    link::Header header = t.link;
    (n % 2 != 0 ? header.session : header.peer) ^= static_cast<std::uint32_t>(random() | 1);
    if (header.session == t.peerSession || header.session == 0)
        header.session ^= 0x40000000;
    return frame(header.frame(base(t).build()));
}

Shot frameLoop(const Target &t, Random &, std::uint32_t)
{
    link::Header header = t.link;
    header.session = t.peerSession;
    return frame(header.frame(base(t).build()));
}

Shot frameForeign(const Target &t, Random &random, std::uint32_t)
{
    link::Header header = t.link;
    header.session ^= static_cast<std::uint32_t>(random() & 0xFFFF) | 1;
    return {.level = Level::stranger, .bytes = header.frame(base(t).build())};
}

Shot frameWindow(const Target &t, Random &, std::uint32_t n)
{
    link::Header header = t.link;
    header.seq += 1000 + n * 7919;
    return frame(header.frame(base(t).build()));
}

Shot frameAck(const Target &t, Random &, std::uint32_t n)
{
    link::Header header = t.link;
    header.type = link::FrameType::ack;
    header.ack += 10000 + n * 7919;
    return frame(header.frame({}));
}

Shot helloShort(const Target &t, Random &, std::uint32_t n)
{
    link::Header header = t.link;
    header.type = link::FrameType::hello;
    return frame(header.frame(io::Bytes(n % 20)));
}

Shot countTooHigh(const Target &t, Random &, std::uint32_t n)
{
    Shot shot = packet(base(t).lrh({.dlid = 0x999, .slid = t.ownLid}));
    shot.count = static_cast<std::uint8_t>(2 + n % 254);
    return shot;
}

Shot countZero(const Target &t, Random &, std::uint32_t)
{
    Shot shot = packet(base(t));
    shot.count = 0;
    return shot;
}

// Noise

Shot randomFrame(const Target &, Random &random, std::uint32_t)
{
    return frame(randomBytes(random, 1 + random() % 1500));
}

Shot randomPacket(const Target &, Random &random, std::uint32_t)
{
    return {.level = Level::packet, .bytes = randomBytes(random, random() % 1500)};
}

Shot randomTransport(const Target &t, Random &random, std::uint32_t n)
{
    // A right LRH in front, so that the noise gets further.
    io::Bytes noise = randomBytes(random, 4 * (3 + random() % 300));
    if (n % 2 != 0)
        noise[0] = 0x64; // and a right opcode
    io::Bytes out;
    Lrh header = lrh(t);
    header.next = n % 3 == 0 ? LinkNext::grh : LinkNext::bth;
    header.words = static_cast<std::uint16_t>((Lrh::size + noise.size()) / 4);
    header.appendTo(out);
    io::append(out, noise);
    return {.level = Level::packet, .bytes = out};
}

constexpr std::string_view anyPacketDrop =
    "rx_malformed rx_opcode rx_lid rx_gid rx_mtu rx_vl rx_no_qp rx_no_mcast rx_pkey rx_qkey";
constexpr std::string_view anyFrameDrop =
    "link_rx_version link_rx_length link_rx_check link_rx_session link_rx_type";

constexpr std::array cases{
    Case{"short-lrh", "fewer bytes than an LRH", "rx_malformed", "", 16, shortLrh},
    Case{"length-long", "LRH length beyond the frame", "rx_malformed", "", 16, lengthLong},
    Case{"length-short", "LRH length shorter than any packet", "rx_malformed", "", 12, lengthShort},
    Case{"cut-off", "packet cut off at any byte", "rx_malformed", "", 64, cutOff},
    Case{"link-version", "LRH with a link version", "rx_malformed", "", 15, linkVersion},
    Case{"raw-packet", "raw and IPv6 packets (LNH 0, 1)", "rx_opcode", "", 16, rawPacket},
    Case{"bth-version", "BTH with a transport version", "rx_malformed", "", 15, bthVersion},
    Case{"opcode", "every opcode but UD SEND, as a datagram", "rx_opcode rx_malformed", "", 256,
         opcode},
    Case{"short-datagram", "UD packet without a DETH", "rx_malformed", "", 8, shortDatagram},
    Case{"short-immediate", "immediate opcode without the data", "rx_malformed", "", 8,
         shortImmediate},
    Case{"pad-too-long", "more pad than payload", "rx_malformed", "", 9, padTooLong},
    Case{"truncated-grh", "LNH says GRH, bytes end within it", "rx_malformed", "", 20,
         truncatedGrh},
    Case{"grh-length", "GRH length contradicts the LRH", "rx_malformed", "", 16, grhLength},
    Case{"grh-version", "GRH of another IP version", "rx_malformed", "", 12, grhVersion},
    Case{"grh-next", "GRH with another next header", "rx_malformed", "", 27, grhNext},
    Case{"other-dgid", "unicast GRH to a GID of nobody here", "rx_gid", "", 16, otherDgid},
    Case{"wrong-dlid", "LID of another port", "rx_lid", "", 32, wrongDlid},
    Case{"zero-dlid", "DLID 0", "rx_lid", "", 8, zeroDlid},
    Case{"permissive-dlid", "permissive DLID on a data lane", "rx_lid", "", 8, permissiveDlid},
    Case{"multicast-slid", "SLID that is a multicast LID", "rx_lid", "", 8, multicastSlid},
    Case{"multicast-without-grh", "multicast packet without a GRH", "rx_lid", "", 8,
         multicastWithoutGrh},
    Case{"multicast-to-qp", "multicast LID, QP of one", "rx_lid", "", 8, multicastToQp},
    Case{"multicast-qp", "unicast LID, multicast QP", "rx_lid", "", 8, multicastQpUnicastLid},
    Case{"unknown-group", "multicast to groups nobody joined", "rx_no_mcast", "", 64, unknownGroup},
    Case{"unknown-qp", "QPs that do not exist", "rx_no_qp", "", 100, unknownQp},
    Case{"other-partition", "P_Keys of other partitions", "rx_pkey", "", 64, otherPartition},
    Case{"zero-pkey", "invalid P_Keys 0 and 0x8000", "rx_pkey", "", 8, zeroPkey},
    Case{"wrong-qkey", "Q_Key with each bit wrong", "rx_qkey", "", 32, wrongQkey},
    Case{"wrong-gsi-qkey", "QP1 with each Q_Key bit wrong", "rx_qkey", "", 32, wrongGsiQkey},
    Case{"wrong-vl", "data QP on VL15", "rx_vl", "", 8, wrongVl},
    Case{"smp-to-gsi", "SMP to QP1", "rx_vl", "", 8, smpToGsi},
    Case{"smp-off-vl15", "SMP to QP0 on every data lane", "rx_vl", "", 15, smpOffVl15},
    Case{"oversize", "payload above the port's MTU", "rx_mtu", "", 64, oversize},
    Case{"shorter-than-ipoib", "0 to 3 bytes of IPoIB", "", "rx_errors", 64, shorterThanIpoib},
    Case{"only-ipoib", "IPoIB header and nothing else", "", "rx_errors", 64, onlyIpoib},
    Case{"unknown-type", "IPoIB of unknown ethertypes", "", "rx_packets rx_dropped", 128,
         unknownType},
    Case{"garbage-ip", "noise as IPv4, ARP and IPv6", "", "rx_packets", 1000, garbageIp},
    Case{"frame-version", "link frames of other versions", "link_rx_version", "", 64, frameVersion},
    Case{"frame-type", "link frames of unknown types", "link_rx_type", "", 64, frameType},
    Case{"frame-runt", "link frames shorter than the header", "link_rx_length", "", 54, frameRunt},
    Case{"frame-length", "link length that does not fit", "link_rx_length", "", 64, frameLength},
    Case{"frame-check", "link frames with a flipped byte", "link_rx_check", "", 64, frameCheck},
    Case{"frame-session", "link frames of other sessions", "link_rx_session", "", 64, frameSession},
    Case{"frame-loop", "the peer's own frames", "link_rx_loop", "", 16, frameLoop},
    Case{"frame-foreign", "link frames of a third station", "link_rx_foreign", "", 64,
         frameForeign},
    Case{"frame-window", "sequence numbers outside the window", "link_rx_window", "", 64,
         frameWindow},
    Case{"frame-ack", "acknowledgements of what was never sent", "link_rx_window", "", 64,
         frameAck},
    Case{"hello-short", "hellos shorter than a hello", "link_rx_length", "", 40, helloShort},
    Case{"count-too-high", "more packets announced than there are", "rx_malformed", "", 64,
         countTooHigh},
    Case{"count-zero", "no packet announced, one there", "rx_malformed", "", 16, countZero},
    Case{"random-frame", "noise as link frames", anyFrameDrop, "", 10000, randomFrame},
    Case{"random-packet", "noise as packets", anyPacketDrop, "", 10000, randomPacket},
    Case{"random-transport", "noise behind a right LRH", anyPacketDrop, "", 10000, randomTransport},
};

} // namespace

std::span<const Case> allCases()
{
    return cases;
}

ib::PacketBuilder unicast(const Target &target)
{
    return ib::PacketBuilder{}.lrh(lrh(target)).bth(bth(target)).deth(deth(target));
}

} // namespace openipoib::wire
