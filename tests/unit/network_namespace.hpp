// SPDX-License-Identifier: GPL-2.0-only OR MIT
// For tests of the kernel itself: a network of their own.
#pragma once

#include "netlink/socket.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <functional>
#include <thread>

namespace openipoib
{

// Run a test's body in a thread with a network namespace of its own, in which there is but an
// lo that is down; the test is skipped where that needs rights that it does not have.
inline void inNamespace(const std::function<void(netlink::Socket &)> &body)
{
    bool unshared = false;
    std::thread([&] {
        unshared = ::unshare(CLONE_NEWNET) == 0;
        if (!unshared)
            return;
        auto socket = netlink::Socket::open();
        ASSERT_TRUE(socket) << socket.error().text();
        body(*socket);
    }).join();
    if (!unshared)
        GTEST_SKIP() << "no network namespace: not root";
}

} // namespace openipoib
