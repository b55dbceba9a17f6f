// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ctl/client.hpp"

#include "io/unique_fd.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>

namespace openipoib::fabric
{

namespace
{

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

} // namespace

io::Result<nlohmann::json> ask(const std::string &path, const nlohmann::json &request)
{
    const auto fd = reach(path);
    if (!fd)
        return std::unexpected(fd.error());
    // What is not UTF-8 in an argument is refused there by name, not here.
    const std::string text =
        request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t sent =
            ::send(fd->get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (sent < 0)
            return socketFail(path);
        done += static_cast<std::size_t>(sent);
    }
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
    auto document = nlohmann::json::parse(answer, nullptr, false);
    if (!document.is_object() || (!document.contains("result") && !document.contains("error")))
        return io::fail(EPROTO, path);
    return document;
}

} // namespace openipoib::fabric
