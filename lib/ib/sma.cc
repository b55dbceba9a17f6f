// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/sma.hpp"

#include "ib/mad.hpp"
#include "ib/packet_builder.hpp"

#include <algorithm>

namespace openipoib::ib
{

namespace
{

constexpr std::size_t dataOffset = 64;
constexpr std::size_t initialPathOffset = 128;
constexpr std::size_t returnPathOffset = 192;
constexpr std::size_t hopPointerOffset = 6;
constexpr std::size_t hopCountOffset = 7;
constexpr std::size_t methodOffset = 3;
constexpr std::size_t statusOffset = 4;
constexpr std::uint16_t directionBit = 0x8000;
constexpr std::uint16_t unsupported = 0x000C; // method and attribute combination

constexpr std::uint16_t nodeDescription = 0x10;
constexpr std::uint16_t nodeInfoAttribute = 0x11;
constexpr std::uint16_t guidInfo = 0x14;
constexpr std::uint16_t portInfoAttribute = 0x15;
constexpr std::uint16_t pkeyTable = 0x16;
constexpr std::uint16_t slToVl = 0x17;
constexpr std::uint16_t vlArbitration = 0x18;

constexpr std::uint8_t vl15 = 15;

template <std::size_t N, std::size_t Size>
void put(std::array<std::uint8_t, Size> &data, std::size_t offset, std::uint64_t value)
{
    io::Bytes bytes;
    io::append<N>(bytes, value);
    std::ranges::copy(bytes, data.begin() + static_cast<std::ptrdiff_t>(offset));
}

// Payload of a packet to QP0 on VL15 that holds a whole MAD.
std::optional<io::View> smp(io::View packet, Lrh &lrh)
{
    const auto header = Lrh::parse(packet);
    if (!header || header->vl != vl15 || header->next != LinkNext::bth)
        return std::nullopt;
    lrh = *header;
    const auto bth = Bth::parse(packet.subspan(Lrh::size));
    constexpr std::size_t before = Lrh::size + Bth::size + Deth::size;
    if (!bth || bth->qpn != 0 || packet.size() < before + Mad::size)
        return std::nullopt;
    return packet.subspan(before, Mad::size);
}

} // namespace

void Sma::linkUp()
{
    state_ = PortState::init;
}

std::optional<io::Bytes> Sma::answer(io::View packet)
{
    Lrh lrh;
    const auto request = smp(packet, lrh);
    if (!request)
        return std::nullopt;
    const auto mad = Mad::parse(*request);
    const bool directed = mad->mgmtClass == MgmtClass::subnDirected;
    if (!directed && mad->mgmtClass != MgmtClass::subnLid)
        return std::nullopt;
    if (mad->method != Method::get && mad->method != Method::set)
        return std::nullopt;

    io::Bytes reply(request->begin(), request->end());
    std::uint16_t status = directed ? directionBit : 0;
    if (directed) {
        // The request has arrived where its path ends: this port is the last
        // of the return path, which the answer begins to go back.
        const std::uint8_t hop = reply[hopPointerOffset];
        if (hop != reply[hopCountOffset] || hop == 0 || hop >= 64)
            return std::nullopt;
        reply[returnPathOffset + hop] = 1;
    }
    const auto wanted = request->subspan(dataOffset, Data{}.size());
    std::optional<Data> data;
    if (mad->method == Method::get || set(mad->attribute, mad->modifier, wanted))
        data = get(mad->attribute, mad->modifier);
    if (data)
        std::ranges::copy(*data, reply.begin() + dataOffset);
    else
        status |= unsupported;
    reply[methodOffset] = static_cast<std::uint8_t>(Method::getResp);
    reply[statusOffset] = static_cast<std::uint8_t>(status >> 8);
    reply[statusOffset + 1] = static_cast<std::uint8_t>(status);

    static_assert(initialPathOffset + 64 == returnPathOffset);
    return PacketBuilder{}
        .lrh({.vl = vl15,
              .dlid = directed ? permissiveLid : lrh.slid,
              .slid = directed ? permissiveLid : lid_})
        .bth({.qpn = 0})
        .deth({.qkey = 0, .sourceQpn = 0})
        .payload(reply)
        .build();
}

std::optional<Sma::Data> Sma::get(std::uint16_t attribute, std::uint32_t modifier) const
{
    Data data{};
    switch (attribute) {
    case nodeDescription:
        std::ranges::copy(description_.substr(0, data.size()), data.begin());
        return data;
    case nodeInfoAttribute:
        return nodeInfo();
    case portInfoAttribute:
        return portInfo();
    case pkeyTable:
        return modifier == 0 ? pkeys_ : data;
    case guidInfo:
        if (modifier == 0)
            put<8>(data, 0, guid_);
        return data;
    case slToVl:
    case vlArbitration:
        return data;
    default:
        return std::nullopt;
    }
}

bool Sma::set(std::uint16_t attribute, std::uint32_t modifier, io::View data)
{
    switch (attribute) {
    case portInfoAttribute:
        setPortInfo(data);
        return true;
    case pkeyTable:
        if (modifier == 0)
            std::ranges::copy(data, pkeys_.begin());
        return true;
    case guidInfo:
    case slToVl:
    case vlArbitration:
        return true;
    default:
        return false;
    }
}

// IBA volume 1, section 14.2.5.3.
Sma::Data Sma::nodeInfo() const
{
    Data data{1, 1, 1, 1}; // versions, channel adapter, one port
    put<8>(data, 4, guid_);
    put<8>(data, 12, guid_);
    put<8>(data, 20, guid_);
    put<2>(data, 28, pkeys_.size() / 2);
    put<2>(data, 30, 1); // device
    put<4>(data, 32, 1); // revision
    data[36] = 1;        // local port
    return data;
}

// IBA volume 1, section 14.2.5.6.
Sma::Data Sma::portInfo() const
{
    Data data{};
    put<8>(data, 8, prefix_);
    put<2>(data, 16, lid_);
    put<2>(data, 18, smLid_);
    data[28] = 1;                                                               // local port
    data[29] = data[30] = data[31] = 2;                                         // width 4x
    data[32] = static_cast<std::uint8_t>(0x10 | static_cast<unsigned>(state_)); // 2.5 Gbit/s
    data[33] = 0x52;                                                            // LinkUp, Polling
    data[35] = 0x11;
    data[36] = mtuAndSl_;
    data[37] = 0x10; // VL0 only
    data[41] = 0x05; // MTU up to 4096
    data[43] = operationalVls_;
    data[50] = 1; // one GUID
    data[51] = subnetTimeout_;
    data[52] = 16; // response time
    return data;
}

void Sma::setPortInfo(io::View data)
{
    prefix_ = io::read<8>(data, 8);
    lid_ = static_cast<std::uint16_t>(io::read<2>(data, 16));
    smLid_ = static_cast<std::uint16_t>(io::read<2>(data, 18));
    if (data[36] >> 4 != 0)
        mtuAndSl_ = data[36];
    if (data[43] >> 4 != 0)
        operationalVls_ = data[43] & 0xF0;
    subnetTimeout_ = data[51] & 0x1F;
    const auto wanted = static_cast<PortState>(data[32] & 0xF);
    if (wanted == PortState::down)
        state_ = PortState::init; // the link stays up and begins again
    else if ((wanted == PortState::armed && state_ == PortState::init) ||
             (wanted == PortState::active && state_ == PortState::armed))
        state_ = wanted;
}

} // namespace openipoib::ib
