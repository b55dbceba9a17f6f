// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The kernel's messages about changes of links, addresses, routes and rules.
//
//   auto monitor = Monitor::open();
//   ... when monitor->fd() is readable:
//   auto lost = monitor->receive([](const nlmsghdr *message) { ... });
//   if (lost && *lost) readEverythingAnew();
//
// Does not block. Not thread-safe; belongs to the network namespace in which it
// was opened.
#pragma once

#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <linux/netlink.h>

#include <functional>

namespace openipoib::netlink
{

class Monitor
{
  public:
    [[nodiscard]] static io::Result<Monitor> open();

    [[nodiscard]] int fd() const { return fd_.get(); }

    // Hand every message that has come to @each. True: the kernel has dropped
    // messages before these.
    [[nodiscard]] io::Result<bool> receive(const std::function<void(const nlmsghdr *)> &each);

  private:
    explicit Monitor(io::UniqueFd fd) : fd_(std::move(fd)) {}

    io::UniqueFd fd_;
};

} // namespace openipoib::netlink
