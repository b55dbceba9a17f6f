// SPDX-License-Identifier: GPL-2.0-only OR MIT
// MCMemberRecord of subnet administration (IBA volume 1, 15.2.5.17): a port's
// membership in a multicast group, as requests and answers have it.
#pragma once

#include "ib/gid.hpp"
#include "io/bytes.hpp"

#include <cstdint>
#include <expected>
#include <optional>

namespace openipoib::ib
{

struct MemberRecord {
    Gid mgid{};
    Gid portGid{};
    std::uint32_t qkey = 0;
    std::uint16_t mlid = 0;
    std::uint8_t mtu = 0; // PortInfo's code
    std::uint8_t trafficClass = 0;
    std::uint16_t pkey = 0;
    std::uint8_t rate = 0;
    std::uint8_t sl = 0;
    std::uint32_t flowLabel = 0;
    std::uint8_t hopLimit = 0;

    // Octets of a datagram, IPoIB header and all.
    [[nodiscard]] std::size_t payload() const { return std::size_t{128} << mtu; }

    // The MAD that asks to join as full member. With others it also says what the group is
    // to be like if it does not exist.
    enum class Wish : std::uint8_t { join, joinOrCreate };
    [[nodiscard]] io::Bytes request(Wish wish, std::uint64_t transaction) const;
    // The MAD that asks what the group is like, and joins nothing.
    [[nodiscard]] static io::Bytes question(const Gid &mgid, std::uint64_t transaction);

    bool operator==(const MemberRecord &) const = default;
};

// What the SA has answered to a request; no record: it has refused.
struct MemberAnswer {
    std::uint64_t transaction = 0;
    std::optional<MemberRecord> record;

    // nullopt if the MAD is no answer to such a request, or makes no sense.
    [[nodiscard]] static std::optional<MemberAnswer> parse(io::View mad);
};

} // namespace openipoib::ib
