// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Messages of the communication manager (IBA volume 1, section 12.6), with the private
// data of RFC 4755, section 6.
#pragma once

#include "ib/gid.hpp"
#include "io/bytes.hpp"

#include <cstdint>
#include <optional>

namespace openipoib::peers
{

enum class CmType : std::uint16_t {
    req = 0x10,
    rej = 0x12,
    rep = 0x13,
    rtu = 0x14,
    dreq = 0x15,
    drep = 0x16,
};

// A service ID is this and the QPN in the hardware address.
inline constexpr std::uint64_t ipoibService = 0x1000'0000'0000'0000;
inline constexpr std::uint32_t qpnMask = 0xFF'FFFF;

// What a message says; fields that its type does not have are 0.
struct CmMessage {
    CmType type = CmType::req;
    std::uint64_t transaction = 0;
    std::uint32_t commId = 0;       // of its sender
    std::uint32_t remoteCommId = 0; // of its receiver
    std::uint64_t serviceId = 0;    // REQ
    std::uint64_t caGuid = 0;       // REQ, REP
    std::uint32_t qpn = 0;          // REQ, REP: its sender's; DREQ: its receiver's
    std::uint32_t psn = 0;          // REQ, REP: of the first that its sender receives
    std::uint16_t lid = 0;          // REQ: its sender's
    std::uint16_t remoteLid = 0;    // REQ
    ib::Gid gid{};                  // REQ: its sender's
    ib::Gid remoteGid{};            // REQ
    std::uint32_t ipoibQpn = 0;     // REQ, REP: private data
    std::uint32_t longest = 0;      // REQ, REP: private data, of a message

    // A whole MAD.
    [[nodiscard]] io::Bytes mad() const;
    // nullopt when the bytes are no MAD with one of these messages.
    [[nodiscard]] static std::optional<CmMessage> parse(io::View mad);

    bool operator==(const CmMessage &) const = default;
};

} // namespace openipoib::peers
