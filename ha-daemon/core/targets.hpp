// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Others whose answers show that an interface reaches more than its own cable. Pure: it
// counts the rounds of questions that nobody has answered.
#pragma once

#include "ha-daemon/core/event.hpp"
#include "ha-daemon/core/view.hpp"

#include <optional>
#include <string>
#include <vector>

namespace openipoib::ha
{

struct TargetPolicy {
    std::vector<io::Bytes> addresses; // IPv4 or IPv6
    Time every = std::chrono::seconds(1);
    unsigned misses = 3; // rounds in a row

    bool operator==(const TargetPolicy &) const = default;
};

class Targets
{
  public:
    explicit Targets(TargetPolicy policy) : policy_(std::move(policy)) {}

    [[nodiscard]] const TargetPolicy &policy() const { return policy_; }

    // Others from now on. Who is cut off stays that until somebody has answered.
    void configure(TargetPolicy policy);
    // The interfaces of the pair as they are now; 0: there is none.
    void watch(const Both<int> &interfaces);
    // Somebody at @from has answered on this interface.
    void heard(int interface, io::View from);
    // When to ask on both interfaces; nullopt: there is nobody to ask.
    [[nodiscard]] std::optional<Time> next() const;
    // A round of questions is asked now.
    void asked(Time now);

    // Why an interface counts as cut off; "": it has been answered, or not asked often
    // enough.
    [[nodiscard]] std::string whyBad(Side side) const;
    // Since it was watched
    [[nodiscard]] Met met(Side side) const { return answered_[side] ? Met::somebody : Met::nobody; }

  private:
    TargetPolicy policy_;
    Both<int> interfaces_;
    Both<unsigned> unanswered_; // rounds
    Both<bool> answered_{};
    Time next_{};
};

} // namespace openipoib::ha
