// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/core/health.hpp"

#include <algorithm>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr Time forgiven = 10min; // without a failure
constexpr unsigned maxDoublings = 6;

} // namespace

void Health::note(const std::string &why, Time now)
{
    const bool was = good();
    if (why.empty() == was && known_) {
        why_ = why;
        return;
    }
    if (known_ && was)
        failures_ = now - since_ >= forgiven ? 1 : failures_ + 1;
    why_ = why;
    since_ = now;
    known_ = true;
}

Time Health::stableFrom(Time needed) const
{
    const unsigned doublings = failures_ > 1 ? std::min(failures_ - 1, maxDoublings) : 0;
    return since_ + needed * (1 << doublings);
}

} // namespace openipoib::ha
