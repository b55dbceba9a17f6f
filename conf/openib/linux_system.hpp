// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The machine itself: rtnetlink, sysfs, libkmod, and the programs of HA and
// bonds. What is written is read back.
#pragma once

#include "conf/openib/linux_ha.hpp"
#include "conf/openib/linux_modules.hpp"
#include "conf/openib/linux_state.hpp"
#include "conf/openib/system.hpp"

namespace openipoib::openib
{

class LinuxSystem final : public System
{
  public:
    // @configuration: the path of openib.conf
    [[nodiscard]] static io::Result<LinuxSystem> open(const std::string &configuration);

    [[nodiscard]] io::Result<State> read() override;
    // Without users, for which the files of all processes are looked at, and soon, whatever other
    // programs do.
    [[nodiscard]] io::Result<State> glance();
    [[nodiscard]] std::vector<Stale> stale() override;
    [[nodiscard]] io::Result<void> execute(const Step &step) override;

    LinuxSystem(LinuxSystem &&other) noexcept
        : roots_(std::move(other.roots_)), ha_(std::move(other.ha_)),
          modules_(std::move(other.modules_)), socket_(std::move(other.socket_)),
          ethtool_(std::move(other.ethtool_))
    {
    }

  private:
    LinuxSystem(netlink::Socket socket, netlink::Ethtool ethtool)
        : socket_(std::move(socket)), ethtool_(std::move(ethtool))
    {
    }

    [[nodiscard]] io::Result<void> setMtu(const Step &step);
    [[nodiscard]] io::Result<void> addChild(const Step &step);
    [[nodiscard]] io::Result<State> readBut(const HaPlaces &places);
    void readModulesOf(State &state) const;
    void readQueues(Interface &interface) const;
    [[nodiscard]] io::Result<void> describe(const Step &step) const;

    Roots roots_;
    HaPlaces ha_;
    Modules modules_;
    netlink::Socket socket_;
    netlink::Ethtool ethtool_;
};

} // namespace openipoib::openib
