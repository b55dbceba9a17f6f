// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Classic BPF for a socket: the kernel drops what is not wanted before it takes room in the
// socket's queue, or wakes the daemon.
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <linux/filter.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace openipoib::ha
{

// Rules, in the order in which a packet meets them; what none accepts is dropped. Offsets are
// bytes from the beginning of the network layer's header; a packet that ends before them is
// dropped.
class PacketFilter
{
  public:
    // Drop what has not this value in the @bytes (1, 2 or 4; network order) there.
    PacketFilter &require(unsigned bytes, std::size_t at, unsigned value);
    // Accept what has @field there, whose size is a multiple of four bytes; all, if it is empty.
    PacketFilter &accept(std::size_t at, io::View field);

    // Let it decide from now on. Errors: setsockopt()'s; @what: the socket, for their text.
    [[nodiscard]] io::Result<void> attach(const io::UniqueFd &fd, std::string_view what) const;

  private:
    std::vector<sock_filter> rules_;
};

} // namespace openipoib::ha
