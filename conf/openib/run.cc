// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/run.hpp"

namespace openipoib::openib
{

namespace
{

bool isAboutModules(const Step &step)
{
    return step.kind == StepKind::loadModule || step.kind == StepKind::unloadModule;
}

// A driver or port that has no connected mode, asked for it with "auto".
bool isMissedTry(const Step &step, const io::Error &error)
{
    return step.kind == StepKind::tryMode &&
           (error.code == EOPNOTSUPP || error.code == EINVAL || error.code == ENOENT);
}

} // namespace

io::Result<Outcome> run(System &system, const PlanFunction &plan, OnFailure onFailure,
                        const Progress &progress)
{
    Outcome outcome;
    Failed failed;
    std::set<Step> done;
    for (;;) {
        const auto state = system.read();
        if (!state)
            return std::unexpected(state.error());
        Plan next = plan(*state, failed);
        if (next.steps.empty()) {
            outcome.problems = std::move(next.problems);
            return outcome;
        }
        for (const Step &step : next.steps) {
            const auto result = done.contains(step)
                                    ? io::Result<void>(io::fail(EIO, "done without effect"))
                                    : system.execute(step);
            if (result) {
                done.insert(step);
                outcome.done.push_back(step);
                progress(step);
                continue;
            }
            failed.insert(step);
            if (isMissedTry(step, result.error())) {
                outcome.notes.push_back(step.target +
                                        ": no connected mode, stays in datagram mode");
                continue;
            }
            outcome.failures.push_back(failureText(step, result.error()));
            outcome.stackFailed = outcome.stackFailed || isAboutModules(step);
            if (onFailure == OnFailure::stop)
                return outcome;
        }
    }
}

} // namespace openipoib::openib
