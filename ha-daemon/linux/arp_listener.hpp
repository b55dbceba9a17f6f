// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Hears the ARP replies that come in, on whatever interface.
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace openipoib::ha
{

// Who has sent this packet (4 bytes), if it is an ARP reply of an IPoIB link.
[[nodiscard]] std::optional<io::Bytes> arpReplier(io::View packet);

class ArpListener
{
  public:
    [[nodiscard]] static io::Result<ArpListener> open();

    [[nodiscard]] int fd() const { return fd_.get(); }
    // Hand the interface and the sender of each reply that has come to @each.
    void receive(const std::function<void(int interface, io::View from)> &each) const;

  private:
    explicit ArpListener(io::UniqueFd fd) : fd_(std::move(fd)) {}

    io::UniqueFd fd_;
};

} // namespace openipoib::ha
