// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A kernel with three interfaces, ib0, ib1 and ib2 in this order of preference, and a daemon on it
// that can be killed before anything that it does.
#pragma once

#include "ha-daemon/core/roster.hpp"
#include "ha_world.hpp"

namespace openipoib::ha
{

inline constexpr Side ib0 = sideAt(0);
inline constexpr Side ib1 = sideAt(1);
inline constexpr Side ib2 = sideAt(2);

class RosterWorld
{
  public:
    FakeKernel kernel{3};
    Each<std::string> reach{std::vector<std::string>(3)}; // why nobody is reached by it
    Each<Met> met{std::vector<Met>(3)};
    std::optional<Roster> roster;
    std::string saved; // the journal
    Policy policy;
    Time now{1'000'000};
    int actionsUntilKill = -1; // -1: it lives
    std::string wrong;         // what must never happen, and did
    std::vector<std::string> done;
    std::vector<Say> said;

    void start()
    {
        std::optional<Journal> journal;
        if (!saved.empty())
            journal = readJournal(saved).value();
        roster.emplace(std::vector<std::string>{"ib0", "ib1", "ib2"}, policy, journal);
        queue_.clear();
        lost_ = false;
        look();
    }
    void kill()
    {
        roster.reset();
        queue_.clear();
    }
    void stop()
    {
        for (const auto &step : roster->farewell())
            EXPECT_EQ(kernel.execute(step), 0) << step.text();
        saved = writeJournal(roster->journal(true));
        kill();
    }

    void announceLink(Side side)
    {
        const Interface &one = kernel.side[side];
        queue_.push_back({side, true, one.index, one.up, one.carrier, {}});
    }
    void announcePort(Side side) { queue_.push_back({side, false, 0, {}, {}, kernel.port[side]}); }
    // The port below it, or the other end of its cable
    void fail(Side side)
    {
        kernel.port[side] = nameAt(side) + " port is down";
        kernel.side[side].carrier = false;
        announcePort(side);
        announceLink(side);
    }
    void mend(Side side)
    {
        kernel.port[side] = "";
        kernel.side[side].carrier = kernel.side[side].index != 0;
        announcePort(side);
        announceLink(side);
    }
    void lose()
    {
        queue_.clear();
        lost_ = true;
    }
    // One message reaches the daemon.
    void deliver()
    {
        if (lost_)
            look();
        hear();
        goOn();
    }
    void deliverAll()
    {
        while (roster && (lost_ || !queue_.empty()))
            deliver();
    }
    // Everything is read, messages first.
    void look()
    {
        while (roster && !queue_.empty())
            hear();
        if (lost_)
            tellPorts();
        if (!roster)
            return;
        Row row;
        for (std::size_t place = 0; place < 3; ++place)
            row.interfaces.push_back(kernel.seen(sideAt(place)));
        now += takes;
        perform(roster->see({row}, std::exchange(lost_, false), now, now));
        if (roster)
            tellPorts();
        goOn();
    }
    void pass(Time time)
    {
        const Time end = now + time;
        while (roster && roster->wake() && *roster->wake() <= end) {
            now = std::max(now, *roster->wake());
            tell(Tick{});
            goOn();
        }
        now = end;
    }
    // Long enough for what the daemon waits for, but for ports that failed again and again
    void quiesce(Time time = std::chrono::minutes(2))
    {
        for (int round = 0; round < 2; ++round) {
            deliverAll();
            pass(time);
        }
        EXPECT_EQ(wrong, "");
    }
    void tell(const Event &event)
    {
        if (!roster)
            return;
        now += takes;
        perform(roster->handle(event, now, now));
    }
    // What targets and sessions say of the two; the daemon asks again and again.
    void tellReach()
    {
        for (const Side side : {Side::primary, Side::secondary})
            if (roster)
                tell(ReachChanged{side, reach[sideNamed(roster->name(side))],
                                  met[sideNamed(roster->name(side))]});
    }

    [[nodiscard]] Side active() const { return sideNamed(roster->name(roster->pair().active())); }
    [[nodiscard]] Side standby() const
    {
        return sideNamed(roster->name(other(roster->pair().active())));
    }
    void expectOn(Side side, const Items &items) const
    {
        for (const auto &one : items) {
            EXPECT_TRUE(has(kernel.side[side].items, one)) << one.key << " is lost";
            EXPECT_EQ(kernel.holders(one), 1) << one.key << " is on several";
        }
    }
    // Each interface has what its place needs, and nothing of another's.
    void expectPlaces() const
    {
        const auto stands = [](const Item &one) { return one.kind == Kind::standIn; };
        const std::size_t wanted = kernel.seen(active()).standIns.size();
        for (std::size_t place = 0; place < 3; ++place) {
            const Side side = sideAt(place);
            const Interface &one = kernel.side[side];
            EXPECT_EQ(std::ranges::count_if(one.items, stands),
                      side == standby() ? static_cast<std::ptrdiff_t>(wanted) : 0)
                << one.name;
            EXPECT_EQ(one.settings.at("arp_ignore"), "1") << one.name;
            EXPECT_EQ(one.settings.at("ignore_routes_with_linkdown"),
                      side == active() && wanted ? "1" : "0")
                << one.name;
        }
    }

  private:
    struct News {
        Side side = ib0;
        bool isLink = false;
        int index = 0;
        bool up = false;
        bool carrier = false;
        std::string why;
    };

    void hear()
    {
        if (!roster || queue_.empty())
            return;
        const News news = queue_.front();
        queue_.pop_front();
        now += takes;
        if (news.isLink)
            perform(
                roster->noteLink(nameAt(news.side), news.index, news.up, news.carrier, now, now));
        else
            perform(roster->notePort(nameAt(news.side), news.why, now, now));
    }
    // What the daemon does after each event
    void goOn()
    {
        tellReach();
        for (int round = 0; looking_ && roster && round < 20; ++round) {
            looking_ = false;
            look();
        }
        EXPECT_FALSE(looking_ && roster) << "it looks for ever";
    }
    void tellPorts()
    {
        for (std::size_t place = 0; place < 3 && roster; ++place)
            perform(roster->notePort(nameAt(sideAt(place)), kernel.port[sideAt(place)], now, now));
    }
    void perform(const Actions &actions)
    {
        for (const auto &action : actions) {
            if (!roster || dies())
                return;
            std::visit([this](const auto &one) { perform(one); }, action);
        }
    }
    bool dies()
    {
        if (actionsUntilKill < 0 || actionsUntilKill-- > 0)
            return false;
        kill();
        return true;
    }
    void perform(const Save &)
    {
        const Journal journal = roster->journal(false);
        saved = writeJournal(journal);
        done.push_back("journal of " + journal.names[Side::primary] + " and " +
                       journal.names[Side::secondary]);
    }
    void perform(const Look &) { looking_ = true; }
    void perform(const Notify &) {}
    void perform(const Say &what) { said.push_back(what); }
    void perform(const Announce &) { tell(Announced{}); }
    void perform(const Batch &batch)
    {
        BatchDone answer;
        for (const auto &step : batch.steps) {
            if (dies())
                return;
            const int before = kernel.holders(step.item);
            const int error = kernel.execute(step);
            if (step.act == Act::drop && before > 0 && belongs(step.item) &&
                kernel.holders(step.item) == 0)
                wrong = step.text() + " loses it";
            done.push_back(step.text());
            answer.outcomes.push_back({step, error, error ? "refused" : ""});
        }
        tell(answer);
    }

    static constexpr Time takes{10}; // to handle an event
    std::deque<News> queue_;
    bool lost_ = false;
    bool looking_ = false;
};

} // namespace openipoib::ha
