// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/control_socket.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t longestRequest = 65536;
constexpr std::size_t mostClients = 16;
constexpr std::uint64_t clientMicroseconds = 10'000'000;

io::Result<io::UniqueFd> listenAt(const std::string &path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return io::fail(ENAMETOOLONG, path);
    std::ranges::copy(path, address.sun_path);
    const auto *generic = reinterpret_cast<const sockaddr *>(&address);
    constexpr int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const io::UniqueFd probe(::socket(AF_UNIX, type, 0));
    if (!probe)
        return io::systemFail(path);
    if (::connect(probe.get(), generic, sizeof address) < 0 && errno == ECONNREFUSED)
        ::unlink(path.c_str()); // nobody listens
    io::UniqueFd fd(::socket(AF_UNIX, type, 0));
    if (!fd || ::fchmod(fd.get(), S_IRUSR | S_IWUSR) < 0 ||
        ::bind(fd.get(), generic, sizeof address) < 0 ||
        ::listen(fd.get(), static_cast<int>(mostClients)) < 0)
        return io::systemFail(path);
    return fd;
}

} // namespace

io::Result<std::unique_ptr<ControlSocket>>
ControlSocket::open(sd_event *event, const std::string &path, Handler handler)
{
    auto fd = listenAt(path);
    if (!fd)
        return std::unexpected(fd.error());
    std::unique_ptr<ControlSocket> control(
        new ControlSocket(event, path, std::move(*fd), std::move(handler)));
    sd_event_source *source = nullptr;
    if (const int error =
            sd_event_add_io(event, &source, control->fd_.get(), EPOLLIN, onListen, control.get());
        error < 0)
        return io::fail(-error, path);
    control->source_.reset(source);
    return control;
}

ControlSocket::~ControlSocket()
{
    ::unlink(path_.c_str());
}

int ControlSocket::onListen(sd_event_source * /*source*/, int /*fd*/, std::uint32_t /*events*/,
                            void *self)
{
    static_cast<ControlSocket *>(self)->accept();
    return 0;
}

void ControlSocket::accept()
{
    io::UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd || clients_.size() >= mostClients)
        return; // whoever is too many finds the connection closed
    Client &client = clients_.emplace_back(Client{.owner = this, .fd = std::move(fd)});
    sd_event_source *source = nullptr;
    sd_event_source *timer = nullptr;
    if (sd_event_add_io(event_, &source, client.fd.get(), EPOLLIN, onClient, &client) < 0 ||
        sd_event_add_time_relative(event_, &timer, CLOCK_MONOTONIC, clientMicroseconds, 0, onLate,
                                   &client) < 0) {
        sd_event_source_unref(source);
        return clients_.pop_back();
    }
    client.source.reset(source);
    client.timer.reset(timer);
}

int ControlSocket::onClient(sd_event_source * /*source*/, int /*fd*/, std::uint32_t events,
                            void *data)
{
    Client &client = *static_cast<Client *>(data);
    ControlSocket &self = *client.owner;
    const bool isLeft = client.isAnswered ? (events & (EPOLLERR | EPOLLHUP)) == 0 && write(client)
                                          : self.read(client);
    if (!isLeft)
        self.remove(client);
    return 0;
}

int ControlSocket::onLate(sd_event_source * /*source*/, std::uint64_t /*usec*/, void *data)
{
    Client &client = *static_cast<Client *>(data);
    client.owner->remove(client);
    return 0;
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
    sd_event_source_set_io_events(client.source.get(), EPOLLOUT);
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
    client.source.reset();
    if (client.isAnswered && client.out.empty() && client.successor)
        client.successor(std::move(client.fd));
    clients_.remove_if([&client](const Client &other) { return &other == &client; });
}

} // namespace openipoib::fabric
