// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Hears the packets that pass ports of a fabric.
#pragma once

#include "io/bytes.hpp"
#include "link/sender.hpp"
#include "topology/topology.hpp"

#include <cstdint>

namespace openipoib::fabric
{

// A packet that passes a link within the process is heard twice, as it leaves one port
// and as it comes in by the other; one from a cable is heard once, at its entry.
enum class Way : std::uint8_t { out, in, entry };

class PacketEar
{
  public:
    // Must only take note. packet: LRH to ICRC.
    virtual void onPacket(PortRef at, Way way, io::View packet, Time now) = 0;

  protected:
    PacketEar() = default;
    PacketEar(const PacketEar &) = default;
    PacketEar &operator=(const PacketEar &) = default;
    ~PacketEar() = default;
};

} // namespace openipoib::fabric
