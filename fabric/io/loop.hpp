// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The event loop of a fabric: its cables, its clock and the signals that end it.
#pragma once

#include "core/fabric.hpp"
#include "io/error.hpp"
#include "io/socket_cable.hpp"

#include <systemd/sd-event.h>

#include <deque>
#include <memory>

namespace openipoib::fabric
{

class Loop
{
  public:
    // SIGTERM and SIGINT are blocked from here on; they end run().
    [[nodiscard]] static io::Result<std::unique_ptr<Loop>> open(Fabric &fabric);
    Loop(const Loop &) = delete;
    Loop &operator=(const Loop &) = delete;
    Loop(Loop &&) = delete;
    Loop &operator=(Loop &&) = delete;
    ~Loop() = default;

    // Attach a cable to a port; before run(). Errors: those of Fabric::attach().
    [[nodiscard]] io::Result<void> add(PortRef port, std::unique_ptr<SocketCable> cable);
    // Tells systemd, or whoever else has set NOTIFY_SOCKET, when it is ready.
    [[nodiscard]] io::Result<void> run();

  private:
    struct Unref {
        void operator()(sd_event *event) const { sd_event_unref(event); }
        void operator()(sd_event_source *source) const { sd_event_source_unref(source); }
    };
    using Source = std::unique_ptr<sd_event_source, Unref>;
    struct Line {
        Loop *loop;
        std::unique_ptr<SocketCable> cable;
        std::size_t number;
        Source source;
    };

    explicit Loop(Fabric &fabric) : fabric_(fabric) {}
    static int onLine(sd_event_source *source, int fd, std::uint32_t events, void *line);
    static int onTimer(sd_event_source *source, std::uint64_t usec, void *loop);
    // After anything has happened: when to wake up, and for what.
    void arm();

    Fabric &fabric_;
    std::unique_ptr<sd_event, Unref> event_;
    Source timer_;
    std::deque<Line> lines_;
};

} // namespace openipoib::fabric
