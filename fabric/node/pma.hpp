// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Performance management of a node (IBA volume 1, 16.1): PortCounters and
// PortCountersExtended of each port. Counters only grow; a Set remembers what
// to subtract.
#pragma once

#include "node/counters.hpp"
#include "node/fields.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace openipoib::fabric
{

class Pma
{
  public:
    // Counters of a port; nullptr if there is no such port.
    using Find = std::function<const PortCounters *(unsigned port)>;

    // Ports 0 to ports.
    Pma(unsigned ports, Find find) : bases_(ports + 1), find_(std::move(find)) {}

    // Turn a request, a MAD of class 4 with Get or Set, into its response.
    void answer(std::span<std::uint8_t> mad);

  private:
    using Base = std::array<std::uint64_t, static_cast<std::size_t>(Counter::count)>;
    struct Bases {
        Base classic{};
        Base extended{};
    };

    [[nodiscard]] MadStatus counters(std::span<std::uint8_t> mad, bool isSet, bool isExtended);
    [[nodiscard]] std::vector<unsigned> selectedPorts(unsigned select) const;

    std::vector<Bases> bases_;
    Find find_;
};

} // namespace openipoib::fabric
