// SPDX-License-Identifier: GPL-2.0-only OR MIT
// How the commands reach the daemon: a unix socket, one line with a command
// there, one answer back, and the end; a listener gets lines until it goes.
#pragma once

#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace openipoib::ha
{

class ControlServer
{
  public:
    // What to answer; nullopt: the caller wants to listen.
    using Handler = std::function<std::optional<std::string>(const std::string &command)>;

    [[nodiscard]] static io::Result<ControlServer> open(const std::string &path);

    [[nodiscard]] std::vector<int> fds() const;
    // Something has come at @fd. Never blocks; who does not take the answer is
    // left.
    void receive(int fd, const Handler &handler);
    // To all listeners.
    void tell(const std::string &line);

  private:
    struct Client {
        io::UniqueFd fd;
        std::string in;
        bool listens = false;
    };
    explicit ControlServer(io::UniqueFd fd) : listener_(std::move(fd)) {}

    void accept();
    // False: it has gone or has been answered.
    [[nodiscard]] static bool serve(Client &client, const Handler &handler);

    io::UniqueFd listener_;
    std::vector<Client> clients_;
};

// Ask the daemon; each piece of its answer goes to @each, until the end or until
// it returns false. Errors: ENOENT, ECONNREFUSED when there is none.
[[nodiscard]] io::Result<void> ask(const std::string &path, const std::string &command,
                                   const std::function<bool(const std::string &)> &each);

} // namespace openipoib::ha
