// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/control_socket.hpp"

#include <sys/socket.h>
#include <sys/stat.h>

#include <array>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t longestRequest = 65536;
constexpr std::size_t mostClients = 16;
constexpr auto clientPatience = std::chrono::seconds(10);

} // namespace

io::Result<std::unique_ptr<ControlSocket>>
ControlSocket::open(io::EventLoop &events, const std::string &path, Handler handler)
{
    io::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || ::fchmod(fd.get(), S_IRUSR | S_IWUSR) < 0)
        return io::systemFail(path);
    auto place = SocketPath::bind(fd.get(), path, static_cast<int>(mostClients));
    if (!place)
        return std::unexpected(place.error());
    std::unique_ptr<ControlSocket> control(
        new ControlSocket(events, std::move(fd), std::move(*place), std::move(handler)));
    auto source = events.watch(control->fd_.get(), EPOLLIN,
                               [control = control.get()](std::uint32_t) { control->accept(); });
    if (!source)
        return io::fail(source.error().code, path);
    control->source_ = std::move(*source);
    return control;
}

void ControlSocket::accept()
{
    io::UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd || clients_.size() >= mostClients)
        return; // whoever is too many finds the connection closed
    Client &client = clients_.emplace_back(Client{.fd = std::move(fd)});
    auto source = events_.watch(client.fd.get(), EPOLLIN, [this, &client](std::uint32_t events) {
        onClient(client, events);
    });
    auto timer = events_.timer([this, &client] { remove(client); });
    if (!source || !timer)
        return clients_.pop_back();
    client.source = std::move(*source);
    client.timer = std::move(*timer);
    client.timer.setTime(std::chrono::steady_clock::now() + clientPatience);
}

void ControlSocket::onClient(Client &client, std::uint32_t events)
{
    const bool isLeft =
        client.isAnswered ? (events & (EPOLLERR | EPOLLHUP)) == 0 && write(client) : read(client);
    if (!isLeft)
        remove(client);
}

bool ControlSocket::read(Client &client)
{
    std::array<char, 4096> buffer{};
    const ssize_t got = ::recv(client.fd.get(), buffer.data(), buffer.size(), 0);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (got == 0)
        return false;
    client.in.append(buffer.data(), static_cast<std::size_t>(got));
    const auto end = client.in.find('\n');
    if (end == std::string::npos)
        return client.in.size() < longestRequest;
    auto answer = handler_(std::string_view(client.in).substr(0, end));
    client.out = std::move(answer.text) + '\n';
    client.successor = std::move(answer.successor);
    client.isAnswered = true;
    client.source.setEvents(EPOLLOUT);
    return write(client);
}

bool ControlSocket::write(Client &client)
{
    const ssize_t sent =
        ::send(client.fd.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    client.out.erase(0, static_cast<std::size_t>(sent));
    return !client.out.empty();
}

void ControlSocket::remove(Client &client)
{
    client.source = {};
    if (client.isAnswered && client.out.empty() && client.successor)
        client.successor(std::move(client.fd));
    clients_.remove_if([&client](const Client &other) { return &other == &client; });
}

} // namespace openipoib::fabric
