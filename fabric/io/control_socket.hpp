// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A stream socket on which requests come, a line each, one a connection; the answer
// is a line, and then the connection is closed.
//
// A client can neither stall nor fill the process: nothing here waits, requests have
// a greatest length, connections a greatest number and ten seconds' time.
#pragma once

#include "io/error.hpp"
#include "io/event_loop.hpp"
#include "io/socket_path.hpp"
#include "io/unique_fd.hpp"

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace openipoib::fabric
{

class ControlSocket
{
  public:
    struct Answer {
        std::string text;
        // If it is set, it gets the connection when the answer has been sent.
        std::function<void(io::UniqueFd)> successor{};
    };
    using Handler = std::function<Answer(std::string_view request)>;

    // Listen at a path, for this user only. Errors: those of SocketPath::bind().
    [[nodiscard]] static io::Result<std::unique_ptr<ControlSocket>>
    open(io::EventLoop &events, const std::string &path, Handler handler);
    ~ControlSocket() = default;
    ControlSocket(const ControlSocket &) = delete;
    ControlSocket &operator=(const ControlSocket &) = delete;
    ControlSocket(ControlSocket &&) = delete;
    ControlSocket &operator=(ControlSocket &&) = delete;

  private:
    struct Client {
        io::UniqueFd fd;
        std::string in{};
        std::string out{}; // what is left to be sent
        std::function<void(io::UniqueFd)> successor{};
        bool isAnswered = false;
        io::EventSource source{};
        io::EventSource timer{};
    };

    ControlSocket(io::EventLoop &events, io::UniqueFd fd, SocketPath path, Handler handler)
        : events_(events), fd_(std::move(fd)), path_(std::move(path)), handler_(std::move(handler))
    {
    }
    void accept();
    void onClient(Client &client, std::uint32_t events);
    // False when the client is done with.
    [[nodiscard]] bool read(Client &client);
    [[nodiscard]] static bool write(Client &client);
    void remove(Client &client);

    io::EventLoop &events_;
    io::UniqueFd fd_;
    SocketPath path_; // goes first
    Handler handler_;
    io::EventSource source_;
    std::list<Client> clients_;
};

} // namespace openipoib::fabric
