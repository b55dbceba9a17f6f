// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A stream socket on which requests come, a line each, one a connection; the answer
// is a line, and then the connection is closed.
//
// A client can neither stall nor fill the process: nothing here waits, requests have
// a greatest length, connections a greatest number and ten seconds' time.
#pragma once

#include "io/error.hpp"
#include "io/event.hpp"
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

    // Listen at a path, for this user only. What a process that is gone has left
    // there is replaced. Errors: EADDRINUSE if one that is there listens.
    [[nodiscard]] static io::Result<std::unique_ptr<ControlSocket>>
    open(sd_event *event, const std::string &path, Handler handler);
    ~ControlSocket();
    ControlSocket(const ControlSocket &) = delete;
    ControlSocket &operator=(const ControlSocket &) = delete;
    ControlSocket(ControlSocket &&) = delete;
    ControlSocket &operator=(ControlSocket &&) = delete;

  private:
    struct Client {
        ControlSocket *owner;
        io::UniqueFd fd;
        std::string in{};
        std::string out{}; // what is left to be sent
        std::function<void(io::UniqueFd)> successor{};
        bool isAnswered = false;
        EventSource source{};
        EventSource timer{};
    };

    ControlSocket(sd_event *event, std::string path, io::UniqueFd fd, Handler handler)
        : event_(event), path_(std::move(path)), fd_(std::move(fd)), handler_(std::move(handler))
    {
    }
    static int onListen(sd_event_source *source, int fd, std::uint32_t events, void *self);
    static int onClient(sd_event_source *source, int fd, std::uint32_t events, void *client);
    static int onLate(sd_event_source *source, std::uint64_t usec, void *client);
    void accept();
    // False when the client is done with.
    [[nodiscard]] bool read(Client &client);
    [[nodiscard]] static bool write(Client &client);
    void remove(Client &client);

    sd_event *event_;
    std::string path_;
    io::UniqueFd fd_;
    Handler handler_;
    EventSource source_;
    std::list<Client> clients_;
};

} // namespace openipoib::fabric
