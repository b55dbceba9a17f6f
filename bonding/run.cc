// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/run.hpp"

namespace openipoib::bonding
{

namespace
{

std::string failureText(const Step &step, const io::Error &error)
{
    std::string cure;
    if (error.code == EPERM || error.code == EACCES)
        cure = "; only root may do that";
    else if (step.kind == StepKind::loadDriver)
        cure = "; this kernel has no bonding driver";
    else if (step.kind == StepKind::setMode)
        cure = "; the driver or the adapter has no such mode";
    else if (step.kind == StepKind::setMtu && error.code == EINVAL)
        cure = "; an interface takes no more than its mode and its partition allow";
    return command(step) + ": " + error.text() + cure;
}

} // namespace

Outcome run(System &system, const std::vector<Change> &changes, OnFailure onFailure)
{
    Outcome outcome;
    std::size_t done = 0;
    for (; done < changes.size(); ++done) {
        const auto result = system.execute(changes[done].step);
        if (!result) {
            outcome.failure = failureText(changes[done].step, result.error());
            break;
        }
        outcome.done.push_back(changes[done].step);
    }
    if (outcome.failure.empty() || onFailure == OnFailure::stop)
        return outcome;
    outcome.done.clear();
    while (done > 0)
        for (const auto &step : changes[--done].undo)
            if (const auto result = system.execute(step); !result)
                outcome.notUndone.push_back(failureText(step, result.error()));
    return outcome;
}

} // namespace openipoib::bonding
