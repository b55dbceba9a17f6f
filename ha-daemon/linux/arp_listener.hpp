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

struct ArpReplier {
    io::Bytes address;  // 4 bytes
    io::Bytes hardware; // 20 bytes
};

// Who has sent this packet, if it is an ARP reply of an IPoIB link.
[[nodiscard]] std::optional<ArpReplier> arpReplier(io::View packet);

class ArpListener
{
  public:
    [[nodiscard]] static io::Result<ArpListener> open();

    [[nodiscard]] int fd() const { return fd_.get(); }
    // Hand the interface and the sender of each reply that has come to @each, as many as may be
    // taken at once. Whether there may be more.
    bool receive(const std::function<void(int interface, const ArpReplier &from)> &each) const;

  private:
    explicit ArpListener(io::UniqueFd fd) : fd_(std::move(fd)) {}

    io::UniqueFd fd_;
};

} // namespace openipoib::ha
