// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha_explorer.hpp"

#include "ha_explorer_state.hpp"

#include <unordered_set>

namespace openipoib::ha
{

using namespace std::chrono_literals;

namespace
{

class Explorer
{
  public:
    explicit Explorer(const Limits &limits) : limits_(limits), possible_(possibilities()) {}

    Explored run()
    {
        State state;
        state.left = limits_;
        state.world.takes = Time(0);
        state.world.readsLate = true;
        for (const auto &one : firstIdentity())
            state.world.kernel.give(Side::primary, one);
        for (const auto &one : firstIdentity())
            if (one.isAddress())
                state.world.believed[one.key] = Side::primary;
        state.world.start();
        state.world.read();
        visit(std::move(state), 0, 0);
        while (!next_.empty() && !out_.finding && out_.depth < limits_.depth && !out_.tooMany) {
            ++out_.depth;
            for (auto &[from, number] : std::exchange(next_, {}))
                leave(from, number);
        }
        out_.exhausted = next_.empty();
        return std::move(out_);
    }

  private:
    struct Origin {
        std::size_t from;
        std::size_t event;
    };

    void leave(const State &from, std::size_t number)
    {
        for (std::size_t event = 0; event < possible_.size() && !out_.finding; ++event) {
            const auto budget = possible_[event].budget;
            if (budget && !(from.left.*budget))
                continue;
            State state = from;
            if (budget)
                --(state.left.*budget);
            if (!possible_[event].happen(state))
                continue;
            state.world.done.clear();
            state.world.said.clear();
            ++out_.transitions;
            visit(std::move(state), number, event);
        }
    }
    void visit(State state, std::size_t from, std::size_t event)
    {
        if (!known_.insert(std::hash<std::string>()(state.print())).second)
            return;
        const std::size_t number = origins_.size();
        origins_.push_back({from, event});
        out_.tooMany = ++out_.states >= limits_.states;
        std::string wrong = wrongNow(state);
        // Anything else comes to rest by events of its own.
        if (wrong.empty() && state.world.pending().empty() && !state.world.isLooking())
            wrong = wrongAtRest(state);
        if (!wrong.empty())
            out_.finding = {wrong, trace(number)};
        next_.emplace_back(std::move(state), number);
    }
    [[nodiscard]] std::vector<std::string> trace(std::size_t number) const
    {
        std::vector<std::string> out;
        for (; number; number = origins_[number].from)
            out.push_back(possible_[origins_[number].event].name);
        std::ranges::reverse(out);
        return out;
    }

    Limits limits_;
    std::vector<Possible> possible_;
    std::vector<std::pair<State, std::size_t>> next_; // with their numbers
    std::vector<Origin> origins_;
    std::unordered_set<std::size_t> known_;
    Explored out_;
};

} // namespace

Explored explore(const Limits &limits)
{
    return Explorer(limits).run();
}

std::string textOf(const Explored &explored)
{
    std::string out = std::to_string(explored.states) + " states, " +
                      std::to_string(explored.transitions) + " events, depth " +
                      std::to_string(explored.depth) +
                      (explored.exhausted ? ", nothing beyond"
                       : explored.tooMany ? ", ended by the limit of states"
                                          : "") +
                      "\n";
    if (!explored.finding)
        return out;
    out += "wrong: " + explored.finding->what + ", after:\n";
    for (const auto &event : explored.finding->trace)
        out += "  " + event + "\n";
    return out;
}

} // namespace openipoib::ha
