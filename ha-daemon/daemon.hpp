// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The loop that joins the core to the kernel: everything but BFD sessions in one thread,
// nothing waits but the loop.
#pragma once

#include "ha-daemon/configuration.hpp"
#include "ha-daemon/core/greeter.hpp"
#include "ha-daemon/core/roster.hpp"
#include "ha-daemon/core/targets.hpp"
#include "ha-daemon/linux/announcer.hpp"
#include "ha-daemon/linux/control.hpp"
#include "ha-daemon/linux/kernel.hpp"
#include "ha-daemon/linux/memberships.hpp"
#include "ha-daemon/linux/notifier.hpp"
#include "ha-daemon/linux/ports.hpp"
#include "ha-daemon/linux/prober.hpp"
#include "ha-daemon/linux/run_folder.hpp"
#include "ha-daemon/linux/session_runner.hpp"
#include "ha-daemon/request.hpp"
#include "io/event_loop.hpp"
#include "netlink/monitor.hpp"

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <tuple>
#include <vector>

namespace openipoib::ha
{

inline constexpr auto defaultRunFolder = "/run/ipoib-ha";
inline constexpr auto controlName = "control";

struct Options {
    Configuration configuration;
    // What to do from now on, on SIGHUP; empty: that ends it.
    std::function<io::Result<Configuration>()> reread;
    bool verbose = false;
    std::string runFolder = defaultRunFolder;
};

class Daemon
{
  public:
    // Errors: EBUSY when another one runs.
    [[nodiscard]] static io::Result<std::unique_ptr<Daemon>> open(const Options &options);

    // Until a signal ends it.
    [[nodiscard]] io::Result<void> run();

  private:
    struct Managed {
        Names names; // as they are configured
        Roster roster;
        Targets targets;
        std::unique_ptr<SessionRunner> sessions{}; // none: nobody is probed
        io::EventSource sessionsSource{};
        std::map<std::uint16_t, Memberships> memberships; // of each lane
        Greeter greeter;
        bool look = true;
        bool telling = false; // somebody of a move
        bool lost = false;    // messages, since the last look

        [[nodiscard]] std::string file() const { return nameOf(names) + ".json"; }
        // Of the two that are the pair now
        [[nodiscard]] Names sides() const
        {
            return {{roster.name(Side::primary), roster.name(Side::secondary)}};
        }
    };

    Daemon(Options options, RunFolder folder, io::EventLoop events, Kernel kernel,
           netlink::Monitor monitor, Announcer announcer, Prober prober);

    [[nodiscard]] Time now() const;
    [[nodiscard]] std::optional<Time> wake() const;
    // Have @handler called when something comes at @fd.
    [[nodiscard]] io::Result<io::EventSource> watch(int fd, std::function<void()> handler);
    [[nodiscard]] io::Result<void> attach();
    [[nodiscard]] io::Result<void> attachProber();
    [[nodiscard]] io::Result<void> listen();
    void begin();
    [[nodiscard]] io::Result<void> add(const PairConfiguration &wanted);
    void change(Managed &one, const PairConfiguration &wanted);
    void dismiss(Managed &one);
    void onHangup();
    void reload();
    // What follows from events, once they are handled, or from the time.
    void settle();
    void readMonitor();
    void onLink(const netlink::Link &link, bool gone);
    void notePorts(Managed &one);
    void tick();
    void askTargets(Managed &one);
    void hearTargets();
    [[nodiscard]] io::Result<void> startSessions(Managed &one, const SessionPolicy &policy);
    void hearSessions(Managed &one);
    void tellSessions();
    [[nodiscard]] std::string whyUnreached(const Managed &one, Side side) const;
    void lookWhereAsked();
    void look(Managed &one);
    void mirror(Managed &one);
    void greet(Managed &one);
    void deliver(Managed &one, const Event &event);
    void perform(Managed &one, const Actions &actions);
    void perform(Managed &one, const Action &action);
    void announce(Managed &one, const Announce &what);
    void collectNotified();
    void say(const Managed &one, const Say &what);
    void sayAll(Severity severity, const std::string &text);
    void speak();
    // By the names of their journals
    [[nodiscard]] std::map<std::string, nlohmann::json> switchPairs(const Request &request,
                                                                    bool mayLook);
    [[nodiscard]] std::optional<std::string> answer(const ControlServer::Question &question);
    void save(const Managed &one, bool ending);

    Options options_;
    RunFolder folder_;
    io::EventLoop events_;
    Kernel kernel_;
    netlink::Monitor monitor_;
    Announcer announcer_;
    Prober prober_;
    std::vector<io::EventSource> proberSources_;
    std::vector<io::EventSource> sources_; // those that stay
    io::EventSource timer_;
    std::unique_ptr<ControlServer> control_;
    Notifier notifier_;
    Ports ports_;
    std::list<Managed> pairs_;
    // What is to be said once everything has been done, and of which pair: nothing waits
    // for those who listen.
    std::vector<std::tuple<Names, Say, std::chrono::system_clock::time_point>> said_;
    Time at_{}; // when the kernel spoke last
    bool linksChanged_ = false;
    std::optional<Time> lookAt_; // for changes that can wait a moment
    Time refreshAt_{};
    Time lookTook_{};
};

} // namespace openipoib::ha
