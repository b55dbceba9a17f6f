// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/control.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>

namespace openipoib::ha
{

namespace
{

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

bool sendAll(int fd, const std::string &text)
{
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent == static_cast<ssize_t>(text.size());
}

} // namespace

io::Result<ControlServer> ControlServer::open(const std::string &path)
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
        ::chmod(path.c_str(), 0600) < 0 || ::listen(fd.get(), 8) < 0)
        return io::systemFail(path);
    return ControlServer(std::move(fd));
}

std::vector<int> ControlServer::fds() const
{
    std::vector<int> all{listener_.get()};
    for (const auto &client : clients_)
        all.push_back(client.fd.get());
    return all;
}

void ControlServer::accept()
{
    io::UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd)
        return;
    if (clients_.size() >= maxClients)
        clients_.erase(clients_.begin());
    clients_.push_back({std::move(fd), {}, false});
}

bool ControlServer::serve(Client &client, const Handler &handler)
{
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
    const auto answer = handler(client.in.substr(0, end));
    if (answer) {
        sendAll(client.fd.get(), *answer);
        return false;
    }
    client.listens = true;
    return true;
}

void ControlServer::receive(int fd, const Handler &handler)
{
    if (fd == listener_.get()) {
        accept();
        return;
    }
    // The handler may tell listeners, but neither adds nor removes one.
    std::erase_if(clients_,
                  [&](Client &client) { return client.fd.get() == fd && !serve(client, handler); });
}

void ControlServer::tell(const std::string &line)
{
    for (auto &client : clients_)
        if (client.listens && !sendAll(client.fd.get(), line))
            ::shutdown(client.fd.get(), SHUT_RDWR);
}

io::Result<void> ask(const std::string &path, const std::string &command,
                     const std::function<bool(const std::string &)> &each)
{
    const auto address = addressOf(path);
    if (!address)
        return std::unexpected(address.error());
    const io::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof *address) < 0)
        return io::systemFail(path);
    if (!sendAll(fd.get(), command + "\n"))
        return io::systemFail(path);
    std::array<char, 1 << 14> buffer{};
    for (;;) {
        const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return io::systemFail(path);
        if (got == 0 || !each({buffer.data(), static_cast<std::size_t>(got)}))
            return {};
    }
}

} // namespace openipoib::ha
