// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The kernel's side of a pair: what it has, and changes to it.
#pragma once

#include "ha-daemon/core/event.hpp"
#include "ha-daemon/linux/legs.hpp"
#include "netlink/link.hpp"
#include "netlink/socket.hpp"

namespace openipoib::ha
{

class Kernel
{
  public:
    [[nodiscard]] static io::Result<Kernel> open();

    // The two interfaces and their children, with all that belongs to them. An
    // interface that is not there has no index.
    [[nodiscard]] io::Result<std::vector<Lane>> see(const std::string &primary,
                                                    const std::string &secondary, Time now);

    // One after the other, whether or not one fails.
    [[nodiscard]] std::vector<Outcome> execute(const Steps &steps, Time now);

    // As of the last see(); nullptr: there is none.
    [[nodiscard]] const netlink::Link *link(int index) const;

  private:
    explicit Kernel(netlink::Socket socket) : socket_(std::move(socket)) {}

    // nullptr: it belongs to none
    [[nodiscard]] const netlink::Link *vrfOf(const netlink::Link &link) const;
    [[nodiscard]] Interface describe(const netlink::Link &link) const;
    [[nodiscard]] io::Result<void> pieces(std::vector<Lane> &lanes, Time now);
    [[nodiscard]] io::Result<void> dump(const netlink::Message &request, std::vector<Lane> &lanes,
                                        Time now);
    [[nodiscard]] io::Result<void> change(const Step &step);
    [[nodiscard]] Indexes movedBy(std::span<const Step> steps) const;
    void executeItems(std::span<const Step> steps, Time now, std::vector<Outcome> &outcomes);

    netlink::Socket socket_;
    std::vector<netlink::Link> links_;
    Indexes others_; // the interfaces that stand for each other
};

} // namespace openipoib::ha
