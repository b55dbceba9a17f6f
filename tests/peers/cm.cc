// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "peers/cm.hpp"

#include "ib/bth.hpp"
#include "ib/mad.hpp"

#include <algorithm>

namespace openipoib::peers
{

namespace
{

constexpr std::uint8_t classVersion = 2;
constexpr std::size_t reqPrivateAt = 140;
constexpr std::size_t repPrivateAt = 36;

// 4.096 us * 2^n, in the upper 5 bits of a byte
constexpr std::uint8_t second = 18 << 3;
constexpr std::uint8_t ackTimeout = 14 << 3;
constexpr std::uint8_t mtu4096 = 5 << 4;
constexpr std::uint8_t rnrForEver = 7;
constexpr std::uint8_t subnetLocal = 1 << 3;
constexpr std::uint8_t rate10 = 3;

template <std::size_t N> void put(io::Bytes &out, std::size_t at, std::uint64_t value)
{
    io::Bytes bytes;
    io::append<N>(bytes, value);
    std::ranges::copy(bytes, out.begin() + static_cast<std::ptrdiff_t>(ib::Mad::headerSize + at));
}

template <std::size_t N> std::uint64_t get(io::View mad, std::size_t at)
{
    return io::read<N>(mad, ib::Mad::headerSize + at);
}

void putGid(io::Bytes &out, std::size_t at, const ib::Gid &gid)
{
    put<8>(out, at, io::read<8>(gid, 0));
    put<8>(out, at + 8, io::read<8>(gid, 8));
}

ib::Gid getGid(io::View mad, std::size_t at)
{
    return ib::makeGid(get<8>(mad, at), get<8>(mad, at + 8));
}

void putReq(io::Bytes &out, const CmMessage &message)
{
    put<8>(out, 8, message.serviceId);
    put<8>(out, 16, message.caGuid);
    put<3>(out, 32, message.qpn);
    put<1>(out, 35, 1); // READs at a time
    put<1>(out, 39, 1);
    put<1>(out, 43, second);
    put<3>(out, 44, message.psn);
    put<1>(out, 47, second | rnrForEver); // and as many retries
    put<2>(out, 48, ib::defaultPkey);
    put<1>(out, 50, mtu4096 | rnrForEver);
    put<1>(out, 51, 0xF0); // retries of the CM
    put<2>(out, 52, message.lid);
    put<2>(out, 54, message.remoteLid);
    putGid(out, 56, message.gid);
    putGid(out, 72, message.remoteGid);
    put<1>(out, 91, rate10);
    put<1>(out, 94, subnetLocal);
    put<1>(out, 95, ackTimeout);
    put<4>(out, reqPrivateAt, message.ipoibQpn);
    put<4>(out, reqPrivateAt + 4, message.longest);
}

void putRep(io::Bytes &out, const CmMessage &message)
{
    put<3>(out, 12, message.qpn);
    put<3>(out, 20, message.psn);
    put<1>(out, 24, 1);
    put<1>(out, 25, 1);
    put<1>(out, 27, rnrForEver << 5);
    put<8>(out, 28, message.caGuid);
    put<4>(out, repPrivateAt, message.ipoibQpn);
    put<4>(out, repPrivateAt + 4, message.longest);
}

void getReq(io::View mad, CmMessage &message)
{
    message.remoteCommId = 0;
    message.serviceId = get<8>(mad, 8);
    message.caGuid = get<8>(mad, 16);
    message.qpn = static_cast<std::uint32_t>(get<3>(mad, 32));
    message.psn = static_cast<std::uint32_t>(get<3>(mad, 44));
    message.lid = static_cast<std::uint16_t>(get<2>(mad, 52));
    message.remoteLid = static_cast<std::uint16_t>(get<2>(mad, 54));
    message.gid = getGid(mad, 56);
    message.remoteGid = getGid(mad, 72);
    message.ipoibQpn = static_cast<std::uint32_t>(get<4>(mad, reqPrivateAt)) & qpnMask;
    message.longest = static_cast<std::uint32_t>(get<4>(mad, reqPrivateAt + 4));
}

void getRep(io::View mad, CmMessage &message)
{
    message.qpn = static_cast<std::uint32_t>(get<3>(mad, 12));
    message.psn = static_cast<std::uint32_t>(get<3>(mad, 20));
    message.caGuid = get<8>(mad, 28);
    message.ipoibQpn = static_cast<std::uint32_t>(get<4>(mad, repPrivateAt)) & qpnMask;
    message.longest = static_cast<std::uint32_t>(get<4>(mad, repPrivateAt + 4));
}

} // namespace

io::Bytes CmMessage::mad() const
{
    io::Bytes out;
    ib::Mad{.mgmtClass = ib::MgmtClass::comm,
            .classVersion = classVersion,
            .method = ib::Method::send,
            .transaction = transaction,
            .attribute = static_cast<std::uint16_t>(type)}
        .appendTo(out);
    put<4>(out, 0, commId);
    put<4>(out, 4, remoteCommId);
    if (type == CmType::req)
        putReq(out, *this);
    else if (type == CmType::rep)
        putRep(out, *this);
    else if (type == CmType::dreq)
        put<3>(out, 8, qpn);
    return out;
}

std::optional<CmMessage> CmMessage::parse(io::View mad)
{
    const auto header = ib::Mad::parse(mad);
    if (!header || header->mgmtClass != ib::MgmtClass::comm ||
        header->classVersion != classVersion || header->method != ib::Method::send)
        return std::nullopt;
    CmMessage message{.type = static_cast<CmType>(header->attribute),
                      .transaction = header->transaction,
                      .commId = static_cast<std::uint32_t>(get<4>(mad, 0)),
                      .remoteCommId = static_cast<std::uint32_t>(get<4>(mad, 4))};
    switch (message.type) {
    case CmType::req:
        getReq(mad, message);
        return message;
    case CmType::rep:
        getRep(mad, message);
        return message;
    case CmType::dreq:
        message.qpn = static_cast<std::uint32_t>(get<3>(mad, 8));
        return message;
    case CmType::rej:
    case CmType::rtu:
    case CmType::drep:
        return message;
    }
    return std::nullopt;
}

} // namespace openipoib::peers
