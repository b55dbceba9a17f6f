// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Asks hosts by one interface whether they are there, IPv4 by ARP and IPv6 by neighbour
// discovery, and hears who answers, on whatever interface.
#pragma once

#include "ha-daemon/linux/announcer.hpp"
#include "ha-daemon/linux/arp_listener.hpp"
#include "ha-daemon/linux/solicitor.hpp"

#include <optional>
#include <vector>

namespace openipoib::ha
{

class Prober
{
  public:
    // For these addresses, of 4 or 16 bytes; without any it needs no socket.
    [[nodiscard]] static io::Result<Prober> open(const std::vector<io::Bytes> &addresses);

    [[nodiscard]] std::vector<int> fds() const;
    // @address: one of those that it was opened for
    [[nodiscard]] io::Result<void> ask(const Announcer &announcer, const netlink::Link &link,
                                       io::View address) const;
    // Hand the interface and the address of each answer that has come to @each.
    void receive(const std::function<void(int interface, io::View from)> &each) const;

  private:
    Prober() = default;

    std::optional<ArpListener> arp_;
    std::optional<Solicitor> solicitor_;
};

} // namespace openipoib::ha
