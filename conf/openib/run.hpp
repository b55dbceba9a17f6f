// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Plan, execute, look again, until there is nothing to do.
#pragma once

#include "conf/openib/plan.hpp"
#include "conf/openib/system.hpp"

#include <functional>
#include <string>
#include <vector>

namespace openipoib::openib
{

// Exit statuses of openib; those of an LSB script where there is one.
enum class Exit {
    done = 0,
    usage = 1,
    degraded = 2,     // done in part, or not as configured
    notStarted = 3,   // status; diagnose: nothing to look at
    notPermitted = 4, // not root
    failed = 5,       // a module could not be loaded or unloaded
    badConfig = 6,
    refused = 7, // stop while the stack is in use
};

struct Outcome {
    std::vector<Step> done;
    std::vector<std::string> notes;
    std::vector<std::string> failures; // each names its step
    std::vector<std::string> problems;
    bool stackFailed = false; // among the failures is a module

    [[nodiscard]] Exit exit() const
    {
        if (stackFailed)
            return Exit::failed;
        return failures.empty() && problems.empty() ? Exit::done : Exit::degraded;
    }
};

using PlanFunction = std::function<Plan(const State &, const Failed &)>;
// Called for each step as it is done.
using Progress = std::function<void(const Step &)>;

enum class OnFailure { goOn, stop };

// A failed step is reported and not tried again; so is one that succeeded and
// had no effect. The error: the machine could not be read.
[[nodiscard]] io::Result<Outcome> run(System &system, const PlanFunction &plan, OnFailure onFailure,
                                      const Progress &progress);

// A machine that does in memory what steps are known to do.
class DrySystem final : public System
{
  public:
    explicit DrySystem(State state) : state_(std::move(state)) {}
    [[nodiscard]] io::Result<State> read() override { return state_; }
    [[nodiscard]] std::vector<Stale> stale() override { return {}; }
    [[nodiscard]] io::Result<void> execute(const Step &step) override
    {
        predict(step, state_);
        return {};
    }

  private:
    State state_;
};

} // namespace openipoib::openib
