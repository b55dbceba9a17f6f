// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Two hosts with a pair each, and their neighbour tables: ports fail on both, daemons are
// killed, announcements are lost, at any time. Packets get through both ways again within a
// stated time after the last event.
//
// The model: an entry of a table belongs to one interface (RFC 826, RFC 4861 section 5.1) and
// says by which interface the other host is reached. A host takes packets for its addresses
// from any interface. An announcement is heard by every interface that works, and changes
// entries that are there. A link that is lost takes its entries along. Without an entry the
// kernel asks at once; while packets are sent in vain, it finds the entry unreachable after at
// most `unreachable`, and asks again.
#include "ha_world.hpp"

#include <array>
#include <sstream>

namespace openipoib::ha
{
namespace
{

using namespace std::chrono_literals;

// Of the announcements after a move, seven within four seconds, not all were lost.
constexpr Time announced = 5s;
// Linux: base_reachable_time of 30 s, half as long again at most, delay_first_probe_time of
// 5 s, three probes and the first question of a new resolution, a second each.
constexpr Time unreachable = 45s + 5s + 3s + 1s;

enum class What { cut, mend, kill, start };

struct Happening {
    int host = 0;
    What what = What::cut;
    Side side = Side::primary;
    Time after{}; // since the one before

    [[nodiscard]] std::string text() const
    {
        static constexpr std::array names{"cut", "mend", "kill", "start"};
        std::ostringstream out;
        out << "after " << after.count() / 1000 << " ms " << names[static_cast<std::size_t>(what)]
            << " host " << host;
        if (what == What::cut || what == What::mend)
            out << " ib" << static_cast<int>(side);
        return out.str();
    }
};

class Hosts
{
  public:
    std::array<World, 2> world;
    unsigned lost = 0; // a bit for each announcement, the first one the lowest

    Hosts()
    {
        for (int host : {0, 1}) {
            for (const auto &one :
                 {item(Kind::address4, address(host) + "/24"), entry(1 - host, Side::primary)})
                world[at(host)].kernel.give(Side::primary, one);
            world[at(host)].onAnnounce = [this, host](const Announce &what) { hear(host, what); };
            world[at(host)].start();
        }
        pass(20s); // everything has been read, the standby knows the peers
    }

    void happen(const Happening &what)
    {
        pass(what.after);
        World &one = world[at(what.host)];
        if (what.what == What::kill)
            one.kill();
        else if (what.what == What::start && !one.pair)
            one.start();
        else if (what.what == What::cut || what.what == What::mend)
            setPort(one, what.side, what.what == What::mend);
    }
    // Until packets get through both ways, at most @limit; how long that took
    std::optional<Time> converge(Time limit)
    {
        for (Time passed{}; passed <= limit; passed += 10ms) {
            if (reaches(0) && reaches(1))
                return passed;
            pass(10ms);
        }
        return std::nullopt;
    }
    // Whether all announcements of a host's last move were lost
    [[nodiscard]] bool isUnheard(int host) const { return unheard_[at(host)]; }
    // Whether there is a way, which the daemons then have to find
    [[nodiscard]] bool canTalk() const
    {
        return std::ranges::all_of(world, [](const World &one) {
            return one.kernel.good(Side::primary) || one.kernel.good(Side::secondary);
        });
    }
    [[nodiscard]] bool reaches(int from) const
    {
        const World &sender = world[at(from)], &receiver = world[at(1 - from)];
        const Side by = sender.pair ? sender.active() : Side::primary;
        const auto to = believed(sender, by, 1 - from);
        return sender.kernel.good(by) &&
               has(sender.kernel.side[by].items, item(Kind::address4, address(from) + "/24")) &&
               to && receiver.kernel.good(*to);
    }
    void pass(Time time)
    {
        for (int host : {0, 1}) {
            world[at(host)].pass(time);
            if (reaches(host))
                vain_[at(host)] = {};
            else if ((vain_[at(host)] += time) >= unreachable || !knows(host))
                resolve(host);
        }
    }

  private:
    static std::size_t at(int host) { return static_cast<std::size_t>(host); }
    static std::string address(int host) { return "10.0.0." + std::to_string(host + 1); }
    static Item entry(int host, Side side)
    {
        Item one = item(Kind::peer, address(host));
        one.body.push_back(static_cast<std::uint8_t>(side));
        return one;
    }
    static std::optional<Side> believed(const World &who, Side by, int host)
    {
        for (const auto &one : who.kernel.side[by].items)
            if (one.kind == Kind::peer && one.key == address(host))
                return static_cast<Side>(one.body.back());
        return std::nullopt;
    }

    [[nodiscard]] bool knows(int host) const
    {
        const World &one = world[at(host)];
        return believed(one, one.pair ? one.active() : Side::primary, 1 - host).has_value();
    }

    void hear(int from, const Announce &what)
    {
        if (world[at(from)].announcements == 1 ||
            moves_[at(from)] != world[at(from)].pair->moveCount())
            unheard_[at(from)] = true;
        moves_[at(from)] = world[at(from)].pair->moveCount();
        const bool isLost = count_ < 32 && (lost >> count_ & 1U) != 0;
        ++count_;
        unheard_[at(from)] &= isLost;
        World &listener = world[at(1 - from)];
        for (const auto &to : what.to) {
            const Side side = to.interface == "ib0" ? Side::primary : Side::secondary;
            if (isLost || to.addresses.empty() || !world[at(from)].kernel.good(side))
                continue;
            for (const Side by : {Side::primary, Side::secondary})
                if (listener.kernel.good(by) && believed(listener, by, from)) {
                    listener.kernel.take(by, entry(from, side));
                    listener.kernel.give(by, entry(from, side));
                }
        }
    }
    // What answers, by the interface that has the address
    void resolve(int host)
    {
        World &sender = world[at(host)];
        const FakeKernel &other_ = world[at(1 - host)].kernel;
        const Side by = sender.pair ? sender.active() : Side::primary;
        for (const Side side : {Side::primary, Side::secondary})
            if (sender.kernel.good(by) && other_.good(side) &&
                has(other_.side[side].items, item(Kind::address4, address(1 - host) + "/24"))) {
                sender.kernel.take(by, entry(1 - host, side));
                sender.kernel.give(by, entry(1 - host, side));
                vain_[at(host)] = {};
            }
    }
    static void setPort(World &one, Side side, bool works)
    {
        one.kernel.port[side] = works ? "" : "the port is down";
        one.kernel.side[side].carrier = works;
        if (!works)
            std::erase_if(one.kernel.side[side].items,
                          [](const Item &entry) { return entry.kind == Kind::peer; });
        one.announcePort(side);
        one.announceLink(side);
        one.deliverAll();
    }

    unsigned count_ = 0;
    std::array<bool, 2> unheard_{};
    std::array<std::uint64_t, 2> moves_{};
    std::array<Time, 2> vain_{};
};

std::vector<Happening> happenings()
{
    std::vector<Happening> all;
    for (const Time after : {Time(0), Time(30ms), Time(1500ms), Time(15s)})
        for (const int host : {0, 1}) {
            for (const Side side : {Side::primary, Side::secondary})
                for (const What what : {What::cut, What::mend})
                    all.push_back({host, what, side, after});
            all.push_back({host, What::kill, {}, after});
        }
    return all;
}

// "": it is as it should be
std::string wrong(const std::vector<Happening> &events, unsigned lost)
{
    Hosts hosts;
    hosts.lost = lost;
    for (const auto &event : events)
        hosts.happen(event);
    // Somebody starts the daemon again.
    for (const int host : {0, 1})
        hosts.happen({host, What::start, {}, 10ms});
    if (!hosts.canTalk())
        return {};
    const auto soon = hosts.converge(announced);
    const bool unheard = hosts.isUnheard(0) || hosts.isUnheard(1);
    const auto late = soon ? soon : hosts.converge(unreachable + announced);
    if (soon || (late && unheard))
        return {};
    std::ostringstream out;
    for (const auto &event : events)
        out << event.text() << "; ";
    out << "lost: " << std::hex << lost << std::dec << ": "
        << (late ? "not soon, although not all announcements were lost" : "never");
    return out.str();
}

TEST(HaNeighbours, AnyTwoEventsWithAnnouncementsLost)
{
    std::size_t runs = 0;
    for (const auto &first : happenings()) {
        if (first.after != Time(0) || first.host != 0)
            continue; // the hosts are alike, and nothing was before
        for (const auto &second : happenings())
            for (const unsigned lost : {0U, 1U, 3U, 0xFU, 0x7FU, 0x55U, 0x2AAU, 0xFFFFU, ~0U}) {
                ++runs;
                ASSERT_EQ(wrong({first, second}, lost), "");
            }
    }
    EXPECT_EQ(runs, 1800U);
}

TEST(HaNeighbours, AFailoverWithAnyAnnouncementsLost)
{
    for (unsigned lost = 0; lost < 1U << 7; ++lost)
        ASSERT_EQ(wrong({{0, What::cut, Side::primary, {}}}, lost), "");
}

TEST(HaNeighbours, ThatNobodyAnnouncesIsFound)
{
    Hosts hosts;
    hosts.lost = ~0U;
    hosts.happen({0, What::cut, Side::primary, {}});
    EXPECT_FALSE(hosts.converge(announced));
    EXPECT_TRUE(hosts.converge(unreachable)) << "the kernel asks by itself";
}

} // namespace
} // namespace openipoib::ha
