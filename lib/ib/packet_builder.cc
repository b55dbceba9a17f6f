// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/packet_builder.hpp"

#include "ib/icrc.hpp"

namespace openipoib::ib
{

PacketBuilder &PacketBuilder::lrh(const Lrh &header)
{
    lrh_ = header;
    return *this;
}

PacketBuilder &PacketBuilder::grh(const Grh &header)
{
    grh_ = header;
    return *this;
}

PacketBuilder &PacketBuilder::bth(const Bth &header)
{
    bth_ = header;
    return *this;
}

PacketBuilder &PacketBuilder::deth(const Deth &header)
{
    deth_ = header;
    return *this;
}

PacketBuilder &PacketBuilder::ipoib(const IpoibHeader &header)
{
    ipoib_ = header;
    return *this;
}

PacketBuilder &PacketBuilder::payload(io::View bytes)
{
    io::append(payload_, bytes);
    return *this;
}

PacketBuilder &PacketBuilder::overrideNext(LinkNext next)
{
    next_ = next;
    return *this;
}

PacketBuilder &PacketBuilder::overrideWords(std::uint16_t words)
{
    words_ = words;
    return *this;
}

PacketBuilder &PacketBuilder::overridePad(std::uint8_t pad)
{
    pad_ = pad;
    return *this;
}

PacketBuilder &PacketBuilder::overrideGrhLength(std::uint16_t length)
{
    grhLength_ = length;
    return *this;
}

PacketBuilder &PacketBuilder::overrideIcrc(std::uint32_t icrc)
{
    icrc_ = icrc;
    return *this;
}

PacketBuilder &PacketBuilder::truncate(std::size_t bytes)
{
    truncate_ = bytes;
    return *this;
}

io::Bytes PacketBuilder::build() const
{
    io::Bytes body; // what follows the BTH
    if (deth_)
        deth_->appendTo(body);
    if (ipoib_)
        ipoib_->appendTo(body);
    io::append(body, payload_);
    const std::size_t pad = (4 - body.size() % 4) % 4;
    body.resize(body.size() + pad);

    const std::size_t afterGrh = (bth_ ? Bth::size : 0) + body.size() + icrcSize;
    const std::size_t total = Lrh::size + (grh_ ? Grh::size : 0) + afterGrh;

    io::Bytes packet;
    packet.reserve(total);
    Lrh lrh = lrh_;
    lrh.next = next_.value_or(grh_ ? LinkNext::grh : bth_ ? LinkNext::bth : LinkNext::raw);
    lrh.words = words_.value_or(static_cast<std::uint16_t>(total / 4));
    lrh.appendTo(packet);
    if (grh_) {
        Grh grh = *grh_;
        grh.payloadLength = grhLength_.value_or(static_cast<std::uint16_t>(afterGrh));
        grh.appendTo(packet);
    }
    if (bth_) {
        Bth bth = *bth_;
        bth.pad = pad_.value_or(static_cast<std::uint8_t>(pad));
        bth.appendTo(packet);
    }
    io::append(packet, body);
    io::append<4>(packet, icrc_.value_or(icrc(packet)));
    if (truncate_ && *truncate_ < packet.size())
        packet.resize(*truncate_);
    return packet;
}

} // namespace openipoib::ib
