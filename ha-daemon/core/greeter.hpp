// SPDX-License-Identifier: GPL-2.0-only OR MIT
// With which peers the standby should exchange a packet, so that neither has to ask the
// subnet manager for a path to the other when it takes over. Pure: it is told the time.
#pragma once

#include "ha-daemon/core/pair.hpp"

#include <map>
#include <tuple>
#include <vector>

namespace openipoib::ha
{

struct Greeting {
    int index = 0; // of the standby, or of a child of it
    Item peer;

    bool operator==(const Greeting &) const = default;
};

class Greeter
{
  public:
    // Those that are due now, and count as done from now on: a peer that is new or has
    // another hardware address, all of them when the standby works again, and each now
    // and then. Nobody more than ten times a second, whatever happens.
    [[nodiscard]] std::vector<Greeting> due(const Pair &pair, Time now);

  private:
    using Key = std::tuple<int, std::string, io::Bytes>;

    std::map<Key, Time> greeted_;
};

} // namespace openipoib::ha
