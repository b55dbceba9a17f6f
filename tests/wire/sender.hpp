// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Runs cases against the peer, and probes whether it still works.
#pragma once

#include "wire/arp.hpp"
#include "wire/cases.hpp"
#include "wire/connected.hpp"
#include "wire/fabric.hpp"

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>

namespace openipoib::wire
{

class Sender
{
  public:
    struct Options {
        ib::HardwareAddress peer; // the peer's IPoIB interface
        Ipv4 peerIp{};
        Ipv4 ownIp{};
        std::uint32_t qkey = 0;
        std::uint64_t seed = 1;
    };

    Sender(Fabric &fabric, const Options &options);

    // Train, and wait until the subnet manager has made the port ACTIVE.
    [[nodiscard]] io::Result<void> bringUp(Fabric::Duration limit);
    // Send a case so many times; returns when the peer has taken everything.
    [[nodiscard]] io::Result<void> run(const Case &what, std::uint32_t count);
    // Send a packet to a connected queue pair, in the same way.
    [[nodiscard]] io::Result<void> send(const Connected &what);
    // Send so many random packets to these queue pairs, in the same way.
    [[nodiscard]] io::Result<void> fuzz(std::span<const std::uint32_t> qpns, std::uint32_t count);
    // Ask the peer by ARP until it answers: its port, its QP, its interface and
    // its way back to here all work. Returns how often it was asked.
    [[nodiscard]] io::Result<unsigned> probe(Fabric::Duration limit);

  private:
    [[nodiscard]] Target target() const;
    [[nodiscard]] io::Result<void> shoot(const Shot &shot);
    // What make(number) makes, so many times
    [[nodiscard]] io::Result<void> shootAll(std::uint32_t count,
                                            const std::function<Shot(std::uint32_t)> &make);
    void onPacket(io::View packet);

    Fabric &fabric_;
    Options options_;
    std::mt19937_64 random_;
    ib::HardwareAddress own_;
    std::uint64_t replies_ = 0;
};

} // namespace openipoib::wire
