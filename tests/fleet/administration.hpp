// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Subnet administration (IBA volume 1, chapter 15) of a fleet: path records of its hosts, and
// groups that always have room for one more. It answers no more requests a second than it is told
// to, in the order in which they came, and counts. Some of them are wrong, or come twice, if it is
// told so. Requests and time go in, answers come out.
#pragma once

#include "fleet/faults.hpp"
#include "fleet/subnet_manager.hpp"
#include "ib/gid.hpp"

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace openipoib::fleet
{

class Administration
{
  public:
    // LID of a port, or nullopt if there is none.
    using FindLid = std::function<std::optional<std::uint16_t>(const ib::Gid &)>;

    struct Count {
        std::uint64_t requests = 0;
        std::uint64_t paths = 0;
        std::uint64_t joins = 0;
        std::uint64_t again = 0;     // of these, those that had been asked and not answered yet
        std::size_t mostWaiting = 0; // at a time
        std::uint64_t wrong = 0;     // answers
        std::uint64_t twice = 0;     // answers
    };

    // rate: answers a second
    Administration(FindLid find, unsigned rate, const Faults &faults = {})
        : find_(std::move(find)), rate_(rate), faults_(faults)
    {
    }

    // Another one: what waits is lost.
    void takeOver()
    {
        waiting_.clear();
        known_.clear();
    }
    // From now on all answers are right.
    void endFaults() { faults_.end(); }
    void receive(io::View mad, Time now);
    // Answers whose time has come, as MADs.
    [[nodiscard]] std::vector<io::Bytes> due(Time now);
    // Since it was asked before.
    [[nodiscard]] Count takeCount()
    {
        return std::exchange(count_, {.mostWaiting = waiting_.size()});
    }

  private:
    [[nodiscard]] io::Bytes answer(io::View request);
    [[nodiscard]] bool answerPath(io::Bytes &mad) const;
    void answerGroup(io::Bytes &mad);

    FindLid find_;
    unsigned rate_;
    Faults faults_;
    Count count_;
    std::deque<io::Bytes> waiting_;
    std::multiset<io::Bytes> known_;          // the same
    Time freeAt_{};                           // when the next one may be answered
    std::map<ib::Gid, std::uint16_t> groups_; // MLID
};

} // namespace openipoib::fleet
