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

    // Take the file as read: its text, or why there is none. Errors and warnings
    // go to the error stream. badConfig when it must not be used.
    [[nodiscard]] Exit configure(const io::Result<std::string> &text,
                                 const conf::Environment &environment);

    [[nodiscard]] Exit start();
    [[nodiscard]] Exit stop();
    [[nodiscard]] Exit restart();
    [[nodiscard]] Exit apply(const std::string &device);
    // Before ib_ipoib is unloaded; needs no configuration.
    [[nodiscard]] Exit keep();
    [[nodiscard]] Exit status();
    [[nodiscard]] Exit show();
    // What is asked before something is done: by the service ("boot"), which
    // starts next and then says what is wrong with the file; by modprobe
    // ("ipoib"), for which a file that does not exist forbids nothing; by openibd
    // ("stop"). Refused, and said why, or done.
    [[nodiscard]] Exit allows(std::string_view what, const io::Result<std::string> &text,
                              const conf::Environment &environment, bool isBooting);
    [[nodiscard]] Exit checkConfig(const io::Result<std::string> &text,
                                   const conf::Environment &environment);

    [[nodiscard]] const conf::Settings &settings() const { return settings_; }

  private:
    [[nodiscard]] Exit perform(std::string_view action, const PlanFunction &plan,
                               OnFailure onFailure);
    void forget(const std::string &device);
    [[nodiscard]] Exit unreadable(const io::Error &error);
    [[nodiscard]] Exit refusedUnless(bool allowed, std::string_view otherwise);
    [[nodiscard]] Exit allowsStop();
    [[nodiscard]] Exit allowsIpoib();

    System &system_;
    const Options &options_;
    std::ostream &out_;
    std::ostream &err_;
    conf::Settings settings_;
};

} // namespace openipoib::openib
