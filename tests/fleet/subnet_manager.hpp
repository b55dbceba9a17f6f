// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The subnet manager of a cable: it takes the port at the other end to ACTIVE, and takes over as
// another one (IBA volume 1, chapter 14). Time goes in, SMPs come out.
#pragma once

#include "io/bytes.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace openipoib::fleet
{

using Time = std::chrono::steady_clock::time_point;

class SubnetManager
{
  public:
    static constexpr std::uint16_t portLid = 2; // of the other end's port

    // The SMP to send next, if it is time; until it is answered, it is sent again.
    [[nodiscard]] std::optional<io::Bytes> due(Time now);
    void receive(io::View mad);
    // The link has just come up.
    void begin();
    // Another subnet manager, at another LID, has everything registered again.
    void takeOver();

    [[nodiscard]] bool hasAll() const { return step_ == Step::done; }
    [[nodiscard]] std::uint16_t lid() const { return lid_; }

  private:
    enum class Step : std::uint8_t { idle, arm, activate, announce, done };

    [[nodiscard]] io::Bytes setPortInfo() const;

    Step step_ = Step::idle;
    std::uint16_t lid_ = 0x10;
    std::uint64_t transaction_ = 1;
    Time sendAt_{};
};

} // namespace openipoib::fleet
