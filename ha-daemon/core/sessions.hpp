// SPDX-License-Identifier: GPL-2.0-only OR MIT
// BFD sessions of both interfaces of a pair with the ports of others, and what they say of an
// interface. Pure.
//
// An interface counts as cut off when none of its sessions leads to the identity of a peer, and
// one of the other interface does; or when none of its sessions is up at all, and one of the other
// interface is. How long that has to last is measured by what the other interface hears meanwhile:
// when a peer dies, or either host does not run for a while, time passes, but nothing is heard,
// and nothing moves.
//
// Where the ports of hosts meet only their like, as on two fabrics without a cable in between,
// the identities of hosts have to move together. So one that stands by is not asked for more than
// to meet a port, and of two hosts on different fabrics the one that has moved last stays.
#pragma once

#include "ha-daemon/core/session.hpp"
#include "ha-daemon/core/view.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace openipoib::ha
{

inline constexpr std::size_t maxSessionPeers = 8;

struct SessionPolicy {
    std::vector<io::Bytes> peers; // link-local IPv6 addresses of their ports
    SessionTimes times;

    bool operator==(const SessionPolicy &) const = default;
};

// Packets that no session was told
struct SessionDrops {
    std::uint64_t malformed = 0;
    std::uint64_t routed = 0;     // came by a router, or so they say (RFC 5082)
    std::uint64_t strangers = 0;  // from nobody that is named
    std::uint64_t unbelieved = 0; // name no session of ours

    bool operator==(const SessionDrops &) const = default;
};

// What has become of one session
struct SessionCounts {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t missed = 0; // packets that did not come in their time while it was up
    std::uint32_t downs = 0;
    Time longest{}; // silence while it was up, its end included

    bool operator==(const SessionCounts &) const = default;
};

class Sessions
{
  public:
    struct One {
        Side side = Side::primary;
        std::size_t peer = 0; // in the policy
        Session session;
        SessionCounts counts;
        Time heardAt{};
        Time upAt{};            // when it came up last
        Time metAt{};           // heard while it was up; 0: never by this interface
        bool isOff = false;     // the peer has said that it is to be down
        std::uint32_t lost = 0; // its discriminator when it was lost while it served; or 0
    };
    using Send = std::function<void(const One &one, const BfdPacket &packet)>;

    Sessions(const SessionPolicy &policy, const Random &random);

    // The interfaces of the pair as they are now; 0: there is none.
    void watch(const Both<int> &interfaces, Time now);
    // The identity is there.
    void setActive(Side active);
    // A datagram has come from @from, with this hop limit.
    void receive(Side side, io::View from, int hops, io::View payload, Time now);
    // All that has come is received. Times out, sends what is due, and judges.
    void advance(Time now, const Send &send);
    // The last that peers hear.
    void farewell(const Send &send);
    // When to advance
    [[nodiscard]] std::optional<Time> next() const;

    // It reaches no peer, or no identity of a peer, and the other interface does.
    [[nodiscard]] bool isCutOff(Side side) const
    {
        return std::ranges::any_of(sides_[side].coverage, &Coverage::cutOff);
    }
    [[nodiscard]] const std::vector<One> &all() const { return sessions_; }
    [[nodiscard]] const SessionDrops &drops() const { return drops_; }
    // How often this host did not run for so long that peers may have missed it.
    [[nodiscard]] std::uint64_t stalls() const { return stalls_; }

  private:
    // What can be asked of a session
    using Grade = bool (Session::*)() const;
    static constexpr std::array<Grade, 2> grades{&Session::up, &Session::serves};
    static constexpr std::size_t reaching = 0; // in grades
    static constexpr std::size_t serving = 1;

    // What one side reaches by sessions of one grade
    struct Coverage {
        bool any = false; // some session is of this grade
        bool cutOff = false;
        Time cutOffAt{}; // since when; if it is not, when it was judged last
        Time heardAt{};  // by such a session, last
        Time quiet{};    // for how long the other side alone was heard; less than 0: with a grace
        Time missing{};  // the same without any grace, and with what was heard beside stalls
    };
    struct State {
        int interface = 0;
        std::array<Coverage, grades.size()> coverage{};
    };
    // As a session was
    using Grades = std::array<bool, grades.size()>;

    void noteStall(Time now);
    void noteHeard(One &one, const Grades &before, Time now);
    void noteLost(One &one, const Grades &before, bool told, Time now);
    void judge(std::size_t grade, Time now);
    [[nodiscard]] static Grades gradesOf(const Session &session);
    [[nodiscard]] bool anyOfGrade(Side side, std::size_t grade) const;
    [[nodiscard]] bool isSettled(Side side, std::size_t grade, Time now) const;
    [[nodiscard]] bool mustReach(Side side, std::size_t grade, Time when) const;
    [[nodiscard]] bool servesBy(Side side, std::size_t peer) const;
    [[nodiscard]] bool allOff(Side side) const;
    [[nodiscard]] bool yields(Side side) const;
    [[nodiscard]] Time alone(Side side, std::size_t grade) const;
    [[nodiscard]] Time patience(Side side, std::size_t grade) const;

    SessionPolicy policy_;
    std::vector<One> sessions_;
    Both<State> sides_;
    Side active_ = Side::primary;
    SessionDrops drops_;
    std::uint64_t stalls_ = 0;
    std::optional<Time> expected_; // to be advanced
    Time blindUntil_{};            // peers may have missed this host
};

} // namespace openipoib::ha
