// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ctl/client.hpp"

#include "io/bytes.hpp"
#include "io/unique_fd.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace openipoib::fabric
{

namespace
{

constexpr std::int64_t longestWait = 3'600'000; // ms
constexpr timeval patience{.tv_sec = 10, .tv_usec = 0};

io::Result<io::UniqueFd> reach(const std::string &path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return io::fail(ENAMETOOLONG, path);
    std::ranges::copy(path, address.sun_path);
    io::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) < 0)
        return io::systemFail(path);
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
        ::setsockopt(fd.get(), SOL_SOCKET, option, &patience, sizeof patience);
    return fd;
}

std::unexpected<io::Error> socketFail(const std::string &path)
{
    return io::fail(errno == EAGAIN ? ETIMEDOUT : errno, path);
}

io::Result<void> sendRequest(const io::UniqueFd &fd, const std::string &path,
                             const nlohmann::json &request)
{
    // What is not UTF-8 in an argument is refused there by name, not here.
    const std::string text =
        request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t sent = ::send(fd.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (sent < 0)
            return socketFail(path);
        done += static_cast<std::size_t>(sent);
    }
    return {};
}

io::Result<nlohmann::json> answerIn(const std::string &text, const std::string &path)
{
    auto document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_object() || (!document.contains("result") && !document.contains("error")))
        return io::fail(EPROTO, path);
    return document;
}

// Until the other end closes, nobody reads any more, or the time is over.
io::Result<void> copyAll(const io::UniqueFd &from, const std::string &path,
                         std::optional<std::chrono::milliseconds> time, int to)
{
    using Clock = std::chrono::steady_clock;
    const auto end = time ? std::optional(Clock::now() + *time) : std::nullopt;
    io::Bytes buffer(65536);
    for (;;) {
        const auto left = end ? std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now())
                              : std::chrono::milliseconds(longestWait);
        if (left.count() <= 0)
            return {};
        std::array<pollfd, 2> ends{{{.fd = from.get(), .events = POLLIN, .revents = 0},
                                    {.fd = to, .events = 0, .revents = 0}}};
        if (::poll(ends.data(), ends.size(),
                   static_cast<int>(std::min(left.count(), longestWait))) <= 0)
            continue;
        if (ends[1].revents != 0) // its reader is gone
            return {};
        const ssize_t got = ::recv(from.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got == 0)
            return {};
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return socketFail(path);
        for (ssize_t done = 0; done < got;) {
            const ssize_t written =
                ::write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
            if (written < 0 && errno == EPIPE)
                return {};
            if (written < 0 && errno != EINTR)
                return io::systemFail("output");
            done += std::max<ssize_t>(written, 0);
        }
    }
}

} // namespace

io::Result<nlohmann::json> ask(const std::string &path, const nlohmann::json &request)
{
    const auto fd = reach(path);
    if (!fd)
        return std::unexpected(fd.error());
    if (const auto sent = sendRequest(*fd, path, request); !sent)
        return std::unexpected(sent.error());
    std::string answer;
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t got = ::recv(fd->get(), buffer.data(), buffer.size(), 0);
        if (got < 0)
            return socketFail(path);
        if (got == 0)
            break;
        answer.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return answerIn(answer, path);
}

io::Result<nlohmann::json> capture(const std::string &path, const nlohmann::json &request,
                                   std::optional<std::chrono::milliseconds> time, int to)
{
    const auto fd = reach(path);
    if (!fd)
        return std::unexpected(fd.error());
    if (const auto sent = sendRequest(*fd, path, request); !sent)
        return std::unexpected(sent.error());
    std::string line;
    for (char letter = 0; letter != '\n'; line += letter) // the packets follow it
        if (const ssize_t got = ::recv(fd->get(), &letter, 1, 0); got <= 0)
            return got < 0 ? socketFail(path) : io::fail(EPROTO, path);
    auto answer = answerIn(line, path);
    if (!answer || answer->contains("error"))
        return answer;
    if (const auto copied = copyAll(*fd, path, time, to); !copied)
        return std::unexpected(copied.error());
    return answer;
}

} // namespace openipoib::fabric
