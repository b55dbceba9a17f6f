// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/session_runner.hpp"

#include "ha-daemon/linux/bfd_socket.hpp"

#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr Time reportEvery = 1s;              // what is no news
constexpr std::size_t stackBytes = 256 << 10; // it is locked, all of it

std::uint32_t random()
{
    std::uint32_t value = 0;
    while (::getrandom(&value, sizeof value, 0) != sizeof value) {
    }
    return value;
}

Time now()
{
    return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

// Before all else of this daemon, where it may: what is late by a few packets is a fault to
// others. What it does takes microseconds.
void hurryMore()
{
    sched_param priority{};
    priority.sched_priority = ::sched_get_priority_min(SCHED_RR) + 1;
    (void)::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &priority);
}

// What the thread does
class Loop
{
  public:
    Loop(SessionPolicy policy, io::UniqueFd end)
        : policy_(std::move(policy)), end_(std::move(end)), sessions_(policy_, random)
    {
    }

    void run()
    {
        hurryMore();
        while (wait() && obey()) {
            const Time at = now();
            for (const Side side : {Side::primary, Side::secondary})
                hear(side, at);
            sessions_.advance(at, [this](const Sessions::One &one, const BfdPacket &packet) {
                send(one, packet);
            });
            report(at);
        }
        sessions_.farewell(
            [this](const Sessions::One &one, const BfdPacket &packet) { send(one, packet); });
    }

  private:
    bool wait();
    bool obey();
    void open(Side side, int interface);
    void hear(Side side, Time at);
    void send(const Sessions::One &one, const BfdPacket &packet);
    void report(Time at);

    SessionPolicy policy_;
    io::UniqueFd end_;
    Sessions sessions_;
    Both<std::optional<BfdSocket>> sockets_;
    Both<int> errors_;
    SessionRunner::Command command_;
    SessionsReport reported_;
    Time reportAt_{};
};

// False: it cannot go on.
bool Loop::wait()
{
    std::array<pollfd, 3> polled{{{end_.get(), POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
    for (const Side side : {Side::primary, Side::secondary})
        if (sockets_[side])
            polled[1 + static_cast<std::size_t>(side)].fd = sockets_[side]->fd();
    const Time until = std::min(reportAt_, sessions_.next().value_or(reportAt_));
    const auto left = std::chrono::nanoseconds(std::max(until - now(), Time{})).count();
    const timespec time{static_cast<time_t>(left / 1000000000),
                        static_cast<long>(left % 1000000000)};
    return ::ppoll(polled.data(), polled.size(), &time, nullptr) >= 0 || errno == EINTR;
}

// False: to end.
bool Loop::obey()
{
    SessionRunner::Command command;
    for (;;) {
        const ssize_t got = ::recv(end_.get(), &command, sizeof command, MSG_DONTWAIT);
        if (got < 0)
            return errno == EAGAIN || errno == EINTR;
        if (got != sizeof command)
            return false; // the other end is closed
        for (const Side side : {Side::primary, Side::secondary})
            if (command.interfaces[side] != command_.interfaces[side])
                open(side, command.interfaces[side]);
        command_ = command;
        sessions_.watch(command.interfaces, now());
        sessions_.setActive(command.active);
    }
}

void Loop::open(Side side, int interface)
{
    sockets_[side].reset();
    errors_[side] = 0;
    if (!interface)
        return;
    auto socket = BfdSocket::open(interface, policy_.peers);
    if (socket)
        sockets_[side] = std::move(*socket);
    else
        errors_[side] = socket.error().code;
}

void Loop::hear(Side side, Time at)
{
    if (sockets_[side])
        sockets_[side]->receive([&](io::View from, int hops, io::View payload) {
            sessions_.receive(side, from, hops, payload, at);
        });
}

void Loop::send(const Sessions::One &one, const BfdPacket &packet)
{
    if (!sockets_[one.side])
        return;
    const auto done = sockets_[one.side]->send(policy_.peers[one.peer], writeBfdPacket(packet));
    // A queue that is full is no state to speak of.
    errors_[one.side] =
        done || done.error().code == EAGAIN || done.error().code == ENOBUFS ? 0 : done.error().code;
}

void Loop::report(Time at)
{
    SessionsReport all = reportOf(sessions_);
    all.errors = errors_;
    const bool isDue = at >= reportAt_;
    if (!isDue && !isNews(reported_, all))
        return;
    for (const Side side : {Side::primary, Side::secondary})
        if (isDue && command_.interfaces[side] && !sockets_[side])
            open(side, command_.interfaces[side]);
    reportAt_ = at + reportEvery;
    // What does not fit now is news once more.
    if (::send(end_.get(), &all, sizeof all, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof all)
        reported_ = all;
}

void *runLoop(void *loop)
{
    const std::unique_ptr<Loop> own(static_cast<Loop *>(loop));
    own->run();
    return nullptr;
}

} // namespace

io::Result<std::unique_ptr<SessionRunner>> SessionRunner::start(const SessionPolicy &policy)
{
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) < 0)
        return io::systemFail("socket to the BFD sessions");
    std::unique_ptr<SessionRunner> runner(new SessionRunner(policy, io::UniqueFd(ends[0])));
    auto loop = std::make_unique<Loop>(policy, io::UniqueFd(ends[1]));
    // One heap for both threads: another one is 64 MiB of address space, which is locked.
    ::mallopt(M_ARENA_MAX, 1);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, stackBytes);
    const int error = ::pthread_create(&runner->thread_, &attributes, runLoop, loop.get());
    ::pthread_attr_destroy(&attributes);
    if (error)
        return io::fail(error, "thread for BFD sessions");
    (void)loop.release();
    runner->isRunning_ = true;
    return runner;
}

SessionRunner::~SessionRunner()
{
    end_.reset();
    if (isRunning_)
        ::pthread_join(thread_, nullptr);
}

bool SessionRunner::receive()
{
    SessionsReport report;
    ssize_t got = 0;
    while ((got = ::recv(end_.get(), &report, sizeof report, MSG_DONTWAIT)) == sizeof report)
        report_ = report;
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

void SessionRunner::tell(const Both<int> &interfaces, Side active)
{
    const Command command{interfaces, active};
    if (command == told_)
        return;
    if (::send(end_.get(), &command, sizeof command, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof command)
        told_ = command;
}

} // namespace openipoib::ha
