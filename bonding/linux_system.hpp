// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The machine itself: rtnetlink, sysfs, and the records.
#pragma once

#include "bonding/record_store.hpp"
#include "bonding/system.hpp"
#include "netlink/bond.hpp"
#include "netlink/socket.hpp"

namespace openipoib::bonding
{

class LinuxSystem final : public System
{
  public:
    [[nodiscard]] static io::Result<LinuxSystem> open();

    [[nodiscard]] io::Result<State> read() override;
    [[nodiscard]] io::Result<void> execute(const Step &step) override;

    LinuxSystem(LinuxSystem &&other) noexcept
        : store_(std::move(other.store_)), socket_(std::move(other.socket_))
    {
    }

  private:
    explicit LinuxSystem(netlink::Socket socket) : socket_(std::move(socket)) {}

    [[nodiscard]] io::Result<void> createBond(const Step &step);
    [[nodiscard]] io::Result<void> enslave(const Step &step, const netlink::Link &link);
    [[nodiscard]] io::Result<void> change(const Step &step, const netlink::Link &link);
    [[nodiscard]] io::Result<netlink::Bond> bondFor(const Step &step);

    RecordStore store_;
    netlink::Socket socket_;
};

} // namespace openipoib::bonding
