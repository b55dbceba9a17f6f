// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A small subnet management agent of a one-port channel adapter: enough for a
// subnet manager to discover the port and take it to ACTIVE (IBA volume 1,
// chapter 14). Packets in, packets out, no I/O.
#pragma once

#include "io/bytes.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace openipoib::ib
{

enum class PortState : std::uint8_t { down = 1, init = 2, armed = 3, active = 4 };

class Sma
{
  public:
    Sma(std::uint64_t guid, std::string description)
        : guid_(guid), description_(std::move(description))
    {
    }

    // The link has just come up.
    void linkUp();

    // Answer to a packet, or nullopt when it is none to QP0 or needs no answer.
    [[nodiscard]] std::optional<io::Bytes> answer(io::View packet);

    [[nodiscard]] PortState state() const { return state_; }
    [[nodiscard]] std::uint16_t lid() const { return lid_; }
    [[nodiscard]] std::uint16_t smLid() const { return smLid_; }
    [[nodiscard]] std::uint64_t guid() const { return guid_; }

  private:
    using Data = std::array<std::uint8_t, 64>;

    [[nodiscard]] std::optional<Data> get(std::uint16_t attribute, std::uint32_t modifier) const;
    [[nodiscard]] bool set(std::uint16_t attribute, std::uint32_t modifier, io::View data);
    [[nodiscard]] Data nodeInfo() const;
    [[nodiscard]] Data portInfo() const;
    void setPortInfo(io::View data);

    std::uint64_t guid_;
    std::string description_;
    PortState state_ = PortState::down;
    std::uint16_t lid_ = 0;
    std::uint16_t smLid_ = 0;
    std::uint64_t prefix_ = 0xFE80'0000'0000'0000;
    std::uint8_t mtuAndSl_ = 0x50;       // neighbour MTU 4096, SM's SL 0
    std::uint8_t operationalVls_ = 0x10; // VL0
    std::uint8_t subnetTimeout_ = 18;
    Data pkeys_{0xFF, 0xFF};
};

} // namespace openipoib::ib
