// SPDX-License-Identifier: GPL-2.0-only OR MIT
// BFD Control packets of one interface, over UDP and IPv6 (RFC 5881) from and to link-local
// addresses: a port that stands by has no other address.
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace openipoib::ha
{

inline constexpr std::uint16_t bfdPort = 3784;

class BfdSocket
{
  public:
    // @peers: whose packets are wanted, addresses of 16 bytes; the kernel drops those of others
    // before they take room that is needed. Errors: EADDRINUSE when another program has the port.
    [[nodiscard]] static io::Result<BfdSocket> open(int interface,
                                                    const std::vector<io::Bytes> &peers);

    [[nodiscard]] int fd() const { return in_.get(); }
    // Errors: EADDRNOTAVAIL and the like when the interface has no link-local address.
    [[nodiscard]] io::Result<void> send(io::View peer, io::View packet) const;
    // Hand all that has come to @each, and what hop limit it has.
    using Each = std::function<void(io::View from, int hops, io::View payload)>;
    void receive(const Each &each) const;

  private:
    BfdSocket(int interface, io::UniqueFd in, io::UniqueFd out)
        : interface_(interface), in_(std::move(in)), out_(std::move(out))
    {
    }

    int interface_;
    io::UniqueFd in_;
    io::UniqueFd out_; // from a port of those that the RFC wants
};

} // namespace openipoib::ha
