// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The hosts of a fleet, each with a port, a LID and an IPv4 address of its own, all behind one
// cable. They answer ARP and pings, and take nothing that comes for another LID than theirs.
#pragma once

#include "fleet/subnet_manager.hpp"
#include "ib/gid.hpp"
#include "node/packet.hpp"
#include "peer/addresses.hpp"

#include <optional>
#include <vector>

namespace openipoib::fleet
{

class Hosts
{
  public:
    // Clear of the LIDs of subnet managers, and of the other end's port.
    static constexpr std::uint16_t firstLid = 0x100;
    static constexpr std::uint64_t most = 20'000; // twice as many LIDs, below those of groups

    struct Reached {
        std::size_t hosts = 0;
        std::chrono::milliseconds half{}; // until half of them were
        std::chrono::milliseconds last{};
    };

    explicit Hosts(const fabric::AddressRange &range);

    // From now on they have other LIDs.
    void renumber() { offset_ = offset_ == 0 ? static_cast<std::uint16_t>(count()) : 0; }
    [[nodiscard]] std::optional<std::uint16_t> lidOf(const ib::Gid &gid) const;
    // The answer to a packet for one of them, if there is one.
    [[nodiscard]] std::optional<io::Bytes> answer(io::View packet, Time now);

    // Begin to note when each is reached.
    void watch(Time now);
    [[nodiscard]] Reached reached() const;

  private:
    [[nodiscard]] std::size_t count() const { return firstReached_.size(); }
    [[nodiscard]] std::uint16_t lid(std::size_t host) const
    {
        return static_cast<std::uint16_t>(firstLid + offset_ + host);
    }
    [[nodiscard]] static ib::Gid gid(std::size_t host);
    [[nodiscard]] std::optional<std::size_t> hostOf(const fabric::PacketHeaders &headers,
                                                    io::View payload) const;

    fabric::Addresses addresses_;
    std::uint16_t offset_ = 0;
    Time watchedFrom_{};
    std::vector<std::optional<Time>> firstReached_; // of each host
};

} // namespace openipoib::fleet
