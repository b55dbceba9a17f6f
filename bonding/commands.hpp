// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The commands of ib-bond, over any System and any streams.
#pragma once

#include "bonding/plan.hpp"
#include "bonding/run.hpp"
#include "bonding/system.hpp"

#include <ostream>
#include <string>

namespace openipoib::bonding
{

enum class Exit {
    done = 0,
    usage = 1,
    degraded = 2,     // status: something is wrong; check: something is to be done
    noBond = 3,       // there is none of that name
    notPermitted = 4, // not root
    failed = 5,       // and what was done is undone
    refused = 7,      // nothing was done
};

class Commands
{
  public:
    Commands(System &system, std::ostream &out, std::ostream &err)
        : system_(system), out_(out), err_(err)
    {
    }

    [[nodiscard]] Exit execute(const Invocation &invocation);

  private:
    [[nodiscard]] Exit up(const Invocation &invocation, const State &state);
    [[nodiscard]] Exit check(const Invocation &invocation, const State &state);
    [[nodiscard]] Exit down(const std::string &bond, const Invocation &invocation,
                            const State &state);
    [[nodiscard]] Exit downAll(const Invocation &invocation, State state);
    [[nodiscard]] Exit status(const Invocation &invocation, const State &state);
    [[nodiscard]] Exit statusAll(const Invocation &invocation, const State &state);

    [[nodiscard]] Exit perform(const std::string &bond, const Plan &plan,
                               const Invocation &invocation, OnFailure onFailure);
    [[nodiscard]] Exit refuse(const std::string &bond, const Plan &plan, bool json);
    [[nodiscard]] Exit noBond(const std::string &bond);
    [[nodiscard]] Exit unreadable(const io::Error &error);

    System &system_;
    std::ostream &out_;
    std::ostream &err_;
};

} // namespace openipoib::bonding
