// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A machine for tests: it does what predict() says, makes interfaces when
// ib_ipoib is loaded, and refuses what it is told to refuse.
#pragma once

#include "conf/openib/plan.hpp"
#include "conf/openib/system.hpp"

#include <map>

namespace openipoib::openib
{

class Machine final : public System
{
  public:
    State state;
    std::vector<Interface> plugged; // appear with ib_ipoib
    std::map<Step, int> refusals;   // errno
    bool hasConnectedMode = true;
    bool hasOwnQueues = true; // the parameter of ib_ipoib
    bool accelerates = false; // the HCA, where the parameter does not say that it is not to
    std::set<Step> ineffective;
    std::vector<Stale> staleModules;
    std::vector<std::string> log;
    int lastIndex = 1;

    // Two ports, nothing loaded.
    Machine()
    {
        state.hcas = {{"mlx5_0", "node1 mlx5_0", {Port{}}}};
        state.hardware = {"mlx5_core"};
        state.available = {"mlx5_core", "mlx5_ib",  "ib_umad", "ib_uverbs",
                           "rdma_cm",   "rdma_ucm", "ib_ipoib"};
        state.sysctls = {{"net.core.rmem_max", 212992}, {"net.core.wmem_max", 1U << 30}};
        plugged = {port("ib0", 1), port("ib1", 2)};
    }

    static Interface port(const std::string &name, unsigned number)
    {
        Interface interface;
        interface.name = name;
        interface.connected = false;
        interface.mtu = 2044;
        interface.hca = "mlx5_0";
        interface.port = number;
        return interface;
    }

    // The HCA's interfaces are made.
    void plug()
    {
        if (!hasOwnQueues)
            state.ownQueues.reset();
        state.interfaces = plugged;
        for (auto &one : state.interfaces)
            one.takesConnections = !accelerates || isDeclined(one);
    }
    [[nodiscard]] bool isDeclined(const Interface &interface) const
    {
        const auto names = state.ownQueues.value_or(std::set<std::string>());
        return names.contains("all") || names.contains(interface.hca) ||
               names.contains(interface.hca + "/" + std::to_string(interface.port));
    }

    io::Result<State> read() override { return state; }
    std::vector<Stale> stale() override { return staleModules; }

    io::Result<void> execute(const Step &step) override
    {
        log.push_back(text(step));
        if (const auto refused = refusals.find(step); refused != refusals.end())
            return io::fail(refused->second, step.target);
        const bool mode = step.kind == StepKind::setMode || step.kind == StepKind::tryMode;
        if (mode && step.value == "connected" && !hasConnectedMode)
            return io::fail(EOPNOTSUPP, "/sys/class/net/" + step.target + "/mode");
        const Interface *interface = state.interface(step.target);
        const bool connected = interface && interface->connected.value_or(false);
        if (step.kind == StepKind::setMtu && !connected && std::stoul(step.value) > 4092)
            return io::fail(EINVAL, step.target);
        if (ineffective.contains(step))
            return {};
        predict(step, state);
        if (step.kind == StepKind::loadModule && step.target == "ib_ipoib")
            plug();
        for (auto &one : state.interfaces)
            if (!one.index)
                one.index = ++lastIndex;
        return {};
    }
};

} // namespace openipoib::openib
