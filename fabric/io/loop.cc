// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/loop.hpp"

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

constexpr auto mendEvery = std::chrono::milliseconds(500); // between two looks for lost devices

} // namespace

Loop::Loop(Fabric &fabric, io::EventLoop events)
    : fabric_(fabric), control_(fabric),
      recorder_([offset = std::chrono::system_clock::now().time_since_epoch() -
                          now().time_since_epoch()](Time time) -> std::chrono::nanoseconds {
          return time.time_since_epoch() + offset;
      }),
      events_(std::move(events))
{
}

Loop::~Loop()
{
    fabric_.setEar(nullptr);
}

io::Result<std::unique_ptr<Loop>> Loop::open(Fabric &fabric)
{
    auto events = io::EventLoop::open();
    if (!events)
        return std::unexpected(events.error());
    std::unique_ptr<Loop> loop(new Loop(fabric, std::move(*events)));
    std::signal(SIGPIPE, SIG_IGN); // a capture nobody reads any more
    for (const int number : {SIGTERM, SIGINT}) {
        auto source = loop->events_.signal(number, [loop = loop.get()] { loop->events_.end(); });
        if (!source)
            return std::unexpected(source.error());
        loop->signals_.push_back(std::move(*source));
    }
    if (const auto added = loop->addTimers(); !added)
        return std::unexpected(added.error());
    return loop;
}

io::Result<void> Loop::addTimers()
{
    auto timer = events_.timer([this] {
        fabric_.onTime(now());
        arm();
    });
    auto mendTimer = events_.timer([this] { mend(); });
    if (!timer || !mendTimer)
        return std::unexpected(!timer ? timer.error() : mendTimer.error());
    timer_ = std::move(*timer);
    mendTimer_ = std::move(*mendTimer);
    return {};
}

io::Result<void> Loop::add(PortRef port, std::unique_ptr<FdCable> cable)
{
    const auto number = fabric_.attach(port, *cable);
    if (!number)
        return std::unexpected(number.error());
    Line &line = lines_.emplace_back(Line{std::move(cable), *number, {}});
    auto source = events_.watch(line.cable->fd(), EPOLLIN,
                                [this, &line](std::uint32_t events) { onLine(line, events); });
    if (!source)
        return std::unexpected(source.error());
    line.source = std::move(*source);
    return {};
}

io::Result<void> Loop::listen(const std::string &path)
{
    auto socket = ControlSocket::open(events_, path,
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
    return events_.run();
}

void Loop::onLine(Line &line, std::uint32_t events)
{
    if ((events & EPOLLOUT) != 0) {
        line.cable->flush();
        fabric_.onReady(line.number, now());
    }
    if ((events & ~std::uint32_t{EPOLLOUT}) != 0) { // errors are read, too
        const Time time = now();
        line.cable->receive([&](const io::MacAddress &source, io::View frame) {
            fabric_.onFrame(line.number, source, frame, time);
        });
        fabric_.onBatchEnd(line.number, time);
    }
    arm();
}

void Loop::mend()
{
    for (Line &line : lines_)
        if (line.cable->mend())
            line.source.setFd(line.cable->fd());
    arm();
}

void Loop::arm()
{
    recorder_.flush();
    if (!recorder_.isRecording())
        fabric_.setEar(nullptr);
    bool anyIsDown = false;
    for (Line &line : lines_) {
        line.source.setEvents(EPOLLIN | (line.cable->isReady() ? 0U : EPOLLOUT));
        line.source.enable(!line.cable->isLost());
        anyIsDown = anyIsDown || line.cable->isDown();
    }
    timer_.setTime(fabric_.deadline());
    if (anyIsDown && !mendTimer_.isSet())
        mendTimer_.setTime(now() + mendEvery);
}

} // namespace openipoib::fabric
