// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/legs.hpp"

#include "ha-daemon/linux/attributes.hpp"

#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <algorithm>

namespace openipoib::ha
{

namespace
{

constexpr unsigned kept = RTNH_F_PERVASIVE | RTNH_F_ONLINK; // flags that somebody has set

// @whole: the leg with its attributes, aligned where another follows
using EachLeg = std::function<void(const rtnexthop &leg, io::View whole)>;

void eachLeg(io::View legs, const EachLeg &each)
{
    rtnexthop leg{};
    while (fixedPart(legs, leg) && leg.rtnh_len >= sizeof leg && leg.rtnh_len <= legs.size()) {
        const std::size_t length = std::min<std::size_t>(RTNH_ALIGN(leg.rtnh_len), legs.size());
        each(leg, legs.first(length));
        legs = legs.subspan(length);
    }
}

void append(io::Bytes &out, rtnexthop leg, io::View whole)
{
    leg.rtnh_flags &= static_cast<unsigned char>(kept);
    const std::size_t at = out.size();
    io::append(out, whole);
    std::memcpy(out.data() + at, &leg, sizeof leg);
}

} // namespace

io::Bytes legsBy(io::View legs, int index)
{
    io::Bytes out;
    eachLeg(legs, [&](const rtnexthop &leg, io::View whole) {
        if (leg.rtnh_ifindex == index)
            append(out, leg, whole);
    });
    return out;
}

io::Bytes moveLegs(io::View legs, const Indexes &places)
{
    io::Bytes out;
    eachLeg(legs, [&](rtnexthop leg, io::View whole) {
        if (const auto place = places.find(leg.rtnh_ifindex); place != places.end())
            leg.rtnh_ifindex = place->second;
        append(out, leg, whole);
    });
    return out;
}

std::string gatewaysOf(io::View legs)
{
    std::string out;
    eachLeg(legs, [&](const rtnexthop &, io::View whole) {
        eachAttribute(whole.subspan(sizeof(rtnexthop)), [&](int type, io::View value) {
            if (type == RTA_GATEWAY)
                out += (out.empty() ? "" : " via ") + addressText(AF_INET6, value);
        });
    });
    return out;
}

} // namespace openipoib::ha
