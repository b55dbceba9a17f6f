// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two interfaces with one IP identity: which has it, and what has to be done.
//
// Pure: it is told events and answers with actions. One thing drives all of it:
// the identity belongs on the active interface and nowhere else, and what is
// seen is compared with that. A failover changes which interface is the active
// one, a restart reads it from the journal; the rest is the same.
//
// The identity is what the active interface was seen to have while it worked, but for
// what it had of its own while it stood by. An interface that does not work loses
// addresses to the kernel, or to whoever manages it; it is given back what it has lost,
// also of what was removed by hand meanwhile, before what it has is believed again.
#pragma once

#include "ha-daemon/core/event.hpp"
#include "ha-daemon/core/health.hpp"
#include "ha-daemon/core/journal.hpp"

#include <deque>
#include <functional>
#include <set>

namespace openipoib::ha
{

struct Policy {
    // After how long the preferred interface takes over again if it works; nullopt: never.
    std::optional<Time> failback;
    bool announce = true;
    // There are others who should answer by each interface: none fails back to where nobody does.
    bool asks = false;
};

// Where a pair is in its life. A failover goes through the phases from turning to taking,
// in this order, and one that does not fail leaves guarding for nothing else.
enum class Phase {
    unseen,     // nothing has been read yet
    turning,    // the kernel is to send by the other interface
    givingIpv4, // what answers to IPv4 packets need, to the one that takes over
    takingIpv4, // and from the other one, while peers hear of the IPv4 addresses
    giving,     // all else; peers hear of the IPv6 addresses
    taking,
    guarding, // the identity is where it belongs, and is kept there
};

[[nodiscard]] constexpr bool isMoving(Phase phase)
{
    return phase > Phase::unseen && phase < Phase::guarding;
}

// Whether the kernel takes a step is not known before; how often it was tried.
struct Attempts {
    unsigned count = 0;
    Time next{}; // not before
    std::string error;
};

struct LaneState {
    Lane view;
    Items identity;
    Items own;              // of the active interface, from before it was that: stays where it is
    Both<int> index;        // as last seen
    bool restoring = false; // what the active interface lacks is given back to it
};

// One failover: when what happened.
struct Move {
    std::string to; // the interface
    std::string cause;
    Time event{};     // the kernel had spoken
    Time decided{};   // and the pair had answered
    Time announced{}; // the peers were told for the first time; 0: not (yet)
    Time turned{};    // the kernel sent IPv4 packets by the other interface; 0: not before `moved`
    Time moved{};     // the identity was on the other interface
    std::size_t steps = 0;
    std::size_t failed = 0;
};

struct Decision {
    Time at{};
    std::string text;
};

class Pair
{
  public:
    Pair(Policy policy, std::optional<Journal> journal);

    // @at: when the kernel spoke; @now: not before @at.
    [[nodiscard]] Actions handle(const Event &event, Time at, Time now);
    // When to send a Tick, if nothing else happens.
    [[nodiscard]] std::optional<Time> wake() const;
    // What a successor has to know; @ending: nobody is in charge until then.
    [[nodiscard]] Journal journal(bool ending) const;

    // What to do last, if no other daemon follows: what the interfaces needed only as
    // a pair is as before.
    [[nodiscard]] Steps farewell() const;

    void configure(Policy policy) { policy_ = policy; }
    // Which of the two failback goes to. The primary, unless something else is said.
    void prefer(Side side) { preferred_ = side; }
    // Steps by others for interfaces that stood by, or may: what they set is kept in mind as the
    // pair's own. True: the journal is to be kept before they are done.
    [[nodiscard]] bool noteGuards(const Steps &steps);
    void releaseGuard(const Step &step);
    // What others have found
    void record(Time now, std::string text);

    [[nodiscard]] Phase phase() const { return phase_; }
    [[nodiscard]] bool started() const { return phase_ != Phase::unseen; }
    // Nothing is under way.
    [[nodiscard]] bool atRest() const { return phase_ == Phase::guarding && !busy_; }
    [[nodiscard]] Side active() const { return active_; }
    [[nodiscard]] Side preferred() const { return preferred_; }
    [[nodiscard]] const Health &health(Side side) const { return health_[side]; }
    // Why nobody is reached by it
    [[nodiscard]] const std::string &reach(Side side) const { return reach_[side]; }
    // Why it must not be used even though it works; "": it may.
    [[nodiscard]] std::string unfit(Side side) const;
    [[nodiscard]] const Journal::Guards &guards() const { return guards_; }
    [[nodiscard]] const Policy &policy() const { return policy_; }
    [[nodiscard]] const std::map<std::uint16_t, LaneState> &lanes() const { return lanes_; }
    [[nodiscard]] const std::map<StepKey, Attempts> &failing() const { return attempts_; }
    [[nodiscard]] const std::deque<Move> &moves() const { return moves_; }
    [[nodiscard]] std::uint64_t moveCount() const { return moveCount_; }
    [[nodiscard]] const std::deque<Decision> &decisions() const { return decisions_; }
    // Why it would not be switched to the other interface by hand; "": it would be.
    [[nodiscard]] std::string whyNotSwitched() const;
    // Why the other interface could not take over, or would lack something.
    [[nodiscard]] std::vector<std::string> standbyLacks() const;

  private:
    friend struct PairProbe; // looks into one, to tell its states apart in tests

    void on(const Seen &seen);
    void on(const LinkChanged &link);
    void on(const PortChanged &port);
    void on(const ReachChanged &reach);
    void on(const BatchDone &done);
    void on(const Announced &);
    void on(const Notified &);
    void on(const Tick &);
    void on(const SwitchAsked &);
    void on(const StandbyReplaced &one);

    void start();
    void succeed(const Journal &journal);
    void noteManagers(const LaneState &lane);
    void see(LaneState &lane, bool lost);
    void forget();
    void expire(LaneState &lane) const;
    void adopt(LaneState &lane);
    void assess();
    void decide();
    void decideFailback();
    void move(Side to, const std::string &cause);
    void reconcile();
    void settle();
    void noteTurned();
    void noteMoved();
    void finishMove();
    void notify(Time took, std::size_t failed);
    void enterNext();
    void announceAhead(Kind kind);
    void announceAgain();
    void announce(const std::function<Items(const LaneState &, const Interface &)> &addresses);
    [[nodiscard]] Steps phaseSteps();
    [[nodiscard]] Steps guardSteps();
    [[nodiscard]] Steps turnSteps() const;
    [[nodiscard]] Steps puts() const;
    [[nodiscard]] Steps drops() const;
    [[nodiscard]] Steps standbySteps();
    [[nodiscard]] Steps allowed(Steps steps);
    [[nodiscard]] bool hasTurned() const;
    [[nodiscard]] bool isSick(const Step &step) const;
    [[nodiscard]] bool isBelievable(const Interface &active) const;
    [[nodiscard]] std::string whyDead(Side side) const;
    [[nodiscard]] std::string whyBad(Side side) const;
    [[nodiscard]] bool couldServe(Side side) const;
    [[nodiscard]] bool hasAddress() const;
    [[nodiscard]] bool flapping() const;
    [[nodiscard]] const std::string &name(Side side) const;
    void decided(Say what);
    void say(Say what);
    void act(Action action);
    void wakeAt(Time time) { decideAt_ = decideAt_ ? std::min(*decideAt_, time) : time; }

    Policy policy_;
    std::optional<Journal> journal_; // of the one before; until started
    Phase phase_ = Phase::unseen;
    Side active_ = Side::primary;
    Side preferred_ = Side::primary;
    std::map<std::uint16_t, LaneState> lanes_;
    Both<Health> health_;
    Both<std::string> port_;  // why the port does not work
    Both<std::string> reach_; // why nobody is reached by it
    Both<Met> met_{};
    std::map<StepKey, Attempts> attempts_;
    Journal::Guards guards_; // given back in the end
    std::set<int> woken_;    // indexes of interfaces that were set up once
    std::set<int> managed_;  // of those that somebody else manages, which has been said
    bool busy_ = false;      // a batch is under way
    bool turns_ = false;     // the kernel turns to the other interface at the loss of a link
    bool addressed_ = false; // peers have to be told where the addresses are
    bool held_ = false;      // switched by hand: no failback
    bool followed_ = false;  // moved to where the identities of peers are: no failback before them
    std::string waiting_;    // why nothing is done about a failure
    std::string untold_;     // the cause of a move that is to be told; "": there is none
    bool telling_ = false;   // that is under way
    std::deque<Move> moves_;
    std::uint64_t moveCount_ = 0;
    std::deque<Decision> decisions_;
    unsigned announcements_ = 0; // since the last move
    std::optional<Time> announceAt_;
    std::optional<Time> decideAt_;
    std::optional<Time> lookAt_;

    // Of the event that is being handled
    bool fresh_ = false;      // everything has just been seen
    std::set<StepKey> given_; // steps by which the active interface got something
    Actions actions_;
    Time at_{};
    Time now_{};
};

} // namespace openipoib::ha
