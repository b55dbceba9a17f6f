// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Whether a port works, why not, and for how long it has. A port that fails
// again and again has to work for longer each time before it is trusted.
#pragma once

#include "ha-daemon/core/item.hpp"

#include <string>

namespace openipoib::ha
{

class Health
{
  public:
    // What is known now; @why is "" for a port that works.
    void note(const std::string &why, Time now);

    [[nodiscard]] bool good() const { return why_.empty(); }
    [[nodiscard]] const std::string &why() const { return why_; }
    // Since when it is as it is.
    [[nodiscard]] Time since() const { return since_; }
    // When a port that works now counts as stable, if @needed would do for one
    // that has not failed lately.
    [[nodiscard]] Time stableFrom(Time needed) const;
    [[nodiscard]] unsigned failures() const { return failures_; }

  private:
    std::string why_ = "not seen yet";
    Time since_{};
    unsigned failures_ = 0; // lately
    bool known_ = false;
};

} // namespace openipoib::ha
