// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ib/smp.hpp"

#include "ib/lrh.hpp"

#include <algorithm>

namespace openipoib::ib
{

namespace
{

constexpr std::size_t lidsAt = 32; // DrSLID and DrDLID
constexpr std::size_t initialPathAt = 128;
constexpr std::uint16_t directionBit = 0x8000; // of a directed route's status

io::Bytes question(MgmtClass mgmtClass, SmpAttribute attribute, std::uint32_t modifier,
                   std::uint64_t transaction, std::uint16_t hops)
{
    io::Bytes mad;
    Mad{.mgmtClass = mgmtClass,
        .classSpecific = hops,
        .transaction = transaction,
        .attribute = static_cast<std::uint16_t>(attribute),
        .modifier = modifier}
        .appendTo(mad);
    return mad;
}

} // namespace

io::Bytes directedQuestion(SmpAttribute attribute, std::uint32_t modifier,
                           std::span<const std::uint8_t> route, std::uint64_t transaction)
{
    // Hop pointer 0 and the count of hops
    io::Bytes mad = question(MgmtClass::subnDirected, attribute, modifier, transaction,
                             static_cast<std::uint16_t>(route.size()));
    std::fill_n(mad.begin() + lidsAt, 2 * sizeof permissiveLid, std::uint8_t{0xFF});
    std::ranges::copy(route, mad.begin() + initialPathAt + 1);
    return mad;
}

io::Bytes lidQuestion(SmpAttribute attribute, std::uint32_t modifier, std::uint64_t transaction)
{
    return question(MgmtClass::subnLid, attribute, modifier, transaction, 0);
}

std::uint16_t smpStatus(io::View mad)
{
    const auto header = Mad::parse(mad);
    if (!header)
        return 0xFFFF;
    const bool directed = header->mgmtClass == MgmtClass::subnDirected;
    return directed ? header->status & static_cast<std::uint16_t>(~directionBit) : header->status;
}

} // namespace openipoib::ib
