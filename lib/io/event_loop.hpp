// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A loop of events on sd-event: descriptors, timers and signals, in one thread. What is registered
// is owned by whoever has registered it, and calls nobody once that owner is gone.
#pragma once

#include "io/error.hpp"

#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

namespace openipoib::io
{

// One source of events. A handler may destroy the source that calls it.
class EventSource
{
  public:
    // @events: EPOLLIN and so on; of a timer: none
    using Handler = std::function<void(std::uint32_t events)>;
    using Time = std::chrono::steady_clock::time_point;

    EventSource() = default;

    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(source_); }
    // Of a descriptor: what it is watched for
    void setEvents(std::uint32_t events);
    // Of a descriptor: another one in its place
    void setFd(int fd);
    // Of a descriptor: whether it is watched
    void enable(bool on);
    // Of a timer: call once at @time, rounded up to microseconds, and not at another time
    void setTime(Time time);
    // Of a timer: not any more
    void stop();
    // Of a timer: whether it will call
    [[nodiscard]] bool isSet() const;
    // Before all others that are ready
    void hurry();

  private:
    friend class EventLoop;

    struct Disable {
        void operator()(sd_event_source *source) const { sd_event_source_disable_unref(source); }
    };
    struct Callback;
    // Of a handler
    struct Failure {
        std::exception_ptr thrown;
    };

    std::shared_ptr<Callback> callback_; // outlives a call
    std::unique_ptr<sd_event_source, Disable> source_;
};

class EventLoop
{
  public:
    using Handler = std::function<void()>;

    // Errors: those of sd_event_new().
    [[nodiscard]] static Result<EventLoop> open();

    // Call @handler whenever @fd is ready for any of @events (EPOLLIN, EPOLLOUT) or has failed.
    // Close @fd only after the source is gone. Errors: EPERM for what cannot be polled, ENOMEM.
    [[nodiscard]] Result<EventSource> watch(int fd, std::uint32_t events,
                                            EventSource::Handler handler);
    // A timer that is not set yet.
    [[nodiscard]] Result<EventSource> timer(Handler handler);
    // Block the signal in this thread and those that it starts, and call @handler when it comes.
    [[nodiscard]] Result<EventSource> signal(int number, Handler handler);
    // Call @handler after others were called. It takes its turn among those that are ready.
    [[nodiscard]] Result<EventSource> afterwards(Handler handler);
    // Tell systemd's watchdog, if there is one, that the loop goes round. Errors: those of
    // sd_event_set_watchdog().
    [[nodiscard]] Result<void> feedWatchdog();

    // Until end(). Errors: those of sd_event_loop(). What a handler throws is thrown by this.
    [[nodiscard]] Result<void> run();
    // Call the handlers of what is ready within @patience. False: nothing was.
    bool turn(std::chrono::microseconds patience);
    void end();

  private:
    struct Unref {
        void operator()(sd_event *event) const { sd_event_unref(event); }
    };
    explicit EventLoop(sd_event *event)
        : event_(event), failure_(std::make_shared<EventSource::Failure>())
    {
    }

    [[nodiscard]] EventSource owned(sd_event_source *source, EventSource::Handler handler);
    void rethrow();

    std::unique_ptr<sd_event, Unref> event_;
    std::shared_ptr<EventSource::Failure> failure_;
};

} // namespace openipoib::io
