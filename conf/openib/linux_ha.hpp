// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The ipoib-ha that openib starts and stops: with systemd it is a unit, without systemd the
// process that openib has started, while that holds the lock of its folder. Others of the
// name, of whoever has started them, are left alone.
#pragma once

#include "io/error.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace openipoib::openib
{

// Others than these for tests
struct HaPlaces {
    std::string systemd = "/run/systemd/system"; // is there if systemd runs
    std::string systemctl = "systemctl";
    std::string program = "ipoib-ha";
    std::string configuration = "/etc/infiniband/openib.conf"; // the unit has this one
    std::string lock = "/run/ipoib-ha/lock";                   // of ipoib-ha
    std::string control = "/run/ipoib-ha/control";             // of ipoib-ha
    std::string record = "/run/openib/ipoib-ha.pid"; // the process that openib has started
    // With a status; ipoib-ha gives the daemon 5 s.
    std::chrono::milliseconds answerPatience = std::chrono::seconds(7);
    std::chrono::milliseconds systemctlPatience{}; // when asked whether it runs; 0: without end
};

// Errors: ETIMEDOUT, systemctl has not said it; ENOENT, there is no systemctl.
[[nodiscard]] io::Result<bool> askWhetherHaRuns(const HaPlaces &places);
// As far as is known
[[nodiscard]] inline bool isHaRunning(const HaPlaces &places)
{
    return askWhetherHaRuns(places).value_or(false);
}
// The process that is ipoib-ha, whoever has started it; 0: none is, as far as this user may know.
[[nodiscard]] pid_t haProcess(const HaPlaces &places);
// Whether this user may ask it: root, and the group of its socket
[[nodiscard]] bool mayAskHa(const HaPlaces &places);
// Until it is at work. Errors: ENOENT, it is not installed; EIO, it has ended at once;
// ETIMEDOUT.
[[nodiscard]] io::Result<void> startHa(const HaPlaces &places);
// Until it has these pairs, of its configuration. Errors: ETIMEDOUT, it keeps others; those of
// haPairs().
[[nodiscard]] io::Result<void> reloadHa(const HaPlaces &places,
                                        const std::vector<std::string> &pairs);
// The pairs that it keeps, see State; of one that is starting, when it answers. Errors: EIO, it has
// refused; EBADMSG, its answer names none; ETIMEDOUT.
[[nodiscard]] io::Result<std::vector<std::string>> haPairs(const HaPlaces &places);
// Until it has ended. Errors: ETIMEDOUT.
[[nodiscard]] io::Result<void> stopHa(const HaPlaces &places);

} // namespace openipoib::openib
