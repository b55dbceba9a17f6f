// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "fleet/faults.hpp"

#include "fleet/put.hpp"
#include "ib/mad.hpp"

#include <algorithm>
#include <array>

namespace openipoib::fleet
{

namespace
{

constexpr std::size_t statusAt = 4;
constexpr std::size_t recordSizeAt = 44; // in words of 8 octets (IBA 15.2.1.1)
constexpr std::size_t recordAt = 56;
constexpr std::uint16_t pathRecord = 0x35;
constexpr std::uint16_t groupRecord = 0x38;
constexpr std::uint16_t noResources = 1 << 8; // IBA 15.2.1

// Where the fields of a record are (IBA 15.2.5.16 and 15.2.5.17)
struct Layout {
    std::size_t gid;
    std::size_t lid;
    std::size_t mtu;
    std::size_t rate;
    std::uint16_t wrongLid; // of a group where that of a port belongs, or the other way round
};

constexpr Layout ofPath{.gid = 8, .lid = 40, .mtu = 54, .rate = 55, .wrongLid = 0xC001};
constexpr Layout ofGroup{.gid = 0, .lid = 36, .mtu = 38, .rate = 42, .wrongLid = 0x0001};
constexpr std::uint8_t exactly = 2 << 6;
constexpr std::uint8_t beyond = 0x3F; // no MTU and no rate
constexpr std::size_t shortest = 16;  // octets of a record that is cut off, a whole word

template <std::size_t N> void putIn(io::Bytes &mad, std::size_t at, std::uint64_t value)
{
    put<N>(mad, recordAt + at, value);
}

void cutOff(io::Bytes &mad)
{
    put<2>(mad, recordSizeAt, shortest / 8);
    std::ranges::fill(mad.begin() + static_cast<std::ptrdiff_t>(recordAt + shortest), mad.end(),
                      std::uint8_t{0});
}

using Change = void (*)(io::Bytes &mad, const Layout &at);

constexpr std::array<Change, 9> changes{
    [](io::Bytes &mad, const Layout &at) { mad[recordAt + at.gid + 15] ^= 0x80; },
    [](io::Bytes &mad, const Layout &at) { putIn<2>(mad, at.lid, 0); },
    [](io::Bytes &mad, const Layout &at) { putIn<2>(mad, at.lid, at.wrongLid); },
    [](io::Bytes &mad, const Layout &at) { putIn<1>(mad, at.mtu, exactly); },
    [](io::Bytes &mad, const Layout &at) { putIn<1>(mad, at.mtu, exactly | beyond); },
    [](io::Bytes &mad, const Layout &at) { putIn<1>(mad, at.rate, exactly); },
    [](io::Bytes &mad, const Layout &at) { putIn<1>(mad, at.rate, exactly | beyond); },
    [](io::Bytes &mad, const Layout &) { put<2>(mad, statusAt, noResources); },
    [](io::Bytes &mad, const Layout &) { cutOff(mad); },
};

} // namespace

bool Faults::spoil(io::Bytes &mad)
{
    const auto head = ib::Mad::parse(mad);
    if (head->status != 0 || head->method != ib::Method::getResp ||
        (head->attribute != pathRecord && head->attribute != groupRecord))
        return false;
    if (draw(100) >= rates_.wrong)
        return false;
    const bool isPath = head->attribute == pathRecord;
    changes.at(draw(static_cast<std::uint32_t>(changes.size())))(mad, isPath ? ofPath : ofGroup);
    return true;
}

} // namespace openipoib::fleet
