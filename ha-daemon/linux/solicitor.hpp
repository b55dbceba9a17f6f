// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Asks for IPv6 addresses by neighbour solicitations, from the link-local address of an
// interface, and hears the advertisements that answer.
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"
#include "netlink/link.hpp"

#include <functional>
#include <utility>

namespace openipoib::ha
{

class Solicitor
{
  public:
    [[nodiscard]] static io::Result<Solicitor> open();

    [[nodiscard]] int fd() const { return fd_.get(); }
    // To whoever has @address (16 bytes) on this link. Errors: EINVAL when it is no IPoIB
    // link, EADDRNOTAVAIL when the interface has no address to ask from.
    [[nodiscard]] io::Result<void> ask(const netlink::Link &link, io::View address) const;
    // Hand the interface and the address of each advertisement that has come to @each.
    void receive(const std::function<void(int interface, io::View from)> &each) const;

  private:
    explicit Solicitor(io::UniqueFd fd) : fd_(std::move(fd)) {}

    io::UniqueFd fd_;
};

} // namespace openipoib::ha
