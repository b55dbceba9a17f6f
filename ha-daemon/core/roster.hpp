// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Interfaces in an order of preference with one IP identity. Two of them are the pair: the active
// one and the one that stands by. The rest are spare.
//
// Pure, as a pair is, and with two interfaces nothing but a pair. While that is at rest, a spare
// interface takes the place of a standby that does not work, or that is less preferred once it has
// worked for long enough. The active interface is never replaced: the pair moves the identity to
// the standby first.
//
// What a spare interface has to be follows from what is seen, as for a pair: so what an
// interface needed as the standby is undone after its replacement, whoever comes to do it.
#pragma once

#include "ha-daemon/core/choice.hpp"
#include "ha-daemon/core/pair.hpp"

namespace openipoib::ha
{

class Roster
{
  public:
    // @names: two or more, each once, the most preferred one first. The two of the journal are
    // the pair if they are among these.
    Roster(std::vector<std::string> names, Policy policy, std::optional<Journal> journal);

    // Everything, read again: the rows have all interfaces, in the order of the names.
    [[nodiscard]] Actions see(const std::vector<Row> &rows, bool lost, Time at, Time now);
    // One of the interfaces, as LinkChanged and PortChanged have it.
    [[nodiscard]] Actions noteLink(const std::string &name, int index, bool up, bool carrier,
                                   Time at, Time now);
    [[nodiscard]] Actions notePort(const std::string &name, const std::string &why, Time at,
                                   Time now);
    // What else a pair is told.
    [[nodiscard]] Actions handle(const Event &event, Time at, Time now);

    // As Pair has them
    [[nodiscard]] std::optional<Time> wake() const;
    [[nodiscard]] Journal journal(bool ending) const;
    [[nodiscard]] Steps farewell() const;
    void configure(Policy policy) { pair_.configure(policy); }

    [[nodiscard]] const Pair &pair() const { return pair_; }
    [[nodiscard]] const std::vector<std::string> &names() const { return names_; }
    // Of the pair
    [[nodiscard]] const std::string &name(Side side) const { return names_[place_[side]]; }
    // As it was seen last
    [[nodiscard]] const Interface &interface(std::size_t place) const;
    [[nodiscard]] const Health &health(std::size_t place) const;
    // In the order of preference
    [[nodiscard]] std::vector<std::size_t> spares() const;
    // Interfaces and children of the pair, by their indexes, and the others of the same lane
    [[nodiscard]] std::map<int, int> others() const;
    // Changes to spare interfaces that were tried.
    [[nodiscard]] const std::map<StepKey, Attempts> &failing() const { return attempts_; }

  private:
    struct Member {
        std::string port; // why it does not work
        // While it is spare
        Health health;
        std::string reach; // why nobody was reached by it when that was last known
        Time forgivenAt{}; // from then on that does not count, until it is known again
    };

    [[nodiscard]] std::optional<Side> sideOf(std::size_t place) const;
    [[nodiscard]] std::size_t placeOf(const std::string &name) const;
    [[nodiscard]] bool isAddressed(std::size_t place) const;
    [[nodiscard]] std::vector<Lane> lanes() const;
    [[nodiscard]] std::vector<Candidate> candidates() const;
    [[nodiscard]] Side preferred() const;
    // From when on it counts who is reached by one that has not stood by before.
    [[nodiscard]] Time heedAt() const;
    [[nodiscard]] bool isEarly(const ReachChanged &reach) const;
    void takeIn(const std::vector<Row> &rows);
    void findActive();
    void setPair(std::size_t primary, std::size_t secondary);
    void assess(std::size_t place);
    void assessSpares();
    void goOn();
    void choose();
    void replaceStandby(std::size_t place);
    void leave(std::size_t place, Time now);
    void keepUp(const Steps &wanted);
    void noteDone(const BatchDone &done);
    [[nodiscard]] Steps spareSteps(std::size_t place) const;
    void say(Say what);
    void tell(const Event &event);

    std::vector<std::string> names_;
    std::vector<Member> members_;
    Both<std::size_t> place_{{0, 1}};                      // of the pair among the names
    std::map<std::uint16_t, std::vector<Interface>> rows_; // by child; of spare interfaces
    Pair pair_;
    bool unclaimed_ = true; // nobody was in charge before, so it is where the addresses are
    bool busy_ = false;     // a batch of spare interfaces is under way
    bool due_ = false;      // they have just been seen
    std::map<StepKey, Attempts> attempts_;
    std::set<int> woken_; // indexes of interfaces that were up once
    std::optional<Time> chooseAt_;
    Time settledAt_{};             // the standby has had the time to work
    std::optional<Side> newcomer_; // the side that has been replaced, until that
    // Of the event that is being handled
    Actions actions_;
    Time at_{};
    Time now_{};
};

} // namespace openipoib::ha
