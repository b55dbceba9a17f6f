// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A kernel in memory, with the rules that the bonding driver and IPoIB have.
#pragma once

#include "bonding/system.hpp"

#include <algorithm>
#include <cerrno>
#include <set>

namespace openipoib::bonding
{

class BondMachine final : public System
{
  public:
    State state;
    std::vector<std::string> log;
    std::optional<std::size_t> failAt; // that step, counted from 0
    std::size_t steps = 0;
    std::set<StepKind> ineffective;
    std::map<std::string, unsigned> mtuBefore; // of slaves, given back by the driver

    // Two ports, up, with the addresses that every interface has: none.
    BondMachine()
    {
        state.interfaces["lo"] = {};
        state.interfaces["eth0"] = ethernet();
        for (const char *name : {"ib0", "ib1", "ib2"})
            state.interfaces[name] = port();
    }

    static netlink::Address address(const std::string &text)
    {
        return *netlink::parseAddress(text);
    }
    static Interface ethernet()
    {
        Interface out;
        out.up = out.running = true;
        out.mtu = 1500;
        out.addresses = {address("192.168.1.5/24")};
        return out;
    }
    static Interface port()
    {
        Interface out;
        out.infiniband = out.up = out.running = true;
        out.mtu = 2044;
        out.connected = false;
        return out;
    }
    Interface &operator[](const std::string &name) { return state.interfaces.at(name); }

    io::Result<State> read() override { return state; }

    io::Result<void> execute(const Step &step) override
    {
        log.push_back(command(step));
        if (failAt && steps++ == *failAt)
            return io::fail(EIO, "injected");
        if (ineffective.contains(step.kind))
            return {};
        return perform(step);
    }

    // What the kernel does when an interface goes.
    void unplug(const std::string &name)
    {
        const std::string bond = (*this)[name].master;
        state.interfaces.erase(name);
        if (!bond.empty() && state.slavesOf(bond).empty())
            state.interfaces.erase(bond);
        else if (!bond.empty())
            elect(bond);
    }

  private:
    static unsigned highest(const Interface &interface)
    {
        if (interface.bond)
            return 65535;
        return interface.connected.value_or(false) ? 65520 : 2044;
    }

    void elect(const std::string &bond)
    {
        auto &active = (*this)[bond].bond->active;
        active.clear();
        if (const auto slaves = state.slavesOf(bond); !slaves.empty())
            active = slaves.front();
        (*this)[bond].running = !active.empty();
    }

    io::Result<void> enslave(const std::string &name, const std::string &bondName)
    {
        Interface &slave = (*this)[name];
        if (!state.interface(bondName))
            return io::fail(ENODEV, bondName);
        const Interface &bond = (*this)[bondName];
        if (slave.up)
            return io::fail(EPERM, "Device can not be enslaved while up");
        if (!slave.master.empty())
            return io::fail(EBUSY, name);
        if (bond.bond->mode != activeBackup && slave.infiniband)
            return io::fail(EOPNOTSUPP, "Only active-backup mode");
        if (bond.mtu > highest(slave))
            return io::fail(EINVAL, name);
        mtuBefore[name] = slave.mtu;
        slave.mtu = bond.mtu;
        slave.up = true;
        slave.master = bondName;
        slave.slave = Slave{.linkUp = true, .failures = 0};
        elect(bondName);
        return {};
    }

    void release(const std::string &name)
    {
        Interface &slave = (*this)[name];
        const std::string bond = slave.master;
        slave.master.clear();
        slave.slave.reset();
        slave.up = false;
        slave.mtu = mtuBefore[name];
        elect(bond);
    }

    io::Result<void> create(const Step &step)
    {
        if (state.interface(step.target))
            return io::fail(EEXIST, step.target);
        Interface bond;
        bond.mtu = step.mtu;
        bond.bond = Bond{step.value, step.options, {}, {}};
        state.interfaces[step.target] = std::move(bond);
        return {};
    }

    io::Result<void> setMode(const std::string &name, bool connected)
    {
        Interface &interface = (*this)[name];
        if (!interface.connected)
            return io::fail(EOPNOTSUPP, name);
        interface.connected = connected;
        interface.mtu = connected ? 65520 : std::min(interface.mtu, 2044U);
        return {};
    }

    io::Result<void> changeAddress(const Step &step)
    {
        auto &all = (*this)[step.target].addresses;
        const auto found = std::ranges::find(all, step.address);
        if (step.kind == StepKind::addAddress) {
            if (found != all.end())
                return io::fail(EEXIST, step.target);
            all.push_back(step.address);
            return {};
        }
        if (found == all.end())
            return io::fail(EADDRNOTAVAIL, step.target);
        all.erase(found);
        return {};
    }

    io::Result<void> perform(const Step &step)
    {
        if (step.kind == StepKind::loadDriver) {
            state.driver = true;
            return {};
        }
        if (step.kind == StepKind::keepRecord || step.kind == StepKind::dropRecord) {
            state.records.erase(step.target);
            if (step.kind == StepKind::keepRecord)
                state.records[step.target] = step.record;
            return {};
        }
        if (step.kind == StepKind::createBond)
            return state.driver ? create(step) : io::Result<void>(io::fail(EOPNOTSUPP, "bond"));
        if (!state.interface(step.target))
            return io::fail(ENODEV, step.target);
        return change(step);
    }

    io::Result<void> change(const Step &step)
    {
        Interface &interface = (*this)[step.target];
        switch (step.kind) {
        case StepKind::setBond:
            interface.bond->options = step.options;
            return {};
        case StepKind::deleteBond:
            for (const auto &slave : state.slavesOf(step.target))
                release(slave);
            state.interfaces.erase(step.target);
            return {};
        case StepKind::setDown:
            std::erase_if(interface.addresses,
                          [](const auto &one) { return one.local.size() == 16; });
            interface.up = false;
            return {};
        case StepKind::setUp:
            interface.up = true;
            return {};
        case StepKind::setMode:
            return setMode(step.target, step.value == "connected");
        case StepKind::setMtu:
            if (step.mtu > highest(interface))
                return io::fail(EINVAL, step.target);
            interface.mtu = step.mtu;
            return {};
        case StepKind::enslave:
            return enslave(step.target, step.value);
        case StepKind::release:
            if (interface.master != step.value)
                return io::fail(EINVAL, step.target);
            release(step.target);
            return {};
        default:
            return changeAddress(step);
        }
    }
};

} // namespace openipoib::bonding
