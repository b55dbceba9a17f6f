// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The machine, as openib sees it: the port behind which all I/O is.
#pragma once

#include "conf/openib/state.hpp"
#include "conf/openib/step.hpp"

namespace openipoib::openib
{

class System
{
  public:
    System() = default;
    System(const System &) = delete;
    System &operator=(const System &) = delete;
    virtual ~System() = default;

    [[nodiscard]] virtual io::Result<State> read() = 0;
    // Not in the state: to tell, the files of modules are read.
    [[nodiscard]] virtual std::vector<Stale> stale() = 0;
    [[nodiscard]] virtual io::Result<void> execute(const Step &step) = 0;
};

} // namespace openipoib::openib
