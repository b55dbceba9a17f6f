// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Common header of a management datagram (IBA volume 1, section 13.4.2) and
// the fixed size of one.
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <optional>

namespace openipoib::ib
{

enum class MgmtClass : std::uint8_t {
    subnLid = 0x01,
    subnAdm = 0x03,
    perf = 0x04,
    comm = 0x07,
    subnDirected = 0x81,
};

enum class Method : std::uint8_t {
    get = 0x01,
    set = 0x02,
    send = 0x03,
    trap = 0x05,
    getResp = 0x81
};

struct Mad {
    static constexpr std::size_t headerSize = 24;
    static constexpr std::size_t size = 256;

    std::uint8_t baseVersion = 1;
    MgmtClass mgmtClass = MgmtClass::subnLid;
    std::uint8_t classVersion = 1;
    Method method = Method::get;
    std::uint16_t status = 0;
    std::uint16_t classSpecific = 0; // hop pointer and count of a directed route
    std::uint64_t transaction = 0;
    std::uint16_t attribute = 0;
    std::uint32_t modifier = 0;

    // The header, followed by zeroes up to the full size of a MAD.
    void appendTo(io::Bytes &out) const
    {
        const std::size_t start = out.size();
        io::append<1>(out, baseVersion);
        io::append<1>(out, static_cast<std::uint8_t>(mgmtClass));
        io::append<1>(out, classVersion);
        io::append<1>(out, static_cast<std::uint8_t>(method));
        io::append<2>(out, status);
        io::append<2>(out, classSpecific);
        io::append<8>(out, transaction);
        io::append<2>(out, attribute);
        io::append<2>(out, 0);
        io::append<4>(out, modifier);
        out.resize(start + size);
    }

    // nullopt when the bytes are fewer than a whole MAD.
    [[nodiscard]] static std::optional<Mad> parse(io::View in)
    {
        if (in.size() < size)
            return std::nullopt;
        return Mad{.baseVersion = in[0],
                   .mgmtClass = static_cast<MgmtClass>(in[1]),
                   .classVersion = in[2],
                   .method = static_cast<Method>(in[3]),
                   .status = static_cast<std::uint16_t>(io::read<2>(in, 4)),
                   .classSpecific = static_cast<std::uint16_t>(io::read<2>(in, 6)),
                   .transaction = io::read<8>(in, 8),
                   .attribute = static_cast<std::uint16_t>(io::read<2>(in, 16)),
                   .modifier = static_cast<std::uint32_t>(io::read<4>(in, 20))};
    }

    bool operator==(const Mad &) const = default;
};

} // namespace openipoib::ib
