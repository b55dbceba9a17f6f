// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A cable that leaves the process: what the fabric needs of it. Frames may get
// lost on it, as on any segment of docs/sib-link.md.
#pragma once

#include "io/packet_socket.hpp"
#include "link/sender.hpp"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace openipoib::fabric
{

class Cable
{
  public:
    Cable() = default;
    Cable(const Cable &) = delete;
    Cable &operator=(const Cable &) = delete;
    Cable(Cable &&) = delete;
    Cable &operator=(Cable &&) = delete;
    virtual ~Cable() = default;

    // Longest frame it carries, without the Ethernet header. May change.
    [[nodiscard]] virtual std::uint32_t maxFrame() const = 0;
    // False while frames wait to be sent: no more should come.
    [[nodiscard]] virtual bool isReady() const = 0;
    virtual void send(const io::MacAddress &to, const Frame &frame) = 0;
    // What it has counted itself, by name.
    using Counts = std::vector<std::pair<std::string_view, std::uint64_t>>;
    [[nodiscard]] virtual Counts counts() const { return {}; }
};

} // namespace openipoib::fabric
