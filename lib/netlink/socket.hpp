// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A connection to the kernel's routing netlink. Blocks until the kernel has
// answered, which it does within the system call. Not thread-safe; belongs to
// the network namespace in which it was opened.
#pragma once

#include "io/error.hpp"
#include "netlink/message.hpp"

#include <netlink/socket.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace openipoib::netlink
{

class Socket
{
  public:
    [[nodiscard]] static io::Result<Socket> open();

    // Send and wait for the acknowledgement. The error's context is @what and,
    // if the kernel has given one, its own message.
    [[nodiscard]] io::Result<void> request(const Message &message, std::string_view what);

    // The same, and hand what comes before it to @each, which must not throw.
    [[nodiscard]] io::Result<void> ask(const Message &message, std::string_view what,
                                       const std::function<void(nlmsghdr *)> &each);

    // Send all at once; the kernel does one after the other, whether or not one of
    // them fails. The answer to each, in their order: code 0 where it was done.
    [[nodiscard]] io::Result<std::vector<io::Error>> requestAll(std::span<const Message> messages);

    // Send with NLM_F_DUMP and hand every answer to @each, which must not throw.
    // A dump that the kernel calls inconsistent is read again from its beginning
    // (after @again has been called); EAGAIN when that does not end.
    [[nodiscard]] io::Result<void> dump(const Message &message, std::string_view what,
                                        const std::function<void(nlmsghdr *)> &each,
                                        const std::function<void()> &again);

  private:
    struct Free {
        void operator()(nl_sock *socket) const { nl_socket_free(socket); }
    };
    explicit Socket(nl_sock *socket) : socket_(socket) {}

    struct Exchange;
    struct Answers;
    [[nodiscard]] io::Result<void> requestSome(std::span<const Message> messages,
                                               std::vector<io::Error> &answers);
    [[nodiscard]] io::Result<void> exchange(const Message &message, int flags,
                                            std::string_view what, Exchange &exchange);

    std::unique_ptr<nl_sock, Free> socket_;
};

} // namespace openipoib::netlink
