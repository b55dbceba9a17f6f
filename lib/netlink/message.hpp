// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A netlink message being built.
//
//   Message message(RTM_NEWLINK, 0);
//   message.header(ifinfomsg{...});
//   message.put(IFLA_MTU, std::uint32_t{2044});
//   {
//       auto info = message.nest(IFLA_LINKINFO);
//       message.put(IFLA_INFO_KIND, "ipoib");
//   }
//   socket.request(message);
//
// A message that has grown too large says so when it is sent.
#pragma once

#include "io/bytes.hpp"

#include <netlink/msg.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

namespace openipoib::netlink
{

class Message
{
  public:
    // flags: NLM_F_*; NLM_F_REQUEST and the acknowledgement are added on sending.
    Message(int type, int flags) : message_(nlmsg_alloc_simple(type, flags)) {}

    // An attribute that holds others; it ends with the object's life.
    class [[nodiscard]] Nest
    {
      public:
        Nest(nl_msg *message, nlattr *start) : message_(message), start_(start) {}
        Nest(const Nest &) = delete;
        Nest &operator=(const Nest &) = delete;
        ~Nest()
        {
            if (start_)
                nla_nest_end(message_, start_);
        }

      private:
        nl_msg *message_;
        nlattr *start_;
    };

    // The fixed part (struct ifinfomsg, ifaddrmsg ...), before any attribute.
    template <typename T> void header(T fixed)
    {
        static_assert(std::is_trivially_copyable_v<T>);
        note(message_ ? nlmsg_append(message_.get(), &fixed, sizeof fixed, NLMSG_ALIGNTO) : -1);
    }
    // Fixed part and attributes as they were built before.
    void append(io::View bytes)
    {
        note(message_ ? nlmsg_append(message_.get(), const_cast<std::uint8_t *>(bytes.data()),
                                     bytes.size(), NLMSG_ALIGNTO)
                      : -1);
    }
    template <typename T>
    requires std::is_integral_v<T>
    void put(int type, T value)
    {
        note(message_ ? nla_put(message_.get(), type, sizeof value, &value) : -1);
    }
    void put(int type, io::View bytes)
    {
        note(message_ ? nla_put(message_.get(), type, static_cast<int>(bytes.size()), bytes.data())
                      : -1);
    }
    // With a NUL behind it.
    void put(int type, std::string_view text);
    void put(int type, const char *text) { put(type, std::string_view(text)); }
    Nest nest(int type);

    // The message, or nullptr when it could not be built.
    [[nodiscard]] nl_msg *get() const { return failed_ ? nullptr : message_.get(); }

  private:
    struct Free {
        void operator()(nl_msg *message) const { nlmsg_free(message); }
    };
    void note(int status) { failed_ = failed_ || status < 0; }

    std::unique_ptr<nl_msg, Free> message_;
    bool failed_ = false;
};

} // namespace openipoib::netlink
