// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The commands of openib, over any System and any streams.
#pragma once

#include "conf/openib/run.hpp"
#include "conf/settings.hpp"

#include <ostream>
#include <string>

namespace openipoib::openib
{

struct Options {
    std::string file = "/etc/infiniband/openib.conf";
    bool json = false;
    bool dryRun = false;
    bool force = false; // stop although the stack is in use
    bool boot = false;  // start only if ONBOOT allows it
};

class Commands
{
  public:
    Commands(System &system, const Options &options, std::ostream &out, std::ostream &err)
        : system_(system), options_(options), out_(out), err_(err)
    {
    }

    // Take the file as read: its text, or why there is none. Diagnostics of at
    // least that severity go to the error stream. badConfig when it must not
    // be used.
    [[nodiscard]] Exit configure(const io::Result<std::string> &text,
                                 const conf::Environment &environment,
                                 conf::Severity threshold = conf::Severity::warning);

    [[nodiscard]] Exit start();
    [[nodiscard]] Exit stop();
    [[nodiscard]] Exit restart();
    [[nodiscard]] Exit apply(const std::string &device);
    [[nodiscard]] Exit status();
    [[nodiscard]] Exit show();
    // For the service and for modprobe: refused, and said why, or done.
    [[nodiscard]] Exit allowsBoot(bool isBooting);
    [[nodiscard]] Exit allowsIpoib();
    [[nodiscard]] Exit allowsStop();
    [[nodiscard]] Exit checkConfig(const io::Result<std::string> &text,
                                   const conf::Environment &environment);

    [[nodiscard]] const conf::Settings &settings() const { return settings_; }

  private:
    [[nodiscard]] Exit perform(std::string_view action, const PlanFunction &plan,
                               OnFailure onFailure);
    [[nodiscard]] Exit unreadable(const io::Error &error);
    [[nodiscard]] Exit allows(bool allowed, std::string_view otherwise);

    System &system_;
    const Options &options_;
    std::ostream &out_;
    std::ostream &err_;
    conf::Settings settings_;
};

} // namespace openipoib::openib
