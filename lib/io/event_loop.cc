// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/event_loop.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

namespace openipoib::io
{

struct EventSource::Callback : std::enable_shared_from_this<Callback> {
    Callback(Handler function, std::shared_ptr<Failure> failed)
        : handler(std::move(function)), failure(std::move(failed))
    {
    }

    // What sd-event calls. The source may be gone when its handler returns. Nothing is thrown
    // through sd-event, which is C: an error ends the loop instead.
    static int call(void *callback, std::uint32_t events)
    {
        const auto kept = static_cast<Callback *>(callback)->shared_from_this();
        try {
            kept->handler(events);
        } catch (...) {
            kept->failure->thrown = std::current_exception();
            return -ECANCELED;
        }
        return 0;
    }
    static int onFd(sd_event_source * /*source*/, int /*fd*/, std::uint32_t events, void *callback)
    {
        return call(callback, events);
    }
    static int onTime(sd_event_source * /*source*/, std::uint64_t /*microseconds*/, void *callback)
    {
        return call(callback, 0);
    }
    static int onSignal(sd_event_source * /*source*/, const signalfd_siginfo * /*info*/,
                        void *callback)
    {
        return call(callback, 0);
    }
    static int onPost(sd_event_source * /*source*/, void *callback) { return call(callback, 0); }

    Handler handler;
    std::shared_ptr<Failure> failure;
};

namespace
{

// Of the handlers that are called after others
constexpr std::int64_t early = SD_EVENT_PRIORITY_NORMAL - 1;

// sd-event's clock is steady_clock's.
std::uint64_t toMicroseconds(EventSource::Time time)
{
    if (time == EventSource::Time::max())
        return UINT64_MAX;
    return static_cast<std::uint64_t>(
        std::chrono::ceil<std::chrono::microseconds>(time.time_since_epoch()).count());
}

} // namespace

void EventSource::setEvents(std::uint32_t events)
{
    sd_event_source_set_io_events(source_.get(), events);
}

void EventSource::setFd(int fd)
{
    sd_event_source_set_io_fd(source_.get(), fd);
}

void EventSource::enable(bool on)
{
    sd_event_source_set_enabled(source_.get(), on ? SD_EVENT_ON : SD_EVENT_OFF);
}

void EventSource::setTime(Time time)
{
    std::uint64_t before = 0;
    sd_event_source_get_time(source_.get(), &before);
    // One that waits for its turn would have to wait for longer if its time were set again.
    if (isSet() && before == toMicroseconds(time))
        return;
    sd_event_source_set_time(source_.get(), toMicroseconds(time));
    sd_event_source_set_enabled(source_.get(), SD_EVENT_ONESHOT);
}

void EventSource::stop()
{
    sd_event_source_set_enabled(source_.get(), SD_EVENT_OFF);
}

bool EventSource::isSet() const
{
    int enabled = SD_EVENT_OFF;
    sd_event_source_get_enabled(source_.get(), &enabled);
    return enabled != SD_EVENT_OFF;
}

void EventSource::hurry()
{
    sd_event_source_set_priority(source_.get(), early);
}

Result<EventLoop> EventLoop::open()
{
    sd_event *event = nullptr;
    if (const int error = sd_event_new(&event); error < 0)
        return fail(-error, "event loop");
    return EventLoop(event);
}

EventSource EventLoop::owned(sd_event_source *source, EventSource::Handler handler)
{
    EventSource out;
    out.callback_ = std::make_shared<EventSource::Callback>(std::move(handler), failure_);
    out.source_.reset(source);
    sd_event_source_set_userdata(source, out.callback_.get());
    sd_event_source_set_exit_on_failure(source, 1);
    return out;
}

Result<EventSource> EventLoop::watch(int fd, std::uint32_t events, EventSource::Handler handler)
{
    sd_event_source *source = nullptr;
    if (const int error = sd_event_add_io(event_.get(), &source, fd, events,
                                          EventSource::Callback::onFd, nullptr);
        error < 0)
        return fail(-error, "event source");
    return owned(source, std::move(handler));
}

Result<EventSource> EventLoop::timer(Handler handler)
{
    sd_event_source *source = nullptr;
    if (const int error = sd_event_add_time(event_.get(), &source, CLOCK_MONOTONIC, UINT64_MAX, 1,
                                            EventSource::Callback::onTime, nullptr);
        error < 0)
        return fail(-error, "timer");
    auto out = owned(source, [handler = std::move(handler)](std::uint32_t) { handler(); });
    out.stop();
    return out;
}

Result<EventSource> EventLoop::signal(int number, Handler handler)
{
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, number);
    if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr))
        return fail(error, "signals");
    sd_event_source *source = nullptr;
    if (const int error = sd_event_add_signal(event_.get(), &source, number,
                                              EventSource::Callback::onSignal, nullptr);
        error < 0)
        return fail(-error, "signals");
    return owned(source, [handler = std::move(handler)](std::uint32_t) { handler(); });
}

Result<EventSource> EventLoop::afterwards(Handler handler)
{
    sd_event_source *source = nullptr;
    if (const int error =
            sd_event_add_post(event_.get(), &source, EventSource::Callback::onPost, nullptr);
        error < 0)
        return fail(-error, "event source");
    return owned(source, [handler = std::move(handler)](std::uint32_t) { handler(); });
}

Result<void> EventLoop::feedWatchdog()
{
    if (const int error = sd_event_set_watchdog(event_.get(), 1); error < 0)
        return fail(-error, "watchdog");
    return {};
}

void EventLoop::rethrow()
{
    if (failure_->thrown)
        std::rethrow_exception(std::exchange(failure_->thrown, nullptr));
}

Result<void> EventLoop::run()
{
    const int error = sd_event_loop(event_.get());
    rethrow();
    if (error < 0)
        return fail(-error, "event loop");
    return {};
}

bool EventLoop::turn(std::chrono::microseconds patience)
{
    const int events = sd_event_run(event_.get(), static_cast<std::uint64_t>(patience.count()));
    rethrow();
    return events > 0;
}

void EventLoop::end()
{
    sd_event_exit(event_.get(), 0);
}

} // namespace openipoib::io
