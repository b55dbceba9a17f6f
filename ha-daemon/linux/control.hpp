// SPDX-License-Identifier: GPL-2.0-only OR MIT
// How the commands reach the daemon: a unix socket, one line with a command
// there, one answer back, and the end; a listener gets lines until it goes.
#pragma once

#include "ha-daemon/core/item.hpp"
#include "io/event_loop.hpp"
#include "io/unique_fd.hpp"

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace openipoib::ha
{

// Nothing blocks: what a client does not take at once waits, up to these limits.
inline constexpr std::size_t maxAnswer = 16 << 20;               // bytes
inline constexpr std::size_t maxUnheard = 1 << 20;               // bytes, of a listener
inline constexpr Time answerPatience = std::chrono::seconds(10); // with a client that takes none
inline constexpr Time acceptPatience = std::chrono::seconds(1);  // after a refusal by the kernel

class ControlServer
{
  public:
    struct Question {
        std::string command;
        bool mayChange = false; // it comes from root, or from the user of this process
    };
    struct Owner {
        // What to answer; nullopt: the caller wants to listen. It may tell() them.
        std::function<std::optional<std::string>(const Question &question)> answer;
        std::function<Time()> now;
        // A client could not be let in, as there are no descriptors or no memory; the next try is
        // at wake().
        std::function<void(const io::Error &error)> fail;
    };

    // For the user and the group of this process.
    [[nodiscard]] static io::Result<std::unique_ptr<ControlServer>>
    open(io::EventLoop &events, const std::string &path, Owner owner);

    // When expire() has to be called, whatever comes before; nullopt: not at all
    [[nodiscard]] std::optional<Time> wake() const;
    // Leave those who have not taken their answer for too long; hear of new clients again.
    void expire();
    // To all listeners. Those who have not heard too much are left.
    void tell(const std::string &line);
    [[nodiscard]] std::size_t clients() const { return clients_.size(); }

  private:
    struct Client {
        io::UniqueFd fd;
        io::EventSource source;
        bool mayChange = false;
        std::string in;
        std::string out;      // what has yet to be sent
        std::size_t sent = 0; // of out
        bool listens = false;
        Time taken{}; // when it has taken some of the answer
    };
    ControlServer(io::EventLoop &events, io::UniqueFd fd, Owner owner)
        : events_(events), owner_(std::move(owner)), listener_(std::move(fd))
    {
    }

    void accept();
    [[nodiscard]] io::Result<void> add(io::UniqueFd fd);
    // False: it has gone or has been answered.
    [[nodiscard]] bool serve(Client &client);
    [[nodiscard]] static bool send(Client &client, Time now);

    io::EventLoop &events_;
    Owner owner_;
    io::UniqueFd listener_;
    io::EventSource source_;
    std::list<Client> clients_;
    std::optional<Time> acceptAt_; // not before
};

// Ask the daemon; each piece of its answer goes to @each, until the end or until
// it returns false. @patience: with a daemon that says nothing; 0: without end.
// Errors: ENOENT, ECONNREFUSED when there is none; ETIMEDOUT when patience is over.
[[nodiscard]] io::Result<void> ask(const std::string &path, const std::string &command,
                                   const std::function<bool(const std::string &)> &each,
                                   Time patience = {});

} // namespace openipoib::ha
