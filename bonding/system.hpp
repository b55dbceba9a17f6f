// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The machine, as ib-bond sees it: the port behind which all I/O is.
#pragma once

#include "bonding/state.hpp"
#include "bonding/step.hpp"

namespace openipoib::bonding
{

class System
{
  public:
    System() = default;
    System(const System &) = delete;
    System &operator=(const System &) = delete;
    virtual ~System() = default;

    [[nodiscard]] virtual io::Result<State> read() = 0;
    [[nodiscard]] virtual io::Result<void> execute(const Step &step) = 0;
};

} // namespace openipoib::bonding
