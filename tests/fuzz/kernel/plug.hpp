// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What the far end of a cable is plugged into: whole Ethernet frames, out and in.
#pragma once

#include "io/bytes.hpp"

#include <array>
#include <memory>
#include <span>
#include <string>

namespace openipoib::kfuzz
{

using Mac = std::array<std::uint8_t, 6>;

class Plug
{
  public:
    virtual ~Plug() = default;

    [[nodiscard]] virtual Mac mac() const = 0;
    // What cannot be sent is lost.
    virtual void send(io::View frame) = 0;
    // The next that has come, until the next call; nothing if none has.
    [[nodiscard]] virtual io::View receive() = 0;
    // The octets of a frame that was sent, 0 being the last, where they can be changed while
    // the kernel still has it; else nothing.
    [[nodiscard]] virtual std::span<std::uint8_t> sent(std::size_t framesAgo) = 0;
};

// A network device of this end. The kernel copies what is sent.
[[nodiscard]] std::unique_ptr<Plug> plugDevice(const std::string &netdev);

// The same without a copy: what the other end receives is memory of this process
// (tests/kernel/lender).
[[nodiscard]] std::unique_ptr<Plug> plugLender(const std::string &netdev);

} // namespace openipoib::kfuzz
