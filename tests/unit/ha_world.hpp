// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A kernel with two interfaces or more, and a daemon on it that can be killed. The
// kernel takes away what Linux takes away: IPv6 addresses and routes with a link
// that is set down, IPv4 routes with the last IPv4 address, secondary addresses
// with their primary. Its messages may come late, twice, or not at all. A peer hears
// the announcements. A world can be copied.
#pragma once

#include "ha-daemon/core/pair.hpp"
#include "ha-daemon/core/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <utility>

namespace openipoib::ha
{

inline Item item(Kind kind, const std::string &key)
{
    return {.kind = kind, .key = key, .body = {static_cast<std::uint8_t>(kind)}};
}

// The interfaces beyond the two of a pair, ib2 and so on, have sides of their own here.
[[nodiscard]] constexpr Side sideAt(std::size_t place)
{
    return static_cast<Side>(place);
}

[[nodiscard]] inline std::string nameAt(Side side)
{
    return "ib" + std::to_string(static_cast<unsigned>(side));
}

[[nodiscard]] inline Side sideNamed(const std::string &name)
{
    return sideAt(std::stoul(name.substr(2)));
}

template <typename T> struct Each {
    std::vector<T> values;

    T &operator[](Side side) { return values.at(static_cast<std::size_t>(side)); }
    const T &operator[](Side side) const { return values.at(static_cast<std::size_t>(side)); }
};

class FakeKernel
{
  public:
    Each<Interface> side;
    Each<std::string> port;        // why it does not work
    std::set<std::string> refused; // texts of steps
    int nextIndex = 10;

    explicit FakeKernel(std::size_t count = 2)
    {
        side.values.resize(count);
        port.values.resize(count);
        for (std::size_t place = 0; place < count; ++place)
            plug(sideAt(place));
    }

    void plug(Side which)
    {
        side[which] = absent(nameAt(which));
        side[which].index = nextIndex++;
        side[which].infiniband = true;
        side[which].up = side[which].carrier = true;
        side[which].pkey = 0xFFFF;
        side[which].mtu = 2044;
        side[which].connected = false;
        side[which].settings = {{"arp_ignore", "0"},
                                {"ignore_routes_with_linkdown", "0"},
                                {"promote_secondaries", "0"},
                                {"umcast", "0"}};
    }
    void unplug(Side which)
    {
        side[which] = absent(nameAt(which));
        forgetStandIns();
    }
    void setUp(Side which, bool up)
    {
        Interface &one = side[which];
        one.up = one.index && up;
        if (!up)
            std::erase_if(one.items, [](const Item &i) {
                return i.kind != Kind::address4 && i.kind != Kind::rule;
            });
    }
    void give(Side which, const Item &one)
    {
        if (!has(side[which].items, one))
            side[which].items.push_back(one);
    }
    void take(Side which, const Item &one)
    {
        auto &items = side[which].items;
        const auto at = std::ranges::find_if(items, [&](const Item &i) { return i.is(one); });
        if (at == items.end())
            return;
        const bool first = std::none_of(items.begin(), at, isAddress4);
        items.erase(at);
        if (one.kind != Kind::address4)
            return;
        // The primary takes its secondaries along, the last one the routes.
        if (first && side[which].settings["promote_secondaries"] != "1")
            std::erase_if(items, isAddress4);
        if (std::ranges::none_of(items, isAddress4))
            std::erase_if(items, [](const Item &i) { return i.kind == Kind::route4; });
        forgetStandIns();
    }
    // What @which has, with what would stand in for it
    [[nodiscard]] Interface seen(Side which) const
    {
        Interface out = side[which];
        for (const auto &one : out.items)
            if (isAddress4(one) || one.kind == Kind::route4)
                out.standIns.push_back({one, standIn(one)});
        return out;
    }
    static Item standIn(const Item &of) { return item(Kind::standIn, "instead of " + of.key); }

    // errno
    int execute(const Step &step)
    {
        const Side which = sideNamed(step.interface);
        Interface &one = side[which];
        if (!one.index || one.index != step.index)
            return ENODEV;
        if (refused.contains(step.text()))
            return EINVAL;
        switch (step.act) {
        case Act::put:
            return put(which, step.item);
        case Act::drop:
            take(which, step.item);
            return 0;
        case Act::up:
            one.up = true;
            return 0;
        case Act::mode:
            one.connected = step.value == "connected";
            return 0;
        case Act::mtu:
            one.mtu = static_cast<unsigned>(std::stoul(step.value));
            return 0;
        case Act::setting:
            one.settings[step.name] = step.value;
            return 0;
        case Act::turn:
            one.dormant = one.carrier;
            return 0;
        case Act::wake:
            one.dormant = false;
            return 0;
        }
        return EINVAL;
    }

    [[nodiscard]] bool good(Side which) const
    {
        return side[which].index && side[which].up && side[which].carrier && port[which].empty();
    }
    [[nodiscard]] int holders(const Item &one) const
    {
        return static_cast<int>(std::ranges::count_if(
            side.values, [&](const Interface &each) { return has(each.items, one); }));
    }
    // As if there never had been a daemon
    void expectNothingLeft() const
    {
        for (const auto &one : side.values) {
            EXPECT_FALSE(one.dormant) << one.name;
            EXPECT_TRUE(std::ranges::none_of(one.items, [](const Item &i) {
                return i.kind == Kind::standIn;
            })) << one.name;
            for (const auto &[name, value] : one.settings)
                EXPECT_EQ(value, "0") << one.name << " " << name;
        }
    }

  private:
    // A route is gone with the address that it gives packets as their source.
    void forgetStandIns()
    {
        for (auto &one : side.values)
            std::erase_if(one.items, [this](const Item &i) {
                return i.kind == Kind::standIn && std::ranges::none_of(side.values, hasAddress4);
            });
    }
    static bool hasAddress4(const Interface &one)
    {
        return std::ranges::any_of(one.items, isAddress4);
    }
    static bool isAddress4(const Item &i) { return i.kind == Kind::address4; }

    int put(Side which, const Item &what)
    {
        Interface &one = side[which];
        const bool route =
            what.kind == Kind::route4 || what.kind == Kind::route6 || what.kind == Kind::standIn;
        if ((route || what.kind == Kind::address6) && !one.up)
            return ENETDOWN;
        if (what.kind == Kind::route4 && std::ranges::none_of(one.items, isAddress4))
            return ENETUNREACH;
        if (what.kind == Kind::standIn && std::ranges::none_of(side.values, hasAddress4))
            return EINVAL;
        if (what.kind == Kind::peer)
            take(which, what); // the new one replaces it
        give(which, what);
        if (what.kind == Kind::route4)
            for (auto &each : side.values)
                if (&each != &one)
                    std::erase_if(each.items, [&](const Item &i) { return i.is(what); });
        return 0;
    }
};

class World
{
  public:
    FakeKernel kernel;
    std::optional<Pair> pair;
    std::string saved; // the journal
    Policy policy;
    Time now{1'000'000};
    Time takes{10};          // to handle an event
    int stepsUntilKill = -1; // -1: it lives
    bool readsLate = false;  // what is asked to be read is not read before read()
    bool programEnds = true; // the administrator's, at once
    unsigned announcements = 0;
    unsigned deaf = 0;                    // how many announcements the peer will not hear
    std::map<std::string, Side> believed; // by the peer: where an address is
    std::string wrong;                    // what must never happen, and did
    std::vector<std::string> done;        // steps, and that the peers were told
    std::size_t urgent = 0;               // steps that peers waited for
    std::vector<Say> said;
    std::vector<Notify> notified;
    std::function<void(const Announce &)> onAnnounce; // as it is sent

    void start()
    {
        std::optional<Journal> journal;
        if (!saved.empty())
            journal = readJournal(saved).value();
        pair.emplace(policy, journal);
        queue_.clear();
        lost_ = looking_ = false;
        for (const Side side : {Side::primary, Side::secondary})
            tell(PortChanged{side, kernel.port[side]});
        look();
    }
    void kill()
    {
        pair.reset();
        queue_.clear();
    }
    void stop()
    {
        for (const auto &step : pair->farewell())
            EXPECT_EQ(kernel.execute(step), 0) << step.text();
        saved = writeJournal(pair->journal(true));
        kill();
    }

    // The kernel announces what an interface is like now.
    void announceLink(Side side)
    {
        const Interface &one = kernel.side[side];
        queue_.push_back(LinkChanged{side, one.index, one.up, one.carrier});
    }
    void announcePort(Side side) { queue_.push_back(PortChanged{side, kernel.port[side]}); }
    void lose()
    {
        queue_.clear();
        lost_ = true;
    }
    void repeat()
    {
        if (!queue_.empty())
            queue_.push_back(queue_.front());
    }
    // One message reaches the daemon.
    void deliver()
    {
        if (!pair)
            return;
        if (lost_)
            look();
        if (queue_.empty())
            return;
        const Event event = queue_.front();
        queue_.pop_front();
        tell(event);
    }
    void deliverAll()
    {
        while (pair && (lost_ || !queue_.empty()))
            deliver();
    }
    [[nodiscard]] const std::deque<Event> &pending() const { return queue_; }
    [[nodiscard]] bool isLost() const { return lost_; }
    [[nodiscard]] bool isLooking() const { return looking_; }
    // What the daemon has wanted to read, messages first
    void read()
    {
        looking_ = false;
        deliverAll();
        look();
    }
    void pass(Time time)
    {
        const Time end = now + time;
        while (pair && pair->wake() && *pair->wake() <= end) {
            now = std::max(now, *pair->wake());
            tell(Tick{});
        }
        now = end;
    }
    void look()
    {
        if (!pair)
            return;
        // What a port is like is asked for before a loss is forgotten.
        if (lost_)
            for (const Side side : {Side::primary, Side::secondary})
                tell(PortChanged{side, kernel.port[side]});
        tell(Seen{{Lane{0, {{kernel.seen(Side::primary), kernel.seen(Side::secondary)}}}},
                  std::exchange(lost_, false)});
    }
    void tell(const Event &event)
    {
        if (!pair)
            return;
        now += takes;
        for (const auto &action : pair->handle(event, now, now)) {
            perform(action);
            if (!pair)
                return;
        }
        if (looking_ && !readsLate)
            read();
    }
    void quiesce()
    {
        deliverAll();
        pass(std::chrono::minutes(2));
        deliverAll();
        pass(std::chrono::minutes(2));
        EXPECT_EQ(wrong, "");
    }
    [[nodiscard]] Side active() const { return pair->active(); }

    void expectOn(Side side, const Items &items) const
    {
        for (const auto &one : items) {
            EXPECT_TRUE(has(kernel.side[side].items, one)) << one.key << " is lost";
            EXPECT_FALSE(has(kernel.side[other(side)].items, one)) << one.key << " is on both";
        }
    }

    // The kernel would turn to the standby by itself, and to nowhere else.
    void expectStandIns() const
    {
        const Interface &active = kernel.side[pair->active()];
        const Interface &standby = kernel.side[other(pair->active())];
        std::ptrdiff_t wanted = 0;
        for (const auto &[of, route] : kernel.seen(pair->active()).standIns) {
            if (!has(pair->lanes().at(0).identity, of))
                continue;
            EXPECT_TRUE(has(standby.items, route)) << route.key;
            ++wanted;
        }
        const auto stands = [](const Item &one) { return one.kind == Kind::standIn; };
        EXPECT_EQ(std::ranges::count_if(standby.items, stands), wanted);
        EXPECT_EQ(std::ranges::count_if(active.items, stands), 0);
        EXPECT_EQ(active.settings.at("ignore_routes_with_linkdown"), "1");
        EXPECT_EQ(standby.settings.at("ignore_routes_with_linkdown"), "0");
    }
    void expectNothingLeft() const { kernel.expectNothingLeft(); }

  private:
    void perform(const Action &action)
    {
        if (std::holds_alternative<Save>(action))
            saved = writeJournal(pair->journal(false));
        else if (const auto *batch = std::get_if<Batch>(&action))
            perform(*batch);
        else if (const auto *announce = std::get_if<Announce>(&action))
            perform(*announce);
        else if (std::holds_alternative<Look>(action))
            looking_ = true;
        else if (const auto *moved = std::get_if<Notify>(&action)) {
            notified.push_back(*moved);
            if (programEnds)
                tell(Notified{});
        } else
            said.push_back(std::get<Say>(action));
    }
    void perform(const Announce &announce)
    {
        ++announcements;
        if (onAnnounce)
            onAnnounce(announce);
        const bool heard = !deaf;
        deaf -= !heard;
        for (const auto &to : announce.to)
            for (const auto &one : to.addresses) {
                done.push_back(to.interface + ": announce " + one.key);
                if (heard)
                    believed[one.key] = to.interface == "ib0" ? Side::primary : Side::secondary;
            }
        tell(Announced{});
    }
    void perform(const Batch &batch)
    {
        BatchDone answer;
        for (const auto &step : batch.steps) {
            if (stepsUntilKill == 0) {
                stepsUntilKill = -1;
                kill();
                return;
            }
            if (stepsUntilKill > 0)
                --stepsUntilKill;
            const int before = kernel.holders(step.item);
            const int error = kernel.execute(step);
            if (step.act == Act::drop && before > 0 && belongs(step.item) &&
                kernel.holders(step.item) == 0)
                wrong = step.text() + " loses it";
            done.push_back(step.text());
            urgent += batch.urgent;
            answer.outcomes.push_back({step, error, error ? "refused" : ""});
        }
        tell(answer);
    }

    std::deque<Event> queue_;
    bool lost_ = false;
    bool looking_ = false;
};

} // namespace openipoib::ha
