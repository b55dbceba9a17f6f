// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/loop.hpp"

#include <sys/epoll.h>
#include <systemd/sd-daemon.h>

#include <csignal>

namespace openipoib::fabric
{

namespace
{

Time now()
{
    return std::chrono::steady_clock::now();
}

constexpr std::uint64_t mendMicroseconds = 500'000; // between two looks for lost devices

// sd_event's clock is steady_clock's.
std::uint64_t toMicroseconds(Time time)
{
    if (time == Time::max())
        return UINT64_MAX;
    return static_cast<std::uint64_t>(
        std::chrono::ceil<std::chrono::microseconds>(time.time_since_epoch()).count());
}

} // namespace

Loop::Loop(Fabric &fabric)
    : fabric_(fabric), control_(fabric),
      recorder_([offset = std::chrono::system_clock::now().time_since_epoch() -
                          now().time_since_epoch()](Time time) -> std::chrono::nanoseconds {
          return time.time_since_epoch() + offset;
      })
{
}

Loop::~Loop()
{
    fabric_.setEar(nullptr);
}

io::Result<std::unique_ptr<Loop>> Loop::open(Fabric &fabric)
{
    std::unique_ptr<Loop> loop(new Loop(fabric));
    sd_event *event = nullptr;
    if (const int error = sd_event_new(&event); error < 0)
        return io::fail(-error, "event loop");
    loop->event_.reset(event);
    std::signal(SIGPIPE, SIG_IGN); // a capture nobody reads any more
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGTERM, SIGINT}) {
        sigaddset(&signals, number);
        ::sigprocmask(SIG_BLOCK, &signals, nullptr);
        if (const int error = sd_event_add_signal(event, nullptr, number, nullptr, nullptr);
            error < 0)
            return io::fail(-error, "signals");
    }
    auto timer = loop->addTimer(onTimer), mendTimer = loop->addTimer(onMendTimer);
    if (!timer || !mendTimer)
        return std::unexpected(!timer ? timer.error() : mendTimer.error());
    loop->timer_ = std::move(*timer);
    loop->mendTimer_ = std::move(*mendTimer);
    return loop;
}

// One that is off.
io::Result<EventSource> Loop::addTimer(sd_event_time_handler_t handler)
{
    sd_event_source *timer = nullptr;
    if (const int error =
            sd_event_add_time(event_.get(), &timer, CLOCK_MONOTONIC, UINT64_MAX, 1, handler, this);
        error < 0)
        return io::fail(-error, "timer");
    sd_event_source_set_enabled(timer, SD_EVENT_OFF);
    return EventSource(timer);
}

io::Result<void> Loop::add(PortRef port, std::unique_ptr<FdCable> cable)
{
    const auto number = fabric_.attach(port, *cable);
    if (!number)
        return std::unexpected(number.error());
    Line &line = lines_.emplace_back(Line{this, std::move(cable), *number, nullptr});
    sd_event_source *source = nullptr;
    if (const int error =
            sd_event_add_io(event_.get(), &source, line.cable->fd(), EPOLLIN, onLine, &line);
        error < 0)
        return io::fail(-error, "event source");
    line.source.reset(source);
    return {};
}

io::Result<void> Loop::listen(const std::string &path)
{
    auto socket = ControlSocket::open(event_.get(), path,
                                      [this](std::string_view request) { return answer(request); });
    if (!socket)
        return std::unexpected(socket.error());
    socket_ = std::move(*socket);
    return {};
}

ControlSocket::Answer Loop::answer(std::string_view request)
{
    ControlSocket::Answer answer{.text = control_.answer(request, now())};
    const auto capture = control_.takeCapture();
    if (capture && recorder_.isFull())
        answer.text = R"({"error":"there are as many captures as there may be"})";
    else if (capture)
        answer.successor = [this, wanted = *capture](io::UniqueFd fd) {
            recorder_.addStream(std::move(fd), wanted.at, wanted.count);
            recorder_.flush();
            fabric_.setEar(&recorder_);
        };
    arm();
    return answer;
}

io::Result<void> Loop::record(const std::string &path, std::uint64_t mostBytes)
{
    auto opened = recorder_.openFile(path, mostBytes);
    if (opened)
        fabric_.setEar(&recorder_);
    return opened;
}

io::Result<void> Loop::run()
{
    fabric_.start(now());
    arm();
    sd_notify(0, "READY=1");
    if (const int error = sd_event_loop(event_.get()); error < 0)
        return io::fail(-error, "event loop");
    return {};
}

int Loop::onLine(sd_event_source * /*source*/, int /*fd*/, std::uint32_t events, void *data)
{
    Line &line = *static_cast<Line *>(data);
    Fabric &fabric = line.loop->fabric_;
    if ((events & EPOLLOUT) != 0) {
        line.cable->flush();
        fabric.onReady(line.number, now());
    }
    if ((events & ~std::uint32_t{EPOLLOUT}) != 0) { // errors are read, too
        const Time time = now();
        line.cable->receive([&](const io::MacAddress &source, io::View frame) {
            fabric.onFrame(line.number, source, frame, time);
        });
        fabric.onBatchEnd(line.number, time);
    }
    line.loop->arm();
    return 0;
}

int Loop::onTimer(sd_event_source * /*source*/, std::uint64_t /*usec*/, void *data)
{
    Loop &loop = *static_cast<Loop *>(data);
    loop.fabric_.onTime(now());
    loop.arm();
    return 0;
}

int Loop::onMendTimer(sd_event_source * /*source*/, std::uint64_t /*usec*/, void *data)
{
    Loop &loop = *static_cast<Loop *>(data);
    for (Line &line : loop.lines_)
        if (line.cable->mend())
            sd_event_source_set_io_fd(line.source.get(), line.cable->fd());
    loop.arm();
    return 0;
}

void Loop::arm()
{
    recorder_.flush();
    if (!recorder_.isRecording())
        fabric_.setEar(nullptr);
    bool anyIsDown = false;
    for (Line &line : lines_) {
        sd_event_source_set_io_events(line.source.get(),
                                      EPOLLIN | (line.cable->isReady() ? 0U : EPOLLOUT));
        sd_event_source_set_enabled(line.source.get(),
                                    line.cable->isLost() ? SD_EVENT_OFF : SD_EVENT_ON);
        anyIsDown = anyIsDown || line.cable->isDown();
    }
    sd_event_source_set_time(timer_.get(), toMicroseconds(fabric_.deadline()));
    sd_event_source_set_enabled(timer_.get(), SD_EVENT_ONESHOT);
    int isMending = SD_EVENT_OFF;
    sd_event_source_get_enabled(mendTimer_.get(), &isMending);
    if (anyIsDown && isMending == SD_EVENT_OFF) {
        sd_event_source_set_time_relative(mendTimer_.get(), mendMicroseconds);
        sd_event_source_set_enabled(mendTimer_.get(), SD_EVENT_ONESHOT);
    }
}

} // namespace openipoib::fabric
