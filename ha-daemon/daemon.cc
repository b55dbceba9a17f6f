// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/daemon.hpp"

#include "ha-daemon/document.hpp"
#include "ha-daemon/linux/pieces.hpp"
#include "ha-daemon/linux/priority.hpp"
#include "ha-daemon/linux/reporter.hpp"
#include "ha-daemon/report.hpp"

#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstring>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

// For more changes before everything is read again. Reading keeps a processor busy, just
// when the peers wait for answers.
constexpr Time patience = 20ms;
constexpr Time refreshEvery = 10s;
constexpr unsigned readings = 5; // until links stop changing meanwhile

// RTM_DELLINK as well
std::optional<netlink::Link> linkOf(const nlmsghdr *message)
{
    const auto *start = reinterpret_cast<const std::uint8_t *>(message);
    io::Bytes copy(start, start + message->nlmsg_len);
    nlmsghdr header = *message;
    header.nlmsg_type = RTM_NEWLINK;
    std::memcpy(copy.data(), &header, sizeof header);
    return netlink::parseLink(reinterpret_cast<const nlmsghdr *>(copy.data()));
}

} // namespace

Daemon::Daemon(Options options, RunFolder folder, io::EventLoop events, Kernel kernel,
               netlink::Monitor monitor, Announcer announcer, Prober prober)
    : options_(std::move(options)), folder_(std::move(folder)), events_(std::move(events)),
      kernel_(std::move(kernel)), monitor_(std::move(monitor)), announcer_(std::move(announcer)),
      prober_(std::move(prober)), notifier_(events_), ports_(events_, [this] {
          at_ = now();
          for (auto &one : pairs_)
              notePorts(one);
      })
{
}

io::Result<std::unique_ptr<Daemon>> Daemon::open(const Options &options)
{
    auto folder = RunFolder::take(options.runFolder);
    if (!folder)
        return std::unexpected(folder.error());
    auto events = io::EventLoop::open();
    if (!events)
        return std::unexpected(events.error());
    // Before anything is read: nothing is missed in between.
    auto monitor = netlink::Monitor::open();
    if (!monitor)
        return std::unexpected(monitor.error());
    auto kernel = Kernel::open();
    if (!kernel)
        return std::unexpected(kernel.error());
    auto announcer = Announcer::open();
    if (!announcer)
        return std::unexpected(announcer.error());
    auto prober = Prober::open(options.configuration.targetAddresses());
    if (!prober)
        return std::unexpected(prober.error());
    std::unique_ptr<Daemon> daemon(new Daemon(options, std::move(*folder), std::move(*events),
                                              std::move(*kernel), std::move(*monitor),
                                              std::move(*announcer), std::move(*prober)));
    if (const auto attached = daemon->attach(); !attached)
        return std::unexpected(attached.error());
    for (const auto &pair : options.configuration.pairs)
        if (const auto added = daemon->add(pair); !added)
            return std::unexpected(added.error());
    return daemon;
}

io::Result<io::EventSource> Daemon::watch(int fd, std::function<void()> handler)
{
    return events_.watch(fd, EPOLLIN, [this, handler = std::move(handler)](std::uint32_t) {
        at_ = now();
        handler();
    });
}

// Signals first: threads inherit that they are blocked.
io::Result<void> Daemon::attach()
{
    const auto end = [this] { events_.end(); };
    auto timer = events_.timer([] {});
    if (!timer)
        return std::unexpected(timer.error());
    timer_ = std::move(*timer);
    io::Result<io::EventSource> sources[] = {
        events_.signal(SIGTERM, end),
        events_.signal(SIGINT, end),
        events_.signal(SIGHUP, [this] { onHangup(); }),
        watch(monitor_.fd(), [this] { readMonitor(); }),
        events_.afterwards([this] { settle(); }),
    };
    for (auto &source : sources) {
        if (!source)
            return std::unexpected(source.error());
        sources_.push_back(std::move(*source));
    }
    const auto attached = attachProber();
    return attached ? listen() : attached;
}

io::Result<void> Daemon::attachProber()
{
    proberSources_.clear();
    for (const int fd : prober_.fds()) {
        auto source = watch(fd, [this] { hearTargets(); });
        if (!source)
            return std::unexpected(source.error());
        proberSources_.push_back(std::move(*source));
    }
    return {};
}

// Errors: those of startSessions(); it is there all the same.
io::Result<void> Daemon::add(const PairConfiguration &wanted)
{
    const Policy policy = options_.configuration.policyFor(wanted);
    Managed &one = pairs_.emplace_back(Managed{.names = wanted.names,
                                               .roster = Roster(wanted.order, policy, std::nullopt),
                                               .targets = Targets(wanted.targets),
                                               .memberships = {},
                                               .greeter = {}});
    const auto text = folder_.read(one.file());
    auto journal = text ? readJournal(*text) : std::unexpected(text.error());
    if (journal)
        one.roster = Roster(wanted.order, policy, std::move(*journal));
    else if (text)
        say(one, {Severity::warning, one.file() + ": " + journal.error().text()});
    return startSessions(one, wanted.sessions);
}

// The identity stays where it is.
void Daemon::dismiss(Managed &one)
{
    (void)kernel_.execute(one.roster.farewell(), one.roster.others(), now());
    save(one, true);
}

// The identity does not notice.
void Daemon::change(Managed &one, const PairConfiguration &wanted)
{
    one.roster.configure(options_.configuration.policyFor(wanted));
    if (one.targets.policy() != wanted.targets)
        one.targets.configure(wanted.targets);
    if (const auto started = startSessions(one, wanted.sessions); !started)
        say(one, {Severity::warning, "probing as before: " + started.error().text()});
    if (!options_.configuration.multicast)
        one.memberships.clear();
    one.look = true;
}

void Daemon::reload()
{
    auto wanted = options_.reread();
    auto prober = wanted ? Prober::open(wanted->targetAddresses())
                         : io::Result<Prober>(std::unexpected(wanted.error()));
    if (!prober) {
        sayAll(Severity::warning, "going on as before: " + prober.error().text());
        return;
    }
    options_.configuration = std::move(*wanted);
    proberSources_.clear();
    prober_ = std::move(*prober);
    if (const auto attached = attachProber(); !attached)
        sayAll(Severity::warning, "targets are not heard: " + attached.error().text());
    const auto &pairs = options_.configuration.pairs;
    const auto isWanted = [&](const Managed &one) {
        return std::ranges::find(pairs, one.names, &PairConfiguration::names) != pairs.end();
    };
    for (auto &one : pairs_)
        if (!isWanted(one)) {
            say(one, {Severity::notice, "no longer in the configuration"});
            dismiss(one);
        }
    std::erase_if(pairs_, [&](const Managed &one) { return !isWanted(one); });
    for (const auto &pair : pairs) {
        const auto known = std::ranges::find(pairs_, pair.names, &Managed::names);
        if (known != pairs_.end())
            change(*known, pair);
        else if (const auto added = add(pair); !added)
            say(pairs_.back(), {Severity::warning, added.error().text()});
    }
    sayAll(Severity::info, "the configuration has been read again");
}

void Daemon::onHangup()
{
    if (!options_.reread)
        return events_.end();
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", static_cast<long long>(now().count()));
    reload();
    sd_notify(0, "READY=1");
}

Time Daemon::now() const
{
    return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

// When something has to be done, whatever happens; nullopt: nothing
std::optional<Time> Daemon::wake() const
{
    std::optional<Time> first;
    const auto consider = [&](const std::optional<Time> &wake) {
        if (wake)
            first = std::min(first.value_or(Time::max()), *wake);
    };
    for (const auto &one : pairs_) {
        consider(one.roster.wake());
        consider(one.targets.next());
        if (one.look)
            consider(Time{});
    }
    consider(lookAt_);
    consider(control_->wake());
    consider(notifier_.wake());
    return first;
}

void Daemon::begin()
{
    // libibverbs loads its providers, and everything is read for the first time.
    const Leisure leisure;
    ports_.refresh();
    refreshAt_ = now() + refreshEvery;
    at_ = now();
    lookWhereAsked();
}

io::Result<void> Daemon::run()
{
    begin();
    if (const auto fed = events_.feedWatchdog(); !fed)
        return fed;
    sd_notify(0, "READY=1");
    settle();
    if (const auto done = events_.run(); !done)
        return done;
    sd_notify(0, "STOPPING=1");
    for (auto &one : pairs_)
        dismiss(one);
    speak();
    return {};
}

void Daemon::settle()
{
    at_ = now();
    // Perhaps nobody has been called for it yet: what a link is like matters before all else.
    readMonitor();
    for (auto &one : pairs_)
        notePorts(one);
    tellSessions();
    control_->expire();
    tick();
    lookWhereAsked();
    collectNotified();
    tellSessions();
    // Words can wait as long as that.
    if (!lookAt_)
        speak();
    if (const auto next = wake())
        timer_.setTime(io::EventSource::Time(*next));
    else
        timer_.stop();
}

void Daemon::collectNotified()
{
    for (const auto &failure : notifier_.collect(now()))
        for (const auto &one : pairs_)
            if (one.names == failure.names)
                say(one, {Severity::warning, failure.words});
    for (auto &one : pairs_)
        if (one.telling && !notifier_.isBusy(one.names)) {
            one.telling = false;
            deliver(one, Notified{});
        }
}

void Daemon::readMonitor()
{
    const auto lost = monitor_.receive([this](const nlmsghdr *message) {
        if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) {
            if (!lookAt_)
                lookAt_ = now() + std::max(patience, 10 * lookTook_);
            return;
        }
        if (const auto link = linkOf(message))
            onLink(*link, message->nlmsg_type == RTM_DELLINK);
    });
    // An error of the monitor itself counts as a loss, too.
    if (!lost || *lost) {
        for (auto &one : pairs_)
            one.look = one.lost = true;
    }
}

void Daemon::onLink(const netlink::Link &link, bool gone)
{
    for (auto &one : pairs_)
        for (const auto &name : one.roster.names()) {
            const netlink::Link *known = kernel_.link(link.index);
            const bool renamed = known && known->name == name && link.name != known->name;
            if (link.name != name && !renamed) {
                // A child, perhaps
                if (link.parent && !lookAt_)
                    lookAt_ = now() + patience;
                continue;
            }
            linksChanged_ = true;
            const bool there = !gone && !renamed;
            perform(one, one.roster.noteLink(name, there ? link.index : 0, link.isUp(),
                                             link.isRunning(), at_, std::max(at_, now())));
        }
}

void Daemon::notePorts(Managed &one)
{
    if (!one.roster.pair().started())
        return;
    for (std::size_t place = 0; place < one.roster.names().size(); ++place)
        perform(one, one.roster.notePort(one.roster.names()[place],
                                         ports_.whyBad(one.roster.interface(place).hardware), at_,
                                         std::max(at_, now())));
    for (const Side side : {Side::primary, Side::secondary}) {
        const Met met = one.sessions ? metBy(one.sessions->report(), side) : one.targets.met(side);
        deliver(one, ReachChanged{side, whyUnreached(one, side), met});
    }
}

void Daemon::tick()
{
    for (auto &one : pairs_) {
        if (const auto wake = one.roster.wake(); wake && now() >= *wake)
            deliver(one, Tick{});
        if (const auto next = one.targets.next(); next && now() >= *next)
            askTargets(one);
    }
    if (!lookAt_ || now() < *lookAt_)
        return;
    lookAt_.reset();
    for (auto &one : pairs_)
        one.look = true;
}

void Daemon::askTargets(Managed &one)
{
    one.targets.asked(now());
    if (!one.roster.pair().started())
        return;
    for (const auto &interface : one.roster.pair().lanes().at(0).view.side.values) {
        const netlink::Link *link = kernel_.link(interface.index);
        for (const auto &target : one.targets.policy().addresses) {
            // Where it cannot be sent, nothing is heard.
            if (link)
                (void)prober_.ask(announcer_, *link, target);
        }
    }
    notePorts(one);
}

void Daemon::hearTargets()
{
    prober_.receive([this](int interface, io::View from) {
        for (auto &one : pairs_)
            one.targets.heard(interface, from);
    });
}

void Daemon::lookWhereAsked()
{
    for (unsigned round = 0; round < readings; ++round) {
        bool any = false;
        for (auto &one : pairs_) {
            if (!one.look)
                continue;
            any = true;
            one.look = false;
            look(one);
        }
        if (!any)
            return;
    }
}

// A reading counts only if no link has changed while it was made: what went with
// a link that was down for a moment has not been removed by anybody.
void Daemon::look(Managed &one)
{
    const Leisure leisure;
    const Time begin = now();
    if (begin >= refreshAt_ || !one.roster.pair().started() || linksChanged_) {
        ports_.refresh();
        refreshAt_ = begin + refreshEvery;
    }
    for (unsigned reading = 0; reading < readings; ++reading) {
        linksChanged_ = false;
        const auto rows = kernel_.see(one.roster.names(), now());
        if (!rows) {
            say(one, {Severity::warning, rows.error().text()});
            lookAt_ = now() + 1s;
            return;
        }
        readMonitor();
        if (linksChanged_ && reading + 1 < readings)
            continue;
        at_ = now();
        perform(one,
                one.roster.see(*rows, std::exchange(one.lost, false), at_, std::max(at_, now())));
        break;
    }
    const auto &seen = one.roster.pair().lanes().at(0).view.side;
    one.targets.watch({{seen[Side::primary].index, seen[Side::secondary].index}});
    notePorts(one);
    if (options_.configuration.multicast)
        mirror(one);
    lookTook_ = now() - begin;
    greet(one);
}

void Daemon::mirror(Managed &one)
{
    const auto joined = readJoined();
    if (!joined) {
        say(one, {Severity::warning, joined.error().text() + "; groups stay joined as they are"});
        return;
    }
    std::map<std::uint16_t, Both<int>> indexes; // of a child that is gone: none
    for (const auto &[child, unused] : one.memberships)
        indexes[child] = {};
    for (const auto &[child, lane] : one.roster.pair().lanes())
        for (const Side side : {Side::primary, Side::secondary})
            indexes[child][side] = lane.view.side[side].index;
    for (const auto &[child, both] : indexes)
        one.memberships[child].mirror(*joined, both[Side::primary], both[Side::secondary]);
}

void Daemon::greet(Managed &one)
{
    for (const auto &[index, item] : one.greeter.due(one.roster.pair(), now())) {
        const netlink::Link *standby = kernel_.link(index);
        const auto peer = peerOf(item);
        if (!standby || !peer || peer->address.size() != sizeof(in_addr))
            continue;
        if (const auto done = announcer_.probe(*standby, peer->address, peer->hardware); !done)
            say(one, {Severity::debug, done.error().text()});
    }
}

void Daemon::deliver(Managed &one, const Event &event)
{
    perform(one, one.roster.handle(event, at_, std::max(at_, now())));
}

void Daemon::perform(Managed &one, const Actions &actions)
{
    for (const auto &action : actions)
        perform(one, action);
}

void Daemon::perform(Managed &one, const Action &action)
{
    if (std::holds_alternative<Save>(action))
        save(one, false);
    else if (const auto *batch = std::get_if<Batch>(&action)) {
        std::optional<Leisure> leisure;
        if (!batch->urgent)
            leisure.emplace();
        deliver(one, BatchDone{kernel_.execute(batch->steps, one.roster.others(), now())});
    } else if (const auto *what = std::get_if<Announce>(&action))
        announce(one, *what);
    else if (std::holds_alternative<Look>(action))
        lookAt_ = std::min(lookAt_.value_or(Time::max()), now() + patience);
    else if (const auto *moved = std::get_if<Notify>(&action)) {
        // Who is told is known in collectNotified().
        one.telling = true;
        if (const std::string &program = options_.configuration.notify; !program.empty())
            notifier_.notify(program, one.names, *moved);
    } else
        say(one, std::get<Say>(action));
}

void Daemon::announce(Managed &one, const Announce &what)
{
    for (const auto &to : what.to) {
        const netlink::Link *link = kernel_.link(to.index);
        for (const auto &item : to.addresses) {
            if (!link)
                continue;
            const auto done = announcer_.announce(*link, addressBytes(item), to.router);
            if (!done)
                say(one, {Severity::debug, done.error().text()});
        }
    }
    deliver(one, Announced{});
}

void Daemon::say(const Managed &one, const Say &what)
{
    if (what.severity == Severity::debug && !options_.verbose)
        return;
    said_.emplace_back(one.names, what, std::chrono::system_clock::now());
}

void Daemon::sayAll(Severity severity, const std::string &text)
{
    for (const auto &one : pairs_)
        say(one, {severity, text});
}

void Daemon::speak()
{
    for (const auto &[names, what, at] : std::exchange(said_, {})) {
        report(names, what);
        control_->tell(lineOf(reportDocument(names, what, at)));
    }
}

void Daemon::save(const Managed &one, bool ending)
{
    if (const auto done = folder_.write(one.file(), writeJournal(one.roster.journal(ending)));
        !done)
        say(one, {Severity::warning, done.error().text()});
}

} // namespace openipoib::ha
