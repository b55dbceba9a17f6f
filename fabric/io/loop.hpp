// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The event loop of a fabric: its cables, its clock, its control socket and the
// signals that end it.
#pragma once

#include "control/control.hpp"
#include "core/fabric.hpp"
#include "io/control_socket.hpp"
#include "io/error.hpp"
#include "io/event_loop.hpp"
#include "io/fd_cable.hpp"
#include "io/recorder.hpp"

#include <deque>
#include <memory>
#include <vector>

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
    ~Loop();

    // Attach a cable to a port; before run(). Errors: those of Fabric::attach().
    [[nodiscard]] io::Result<void> add(PortRef port, std::unique_ptr<FdCable> cable);
    // Answer requests that come to a socket at a path; see control/control.hpp.
    [[nodiscard]] io::Result<void> listen(const std::string &path);
    // Write all packets down; see Recorder::openFile().
    [[nodiscard]] io::Result<void> record(const std::string &path, std::uint64_t mostBytes);
    // Tells systemd, or whoever else has set NOTIFY_SOCKET, when it is ready.
    [[nodiscard]] io::Result<void> run();

  private:
    struct Line {
        std::unique_ptr<FdCable> cable;
        std::size_t number;
        io::EventSource source;
    };

    Loop(Fabric &fabric, io::EventLoop events);
    [[nodiscard]] ControlSocket::Answer answer(std::string_view request);
    [[nodiscard]] io::Result<void> addTimers();
    void onLine(Line &line, std::uint32_t events);
    void mend();
    // After anything has happened: when to wake up, and for what.
    void arm();

    Fabric &fabric_;
    Control control_;
    Recorder recorder_;
    io::EventLoop events_;
    std::vector<io::EventSource> signals_;
    io::EventSource timer_;
    io::EventSource mendTimer_; // runs while devices of cables are down
    std::deque<Line> lines_;
    std::unique_ptr<ControlSocket> socket_;
};

} // namespace openipoib::fabric
