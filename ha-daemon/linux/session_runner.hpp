// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Runs the sessions of a pair in a thread of its own: packets leave and are heard within their
// milliseconds while the daemon reads all of an interface, or moves it. The thread shares
// nothing with the rest; both are at the ends of a socket.
#pragma once

#include "ha-daemon/core/session_report.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <pthread.h>

#include <memory>

namespace openipoib::ha
{

class SessionRunner
{
  public:
    // Starts the thread.
    [[nodiscard]] static io::Result<std::unique_ptr<SessionRunner>>
    start(const SessionPolicy &policy);
    // Peers are told that it ends.
    ~SessionRunner();
    SessionRunner(const SessionRunner &) = delete;
    SessionRunner &operator=(const SessionRunner &) = delete;

    // Where reports come
    [[nodiscard]] int fd() const { return end_.get(); }
    // Take those that have come. False: the thread has ended.
    [[nodiscard]] bool receive();
    [[nodiscard]] const SessionsReport &report() const { return report_; }
    [[nodiscard]] const SessionPolicy &policy() const { return policy_; }

    // The interfaces of the pair, 0 where there is none, and which is active.
    void tell(const Both<int> &interfaces, Side active);

    struct Command {
        Both<int> interfaces;
        Side active = Side::primary;

        bool operator==(const Command &) const = default;
    };

  private:
    SessionRunner(SessionPolicy policy, io::UniqueFd end)
        : policy_(std::move(policy)), end_(std::move(end))
    {
    }

    SessionPolicy policy_;
    io::UniqueFd end_;
    pthread_t thread_{};
    bool isRunning_ = false;
    Command told_;
    SessionsReport report_;
};

} // namespace openipoib::ha
