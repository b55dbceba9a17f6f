// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/sa.hpp"

#include <algorithm>

namespace openipoib::ib
{

namespace
{

constexpr std::uint8_t classVersion = 2;
constexpr std::size_t maskAt = 48;

// Bits of the component mask of a path record: GIDs, reversible, number of paths, P_Key
constexpr std::uint64_t pathMask = 1U << 2 | 1U << 3 | 1U << 11 | 1U << 12 | 1U << 13;
constexpr std::size_t pathGidsAt = saRecordAt + 8;
constexpr std::size_t pathLidsAt = saRecordAt + 40;
constexpr std::size_t pathNumberAt = saRecordAt + 49; // and the bit of reversibility
constexpr std::size_t pathPkeyAt = saRecordAt + 50;
constexpr std::size_t pathSlAt = saRecordAt + 53;
constexpr std::size_t pathMtuAt = saRecordAt + 54;
constexpr std::size_t pathRateAt = saRecordAt + 55;
constexpr std::uint8_t oneReversible = 0x80 | 1;

constexpr std::uint64_t nodeMask = 1U << 0; // LID
constexpr std::size_t nodePortGuidAt = saRecordAt + 4 + 20;
constexpr std::size_t nodeDescriptionAt = saRecordAt + 4 + 40;
constexpr std::size_t descriptionBytes = 64;

template <std::size_t N> void put(io::Bytes &mad, std::size_t at, std::uint64_t value)
{
    io::Bytes bytes;
    io::append<N>(bytes, value);
    std::ranges::copy(bytes, mad.begin() + static_cast<std::ptrdiff_t>(at));
}

} // namespace

io::Bytes saRequest(const SaRequest &request)
{
    io::Bytes mad;
    Mad{.mgmtClass = MgmtClass::subnAdm,
        .classVersion = classVersion,
        .method = request.method,
        .transaction = request.transaction,
        .attribute = static_cast<std::uint16_t>(request.attribute)}
        .appendTo(mad);
    put<8>(mad, maskAt, request.mask);
    return mad;
}

std::optional<Mad> saAnswer(io::View mad, SaAttribute attribute)
{
    const auto header = Mad::parse(mad);
    if (!header || header->mgmtClass != MgmtClass::subnAdm ||
        header->classVersion != classVersion || header->method != Method::getResp ||
        header->attribute != static_cast<std::uint16_t>(attribute))
        return std::nullopt;
    return header;
}

io::Bytes PathRecord::question(std::uint64_t transaction) const
{
    io::Bytes mad = saRequest(
        {.attribute = SaAttribute::pathRecord, .mask = pathMask, .transaction = transaction});
    std::ranges::copy(dgid, mad.begin() + pathGidsAt);
    std::ranges::copy(sgid, mad.begin() + pathGidsAt + 16);
    mad[pathNumberAt] = oneReversible;
    put<2>(mad, pathPkeyAt, pkey);
    return mad;
}

std::optional<PathRecord> PathRecord::parse(io::View mad)
{
    const auto header = saAnswer(mad, SaAttribute::pathRecord);
    if (!header || header->status != 0)
        return std::nullopt;
    PathRecord path{.dlid = static_cast<std::uint16_t>(io::read<2>(mad, pathLidsAt)),
                    .slid = static_cast<std::uint16_t>(io::read<2>(mad, pathLidsAt + 2)),
                    .pkey = static_cast<std::uint16_t>(io::read<2>(mad, pathPkeyAt)),
                    .sl = io::bits<std::uint8_t>(mad[pathSlAt], 0, 4),
                    .mtu = io::bits<std::uint8_t>(mad[pathMtuAt], 0, 6),
                    .rate = io::bits<std::uint8_t>(mad[pathRateAt], 0, 6)};
    std::ranges::copy(mad.subspan(pathGidsAt, 16), path.dgid.begin());
    std::ranges::copy(mad.subspan(pathGidsAt + 16, 16), path.sgid.begin());
    return path;
}

io::Bytes NodeRecord::question(std::uint16_t lid, std::uint64_t transaction)
{
    io::Bytes mad = saRequest(
        {.attribute = SaAttribute::nodeRecord, .mask = nodeMask, .transaction = transaction});
    put<2>(mad, saRecordAt, lid);
    return mad;
}

std::optional<NodeRecord> NodeRecord::parse(io::View mad)
{
    const auto header = saAnswer(mad, SaAttribute::nodeRecord);
    if (!header || header->status != 0)
        return std::nullopt;
    const io::View text = mad.subspan(nodeDescriptionAt, descriptionBytes);
    return NodeRecord{.portGuid = io::read<8>(mad, nodePortGuidAt),
                      .description = std::string(text.begin(), std::ranges::find(text, 0))};
}

} // namespace openipoib::ib
