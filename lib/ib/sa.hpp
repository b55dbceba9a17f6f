// SPDX-License-Identifier: GPL-2.0-only OR MIT
// MADs of subnet administration (IBA volume 1, chapter 15): what their requests have in common,
// and the records that one question asks for.
#pragma once

#include "ib/gid.hpp"
#include "ib/mad.hpp"
#include "io/bytes.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace openipoib::ib
{

enum class SaAttribute : std::uint16_t {
    classPortInfo = 0x01,
    nodeRecord = 0x11,
    pathRecord = 0x35,
    memberRecord = 0x38,
};

inline constexpr std::size_t saRecordAt = 56;
// Statuses of answers (table 185)
inline constexpr std::uint16_t saNoRecords = 0x0300;

struct SaRequest {
    Method method = Method::get;
    SaAttribute attribute = SaAttribute::classPortInfo;
    std::uint64_t mask = 0; // of the record's components that count
    std::uint64_t transaction = 0;
};

// A whole MAD, its record of zeroes.
[[nodiscard]] io::Bytes saRequest(const SaRequest &request);

// The header of an answer about this attribute; nullopt: it is none.
[[nodiscard]] std::optional<Mad> saAnswer(io::View mad, SaAttribute attribute);

// How packets get from one port to another.
struct PathRecord {
    Gid dgid{};
    Gid sgid{};
    std::uint16_t dlid = 0;
    std::uint16_t slid = 0;
    std::uint16_t pkey = 0;
    std::uint8_t sl = 0;
    std::uint8_t mtu = 0;  // PortInfo's code
    std::uint8_t rate = 0; // code

    // Asks for one path both ways between the ports, in the partition.
    [[nodiscard]] io::Bytes question(std::uint64_t transaction) const;
    // nullopt: no answer with such a record.
    [[nodiscard]] static std::optional<PathRecord> parse(io::View mad);
};

// Who has a LID.
struct NodeRecord {
    std::uint64_t portGuid = 0;
    std::string description;

    [[nodiscard]] static io::Bytes question(std::uint16_t lid, std::uint64_t transaction);
    // nullopt: no answer with such a record.
    [[nodiscard]] static std::optional<NodeRecord> parse(io::View mad);
};

} // namespace openipoib::ib
