// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace openipoib::openib
{

std::string childName(const Step &step)
{
    return step.arguments.empty() ? step.target + "." + step.value : step.arguments.front();
}

std::string text(const Step &step)
{
    switch (step.kind) {
    case StepKind::loadModule:
        return fmt::format("load module {}{}{}", step.target,
                           step.arguments.empty() ? "" : " with ", fmt::join(step.arguments, " "));
    case StepKind::unloadModule:
        return fmt::format("unload module {}", step.target);
    case StepKind::setOwnQueues:
        return fmt::format("set own_queues of {} to {}, for interfaces made from now on",
                           step.target, step.value.empty() ? "none" : step.value);
    case StepKind::describeNode:
        return fmt::format("describe {} as '{}'", step.target, step.value);
    case StepKind::addChild:
        return fmt::format("add {}, P_Key 0x{}", childName(step), step.value);
    case StepKind::setMode:
        return fmt::format("set {} to {} mode", step.target, step.value);
    case StepKind::tryMode:
        return fmt::format("set {} to {} mode if it can", step.target, step.value);
    case StepKind::setMtu:
        return fmt::format("set the MTU of {} to {}", step.target, step.value);
    case StepKind::setUmcast:
        return fmt::format("set umcast of {} to {}", step.target, step.value);
    case StepKind::setRings:
        return fmt::format("set the rings of {} to {}", step.target,
                           fmt::join(step.arguments, " and "));
    case StepKind::setQueues:
        return fmt::format("set the queues of {} to {}", step.target, step.value);
    case StepKind::setModeration:
        return fmt::format("set the moderation of {} to {}", step.target,
                           fmt::join(step.arguments, ", "));
    case StepKind::keepSettings:
        return fmt::format("keep the settings of {}",
                           step.target.empty() ? "no interface" : step.target);
    case StepKind::raiseSysctl:
        return fmt::format("raise {} to {}", step.target, step.value);
    case StepKind::startHa:
        return fmt::format("start ipoib-ha for {}", fmt::join(step.arguments, ", "));
    case StepKind::reloadHa:
        return fmt::format("have ipoib-ha read its configuration again, for {}",
                           fmt::join(step.arguments, ", "));
    case StepKind::stopHa:
        return "stop ipoib-ha";
    case StepKind::startBond:
        return fmt::format("create {} with {} of {}", step.target, step.value,
                           fmt::join(step.arguments, ", "));
    case StepKind::stopBond:
        return fmt::format("remove {}", step.target);
    }
    return {};
}

std::string failureText(const Step &step, const io::Error &error)
{
    std::string cure;
    if (step.kind == StepKind::setMode && step.value == "connected" &&
        (error.code == EOPNOTSUPP || error.code == EINVAL))
        cure = fmt::format("the driver or the adapter of {0} has no connected mode; set "
                           "SET_IPOIB_CM_{0}=no, or SET_IPOIB_CM=auto for all, or load a driver "
                           "that has it, or, if the adapter accelerates {0}, name it in "
                           "IPOIB_OWN_QUEUES",
                           step.target);
    else if (step.kind == StepKind::setMtu && error.code == EINVAL)
        cure = "an interface takes no more than its mode and its partition allow: 2044 or 4092 in "
               "datagram mode, 65520 in connected mode";
    else if (step.kind == StepKind::loadModule && error.code == ENOENT)
        cure = "the module is not installed for this kernel; see depmod(8)";
    else if (step.kind == StepKind::loadModule && error.code == EKEYREJECTED)
        cure = "Secure Boot accepts signed modules only; see the section on it in openib(8)";
    else if (step.kind == StepKind::unloadModule && (error.code == EAGAIN || error.code == EBUSY))
        cure = "something still uses it";
    else if (step.kind == StepKind::addChild && error.code == EOPNOTSUPP)
        cure = "the driver has no children; remove IPOIB_CHILDREN_" + step.target;
    else if ((step.kind == StepKind::startHa || step.kind == StepKind::startBond) &&
             error.code == ENOENT)
        cure = fmt::format("{} is not installed",
                           step.kind == StepKind::startHa ? "ipoib-ha" : "ib-bond");
    else if (step.kind == StepKind::loadModule && error.code == EPERM)
        cure = "only root may do that, and a kernel that is locked down for Secure Boot accepts "
               "signed modules only; see the section on it in openib(8)";
    else if (error.code == EPERM || error.code == EACCES)
        cure = "only root may do that";
    return text(step) + ": " + error.text() + (cure.empty() ? "" : "; " + cure);
}

} // namespace openipoib::openib
