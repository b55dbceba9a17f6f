// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/member_record.hpp"

#include "ib/lrh.hpp"
#include "ib/sa.hpp"

#include <algorithm>

namespace openipoib::ib
{

namespace
{

constexpr std::uint8_t equals = 2 << 6; // selector of MTU and rate
constexpr std::uint8_t fullMember = 1;

// Bits of the component mask.
constexpr std::uint64_t maskGroup = 1U << 0;
constexpr std::uint64_t maskJoin = 1U << 0 | 1U << 1 | 1U << 7 | 1U << 16; // GIDs, P_Key, state
constexpr std::uint64_t maskCreate = maskJoin | 1U << 2 |                  // Q_Key
                                     1U << 4 | 1U << 5 | 1U << 6 |         // MTU, traffic class
                                     1U << 8 | 1U << 9 |                   // rate
                                     1U << 12 | 1U << 13 | 1U << 14;       // SL, flow label, hops

} // namespace

io::Bytes MemberRecord::request(Wish wish, std::uint64_t transaction) const
{
    io::Bytes mad = saRequest({.method = Method::set,
                               .attribute = SaAttribute::memberRecord,
                               .mask = wish == Wish::join ? maskJoin : maskCreate,
                               .transaction = transaction});
    mad.resize(saRecordAt);
    io::append(mad, mgid);
    io::append(mad, portGid);
    io::append<4>(mad, qkey);
    io::append<2>(mad, 0); // the SA chooses the MLID
    io::append<1>(mad, unsigned{equals} | mtu);
    io::append<1>(mad, trafficClass);
    io::append<2>(mad, pkey);
    io::append<1>(mad, unsigned{equals} | rate);
    io::append<1>(mad, 0);
    io::append<4>(mad, std::uint32_t{sl} << 28 | flowLabel << 8 | hopLimit);
    io::append<1>(mad, fullMember);
    mad.resize(Mad::size);
    return mad;
}

io::Bytes MemberRecord::question(const Gid &mgid, std::uint64_t transaction)
{
    io::Bytes mad = saRequest(
        {.attribute = SaAttribute::memberRecord, .mask = maskGroup, .transaction = transaction});
    std::ranges::copy(mgid, mad.begin() + saRecordAt);
    return mad;
}

std::optional<MemberAnswer> MemberAnswer::parse(io::View mad)
{
    const auto header = saAnswer(mad, SaAttribute::memberRecord);
    if (!header)
        return std::nullopt;
    MemberAnswer answer{.transaction = header->transaction, .record = std::nullopt};
    if (header->status != 0)
        return answer;
    const io::View in = mad.subspan(saRecordAt);
    MemberRecord record{.qkey = static_cast<std::uint32_t>(io::read<4>(in, 32)),
                        .mlid = static_cast<std::uint16_t>(io::read<2>(in, 36)),
                        .mtu = io::bits<std::uint8_t>(in[38], 0, 6),
                        .trafficClass = in[39],
                        .pkey = static_cast<std::uint16_t>(io::read<2>(in, 40)),
                        .rate = io::bits<std::uint8_t>(in[42], 0, 6),
                        .sl = io::bits<std::uint8_t>(in[44], 4, 4),
                        .flowLabel = io::bits<std::uint32_t>(io::read<4>(in, 44), 8, 20),
                        .hopLimit = in[47]};
    std::ranges::copy(in.first(16), record.mgid.begin());
    std::ranges::copy(in.subspan(16, 16), record.portGid.begin());
    constexpr std::uint8_t leastMtu = 1, mostMtu = 5;
    if (record.mtu < leastMtu || record.mtu > mostMtu || record.mlid < firstMulticastLid ||
        record.mlid == permissiveLid)
        return std::nullopt;
    answer.record = record;
    return answer;
}

} // namespace openipoib::ib
