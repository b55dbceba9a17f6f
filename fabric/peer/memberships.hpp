// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The multicast groups of an emulated peer: what is asked of the SA, and when.
//
// The broadcast group comes first, since its record says what all others are like
// (RFC 4391, section 4). A request without an answer, or that is refused, is made again
// after 1, 2, 4 … 16 seconds.
#pragma once

#include "ib/member_record.hpp"
#include "link/sender.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace openipoib::fabric
{

class Memberships
{
  public:
    static constexpr std::uint16_t pkey = 0xFFFF;

    Memberships();

    // A further group. It is joined when the next request is due.
    void want(const ib::Gid &mgid, Time now);
    // Join all groups, again if they had been joined: the SA may have forgotten. What is
    // known of them stays in use meanwhile.
    void joinAll(const ib::Gid &portGid, Time now);
    // Nothing more is asked, and no group is known.
    void leaveAll();

    // MADs for the SA.
    [[nodiscard]] std::vector<io::Bytes> requests(Time now);
    // A MAD from the SA; false if it answers nothing that has been asked.
    [[nodiscard]] bool onAnswer(io::View mad);
    [[nodiscard]] Time deadline() const { return deadline_; }

    // nullptr if the group is not joined.
    [[nodiscard]] const ib::MemberRecord *find(const ib::Gid &mgid) const;
    [[nodiscard]] const ib::MemberRecord *broadcast() const { return find(broadcastMgid()); }
    [[nodiscard]] std::size_t joined() const;
    [[nodiscard]] std::size_t wanted() const { return groups_.size(); }

    [[nodiscard]] static ib::Gid broadcastMgid();

  private:
    static constexpr std::chrono::seconds shortestWait{1};
    static constexpr std::chrono::seconds longestWait{16};
    static constexpr std::size_t mostAsked = 16; // at once

    struct Group {
        std::optional<ib::MemberRecord> record;
        bool isCurrent = false;        // the SA has said so since joinAll()
        std::uint64_t transaction = 0; // of the request that is under way; 0: none is
        Time at{};                     // of the next request
        std::chrono::seconds wait = shortestWait;
    };

    [[nodiscard]] bool mayAsk(const ib::Gid &mgid, const Group &group) const;
    void setDeadline();

    std::map<ib::Gid, Group> groups_;
    ib::Gid portGid_{};
    bool isOn_ = false;
    std::size_t asked_ = 0;
    std::uint64_t transaction_ = 0;
    Time deadline_ = Time::max();
};

} // namespace openipoib::fabric
