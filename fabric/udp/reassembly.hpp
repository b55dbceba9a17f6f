// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Puts frames together from their fragments, which come in any order. What it holds is
// bounded: so many frames, each no longer than a frame may be, each for so long.
#pragma once

#include "link/sender.hpp"
#include "udp/counters.hpp"
#include "udp/datagram.hpp"

#include <map>
#include <optional>
#include <vector>

namespace openipoib::fabric
{

class Reassembly
{
  public:
    static constexpr std::size_t mostFrames = 64;
    static constexpr std::chrono::milliseconds longest{500};

    Reassembly(std::size_t mostBytes, UdpCounters &counters)
        : mostBytes_(mostBytes), counters_(counters)
    {
    }

    // The frame that this fragment, which is no greeting and has not come before, completes.
    [[nodiscard]] std::optional<io::Bytes> add(const Datagram &fragment, Time now);
    // Give up frames that wait for too long.
    void expire(Time now);
    void clear();

    [[nodiscard]] std::size_t frames() const { return partial_.size(); }

  private:
    struct Partial {
        std::vector<io::Bytes> fragments;
        std::size_t missing = 0;
        std::size_t bytes = 0;
        Time until{};
    };

    void giveUp(std::map<std::uint64_t, Partial>::iterator frame);

    std::size_t mostBytes_;
    UdpCounters &counters_;
    Time expireAt_{};
    std::map<std::uint64_t, Partial> partial_; // by the number of the first fragment
};

} // namespace openipoib::fabric
