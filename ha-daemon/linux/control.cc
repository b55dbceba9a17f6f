// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/control.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace openipoib::ha
{

namespace
{

using namespace std::chrono_literals;

constexpr std::size_t maxClients = 16;
constexpr std::size_t maxCommand = 256;

io::Result<sockaddr_un> addressOf(const std::string &path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return io::fail(ENAMETOOLONG, path);
    std::ranges::copy(path, address.sun_path);
    return address;
}

// Who has connected, whoever that is by now
bool isRootOrSelf(const io::UniqueFd &fd)
{
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == ::geteuid());
}

// The failure of the call to a client's socket that has just set errno. Whose patience is over has
// EAGAIN of it.
std::unexpected<io::Error> askFail(const std::string &path)
{
    return io::fail(errno == EAGAIN ? ETIMEDOUT : errno, path);
}

} // namespace

io::Result<std::unique_ptr<ControlServer>> ControlServer::open(io::EventLoop &events,
                                                               const std::string &path, Owner owner)
{
    const auto address = addressOf(path);
    if (!address)
        return std::unexpected(address.error());
    io::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd)
        return io::systemFail(path);
    // The folder is locked: what is there is a dead daemon's.
    ::unlink(path.c_str());
    if (::bind(fd.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof *address) < 0 ||
        ::chmod(path.c_str(), 0660) < 0 || ::listen(fd.get(), 8) < 0)
        return io::systemFail(path);
    std::unique_ptr<ControlServer> server(
        new ControlServer(events, std::move(fd), std::move(owner)));
    auto source = events.watch(server->listener_.get(), EPOLLIN,
                               [server = server.get()](std::uint32_t) { server->accept(); });
    if (!source)
        return std::unexpected(source.error());
    server->source_ = std::move(*source);
    return server;
}

std::optional<Time> ControlServer::wake() const
{
    std::optional<Time> wake = acceptAt_;
    for (const auto &client : clients_)
        if (!client.listens && !client.out.empty())
            wake = std::min(wake.value_or(Time::max()), client.taken + answerPatience);
    return wake;
}

void ControlServer::expire()
{
    const Time now = owner_.now();
    if (acceptAt_ && now >= *acceptAt_) {
        acceptAt_.reset();
        source_.enable(true);
    }
    std::erase_if(clients_, [now](const Client &client) {
        return !client.listens && !client.out.empty() && now >= client.taken + answerPatience;
    });
}

// The client that is not let in stays where it is, and the loop would find it at once.
void ControlServer::accept()
{
    io::UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
            return;
        const io::Error error = io::systemFail("accept a client of the control socket").error();
        acceptAt_ = owner_.now() + acceptPatience;
        source_.enable(false);
        return owner_.fail(error);
    }
    // The oldest of those who only ask, if there is one
    if (clients_.size() >= maxClients) {
        const auto asks = std::ranges::find(clients_, false, &Client::mayChange);
        clients_.erase(asks == clients_.end() ? clients_.begin() : asks);
    }
    if (const auto added = add(std::move(fd)); !added)
        owner_.fail(added.error());
}

io::Result<void> ControlServer::add(io::UniqueFd fd)
{
    const int number = fd.get();
    auto source = events_.watch(number, EPOLLIN, [this, number](std::uint32_t) {
        // The handler may tell listeners, but neither adds nor removes one.
        std::erase_if(clients_, [=, this](Client &client) {
            return client.fd.get() == number && !serve(client);
        });
    });
    if (!source)
        return std::unexpected(source.error());
    const bool mayChange = isRootOrSelf(fd);
    Client &client = clients_.emplace_back();
    client.fd = std::move(fd);
    client.source = std::move(*source);
    client.mayChange = mayChange;
    return {};
}

bool ControlServer::send(Client &client, Time now)
{
    while (client.sent < client.out.size()) {
        const ssize_t sent = ::send(client.fd.get(), client.out.data() + client.sent,
                                    client.out.size() - client.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN) {
            client.source.setEvents(EPOLLOUT);
            return true;
        }
        if (sent < 0)
            return false;
        client.sent += static_cast<std::size_t>(sent);
        client.taken = now;
    }
    client.out.clear();
    client.sent = 0;
    client.source.setEvents(EPOLLIN);
    return client.listens;
}

bool ControlServer::serve(Client &client)
{
    if (!client.out.empty())
        return send(client, owner_.now());
    std::array<char, maxCommand> buffer{};
    const ssize_t got = ::recv(client.fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got <= 0 || client.listens)
        return false;
    client.in.append(buffer.data(), static_cast<std::size_t>(got));
    const auto end = client.in.find('\n');
    if (end == std::string::npos)
        return client.in.size() < maxCommand;
    auto answer = owner_.answer({client.in.substr(0, end), client.mayChange});
    if (!answer) {
        client.listens = true;
        return true;
    }
    client.out = answer->size() <= maxAnswer
                     ? std::move(*answer)
                     : "{\"error\":\"an answer of " + std::to_string(answer->size()) +
                           " bytes is longer than the daemon sends\"}\n";
    client.taken = owner_.now();
    return send(client, client.taken);
}

void ControlServer::tell(const std::string &line)
{
    for (auto &client : clients_) {
        if (!client.listens)
            continue;
        client.out.erase(0, std::exchange(client.sent, 0));
        client.out += line;
        if (client.out.size() <= maxUnheard && send(client, {}))
            continue;
        ::shutdown(client.fd.get(), SHUT_RDWR);
        client.out.clear();
        client.sent = 0;
        client.source.setEvents(EPOLLIN);
    }
}

io::Result<void> ask(const std::string &path, const std::string &command,
                     const std::function<bool(const std::string &)> &each, Time patience)
{
    const auto address = addressOf(path);
    if (!address)
        return std::unexpected(address.error());
    const io::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{static_cast<time_t>(patience / 1s),
                        static_cast<suseconds_t>((patience % 1s).count())};
    for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
        if (fd)
            ::setsockopt(fd.get(), SOL_SOCKET, option, &limit, sizeof limit);
    if (!fd ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof *address) < 0)
        return askFail(path);
    const std::string line = command + "\n"; // shorter than what a socket takes at once
    if (::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0)
        return askFail(path);
    std::array<char, 1 << 14> buffer{};
    for (;;) {
        const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return askFail(path);
        if (got == 0 || !each({buffer.data(), static_cast<std::size_t>(got)}))
            return {};
    }
}

} // namespace openipoib::ha
