// SPDX-License-Identifier: GPL-2.0-only OR MIT
// How long an address is out of reach, as its peer sees it.
//
// usage: ha-probe echo ADDRESS PORT
//        ha-probe send FROM TO PORT MICROSECONDS
//
// The sender sends a numbered datagram every so many microseconds, the other end
// sends each back with the time at which it came. The sender prints "ready" when
// the first is back, and for each line on its standard input how many are; if the
// line is a number, not before there are as many. SIGINT or SIGTERM ends it; then it
// prints a line for each that has come back, in the order in which they did: number,
// and the times, in nanoseconds, when it was sent, was sent back, and came. The
// second is by the other end's clock. Both clocks are CLOCK_MONOTONIC. A datagram
// that cannot be sent is lost, like any other.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace
{

constexpr int failed = 1;
constexpr int bufferSize = 4 << 20;
constexpr std::int64_t nanoseconds = 1'000'000'000;

// The hosts are of one kind: no byte order.
struct Probe {
    std::uint64_t number = 0;
    std::int64_t sent = 0;
    std::int64_t echoed = 0;
};

struct Arrival {
    Probe probe;
    std::int64_t at = 0;
};

int complain(const char *what)
{
    std::perror(what);
    return failed;
}

std::int64_t now()
{
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * nanoseconds + time.tv_nsec;
}

template <typename T> std::optional<T> number(std::string_view text)
{
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::optional<sockaddr_in> endpoint(const char *address, std::uint16_t port)
{
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    if (::inet_pton(AF_INET, address, &out.sin_addr) != 1)
        return std::nullopt;
    return out;
}

// Bound to @own; -1 and errno if that fails.
int openSocket(const sockaddr_in &own)
{
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bufferSize, sizeof bufferSize);
    if (::bind(fd, reinterpret_cast<const sockaddr *>(&own), sizeof own) < 0)
        return -1;
    return fd;
}

int openSignals()
{
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) < 0)
        return -1;
    return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int echo(int fd, int signals)
{
    std::puts("ready");
    std::fflush(stdout);
    pollfd polled[] = {{fd, POLLIN, 0}, {signals, POLLIN, 0}};
    for (;;) {
        if (::poll(polled, 2, -1) < 0 && errno != EINTR)
            return complain("poll");
        if (polled[1].revents)
            return 0;
        Probe probe;
        sockaddr_in from{};
        socklen_t length = sizeof from;
        while (::recvfrom(fd, &probe, sizeof probe, 0, reinterpret_cast<sockaddr *>(&from),
                          &length) == sizeof probe) {
            probe.echoed = now();
            // If it cannot be sent, it is lost.
            [[maybe_unused]] const auto sent = ::sendto(
                fd, &probe, sizeof probe, 0, reinterpret_cast<const sockaddr *>(&from), length);
        }
    }
}

class Sender
{
  public:
    Sender(int fd, int signals, const sockaddr_in &to, std::int64_t interval)
        : fd_(fd), signals_(signals), to_(to), interval_(interval)
    {
    }

    int run()
    {
        std::int64_t due = now();
        pollfd polled[] = {{fd_, POLLIN, 0}, {signals_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        for (;;) {
            const std::int64_t left = std::max<std::int64_t>(due - now(), 0);
            const timespec wait{left / nanoseconds, left % nanoseconds};
            if (::ppoll(polled, 3, &wait, nullptr) < 0 && errno != EINTR)
                return complain("poll");
            if (polled[0].revents)
                receive();
            if (polled[1].revents)
                break;
            if (polled[2].revents && !listen())
                polled[2].fd = -1;
            answer();
            if (now() < due)
                continue;
            send();
            // What was missed is not made up for.
            due = std::max(due + interval_, now());
        }
        for (const auto &one : arrivals_)
            std::printf("%ju %jd %jd %jd\n", static_cast<std::uintmax_t>(one.probe.number),
                        static_cast<std::intmax_t>(one.probe.sent),
                        static_cast<std::intmax_t>(one.probe.echoed),
                        static_cast<std::intmax_t>(one.at));
        return 0;
    }

  private:
    void send()
    {
        const Probe probe{next_++, now(), 0};
        [[maybe_unused]] const auto sent = ::sendto(
            fd_, &probe, sizeof probe, 0, reinterpret_cast<const sockaddr *>(&to_), sizeof to_);
    }

    void receive()
    {
        Probe probe;
        while (::recv(fd_, &probe, sizeof probe, 0) == sizeof probe) {
            arrivals_.push_back({probe, now()});
            if (arrivals_.size() == 1) {
                std::puts("ready");
                std::fflush(stdout);
            }
        }
    }

    // False: there will be no more questions.
    bool listen()
    {
        char text[256];
        const auto length = ::read(STDIN_FILENO, text, sizeof text);
        for (ssize_t i = 0; i < length; ++i) {
            if (text[i] != '\n') {
                question_ += text[i];
                continue;
            }
            goals_.push_back(number<std::size_t>(question_).value_or(0));
            question_.clear();
        }
        return length > 0;
    }

    void answer()
    {
        while (!goals_.empty() && arrivals_.size() >= goals_.front()) {
            std::printf("%zu\n", arrivals_.size());
            std::fflush(stdout);
            goals_.pop_front();
        }
    }

    int fd_;
    int signals_;
    sockaddr_in to_;
    std::int64_t interval_; // nanoseconds
    std::uint64_t next_ = 0;
    std::vector<Arrival> arrivals_;
    std::string question_;          // what there is of it
    std::deque<std::size_t> goals_; // how many arrivals each question waits for
};

int usage()
{
    std::fputs("usage: ha-probe echo ADDRESS PORT\n"
               "       ha-probe send FROM TO PORT MICROSECONDS\n",
               stderr);
    return failed;
}

} // namespace

int main(int argc, char **argv)
{
    const std::string_view command = argc > 1 ? argv[1] : "";
    const bool sending = command == "send" && argc == 6;
    if (!sending && !(command == "echo" && argc == 4))
        return usage();
    const auto port = number<std::uint16_t>(argv[sending ? 4 : 3]);
    const auto interval = sending ? number<std::uint32_t>(argv[5]) : 1;
    if (!port || !interval || !*interval)
        return usage();
    const auto own = endpoint(argv[2], sending ? 0 : *port);
    const auto peer = endpoint(argv[sending ? 3 : 2], *port);
    if (!own || !peer)
        return usage();
    const int signals = openSignals();
    if (signals < 0)
        return complain("signals");
    const int fd = openSocket(*own);
    if (fd < 0)
        return complain(argv[2]);
    return sending ? Sender(fd, signals, *peer, std::int64_t{1000} * *interval).run()
                   : echo(fd, signals);
}
