// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The kernel's side of a pair and of those who may take a place in it: what there is, and changes
// to it.
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

    // The interfaces of these names and their children, with all that belongs to them, in this
    // order. An interface that is not there has no index.
    [[nodiscard]] io::Result<std::vector<Row>> see(const std::vector<std::string> &names, Time now);

    // One after the other, whether or not one fails. @others: interfaces, and which ones stand
    // for them.
    [[nodiscard]] std::vector<Outcome> execute(const Steps &steps, const Indexes &others, Time now);

    // As of the last see(); nullptr: there is none.
    [[nodiscard]] const netlink::Link *link(int index) const;

  private:
    explicit Kernel(netlink::Socket socket) : socket_(std::move(socket)) {}

    // nullptr: it belongs to none
    [[nodiscard]] const netlink::Link *vrfOf(const netlink::Link &link) const;
    [[nodiscard]] Interface describe(const netlink::Link &link) const;
    void addChildren(std::vector<Row> &rows, std::size_t place, int parent,
                     const std::vector<std::string> &names) const;
    [[nodiscard]] io::Result<void> pieces(std::vector<Row> &rows, Time now);
    [[nodiscard]] io::Result<void> dump(const netlink::Message &request, std::vector<Row> &rows,
                                        Time now);
    [[nodiscard]] io::Result<void> change(const Step &step);
    void executeItems(std::span<const Step> steps, const Indexes &others, Time now,
                      std::vector<Outcome> &outcomes);

    netlink::Socket socket_;
    std::vector<netlink::Link> links_;
};

} // namespace openipoib::ha
