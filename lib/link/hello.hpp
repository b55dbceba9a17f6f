// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Payload of a HELLO frame (docs/sib-link.md).
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <optional>

namespace openipoib::link
{

enum class HelloState : std::uint8_t { listen = 0, heard = 1, up = 2 };

struct Hello {
    static constexpr std::size_t size = 20;

    HelloState state = HelloState::listen;
    std::uint8_t port = 1;
    std::uint16_t timeout = 1000;   // ms of silence until the link is given up
    std::uint32_t maxFrame = 65535; // longest frame taken, link header included
    std::uint64_t guid = 0;         // port GUID

    void appendTo(io::Bytes &out) const
    {
        io::append<1>(out, static_cast<std::uint8_t>(state));
        io::append<1>(out, port);
        io::append<2>(out, timeout);
        io::append<4>(out, maxFrame);
        io::append<8>(out, guid);
        io::append<4>(out, 0);
    }

    // nullopt when the bytes are fewer than a hello.
    [[nodiscard]] static std::optional<Hello> parse(io::View in)
    {
        if (in.size() < size)
            return std::nullopt;
        return Hello{.state = static_cast<HelloState>(in[0]),
                     .port = in[1],
                     .timeout = static_cast<std::uint16_t>(io::read<2>(in, 2)),
                     .maxFrame = static_cast<std::uint32_t>(io::read<4>(in, 4)),
                     .guid = io::read<8>(in, 8)};
    }

    bool operator==(const Hello &) const = default;
};

} // namespace openipoib::link
