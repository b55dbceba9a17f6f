// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Runs the administrator's program after each move. Nothing waits for its end. It is started when
// everything else is done, because to start it takes as long as the kernel takes to load it. One
// runs at a time for each pair, and if the identity moves meanwhile, the program is run once more
// after that, for where the identity is by then.
#pragma once

#include "ha-daemon/configuration.hpp"
#include "ha-daemon/core/event.hpp"
#include "io/event_loop.hpp"
#include "io/unique_fd.hpp"

#include <map>
#include <optional>

namespace openipoib::ha
{

inline constexpr Time notifyPatience = std::chrono::seconds(60); // with one that does not end

class Notifier
{
  public:
    // What failed, and for which pair
    struct Failure {
        Names names;
        std::string words;
    };

    // The end of a program wakes @events, and then collect() is to be called.
    explicit Notifier(io::EventLoop &events) : events_(events) {}

    // Have collect() run @program for @move of the pair, when no other runs for it.
    void notify(const std::string &program, const Names &names, const Notify &move);
    // Programs that run
    [[nodiscard]] std::size_t running() const;
    // Whether a program of the pair runs or waits to be run
    [[nodiscard]] bool isBusy(const Names &names) const { return runs_.contains(nameOf(names)); }
    // When to call collect() if nothing else happens; nullopt: not at all
    [[nodiscard]] std::optional<Time> wake() const;
    // Note who has ended, end with SIGKILL who has run for too long, start who waits. It takes
    // as long as the kernel takes to load a program.
    [[nodiscard]] std::vector<Failure> collect(Time now);

  private:
    struct Waiting {
        std::string program;
        Notify move;
    };
    struct Run {
        Names names;
        std::string program;
        pid_t process = 0; // 0: none yet
        io::UniqueFd ended;
        io::EventSource source;
        Time until{};
        bool killed = false;
        std::optional<Waiting> next;
    };

    [[nodiscard]] io::Result<void> start(Run &run, const Waiting &what, Time now);
    void endIfLate(Run &run, Time now);
    // "": it has ended well
    [[nodiscard]] static std::string outcome(const Run &run, int status);

    io::EventLoop &events_;
    std::map<std::string, Run> runs_; // by the names of their pairs
};

} // namespace openipoib::ha
