// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "openib_machine.hpp"

#include "conf/openib/commands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace openipoib::openib
{
namespace
{

using Lines = std::vector<std::string>;

class OpenibTest : public testing::Test
{
  protected:
    // Run a command with this openib.conf.
    Exit run(const std::string &command, const std::string &conf, const std::string &device = {})
    {
        machine.log.clear();
        out.str({});
        err.str({});
        Commands commands(machine, options, out, err);
        if (const Exit configured = commands.configure(conf, {.hostName = "node1"});
            configured != Exit::done)
            return configured;
        if (command == "start")
            return commands.start();
        if (command == "stop")
            return commands.stop();
        if (command == "restart")
            return commands.restart();
        if (command == "apply")
            return commands.apply(device);
        if (command == "keep")
            return commands.keep();
        return commands.status();
    }

    // What an administrator does by hand, and modprobe -r and modprobe after it
    Interface &interface(const std::string &name)
    {
        return *std::ranges::find(machine.state.interfaces, name, &Interface::name);
    }
    void reloadDriver()
    {
        EXPECT_EQ(run("keep", ""), Exit::done) << err.str();
        predict({StepKind::unloadModule, "ib_ipoib", {}, {}}, machine.state);
        EXPECT_TRUE(machine.execute({StepKind::loadModule, "ib_ipoib", {}, {}}));
    }

    // What openib answers the service, modprobe or openibd with this file.
    Exit allows(const std::string &what, const io::Result<std::string> &conf)
    {
        out.str({});
        err.str({});
        Commands commands(machine, options, out, err);
        return commands.allows(what, conf, {.hostName = "node1"}, booting);
    }

    [[nodiscard]] bool said(const std::string &what) const
    {
        return err.str().find(what) != std::string::npos;
    }

    Machine machine;
    Options options{.file = "openib.conf"};
    bool booting = false;
    std::ostringstream out;
    std::ostringstream err;
};

constexpr auto connected = "SET_IPOIB_CM=yes\nIPOIB_MTU=65520\n";

TEST_F(OpenibTest, StartsInOrder)
{
    EXPECT_EQ(run("start", connected), Exit::done) << err.str();
    EXPECT_EQ(
        machine.log,
        (Lines{"load module mlx5_core", "load module mlx5_ib", "load module ib_umad",
               "load module ib_uverbs", "load module rdma_cm", "load module rdma_ucm",
               "load module ib_ipoib", "set ib0 to connected mode", "set ib1 to connected mode",
               "set the MTU of ib0 to 65520", "set the MTU of ib1 to 65520"}));
    EXPECT_EQ(run("start", connected), Exit::done);
    EXPECT_EQ(machine.log, Lines{}) << "a second start has nothing to do";
    EXPECT_EQ(run("status", connected), Exit::done) << out.str();
}

TEST_F(OpenibTest, OnlyWhatIsThereAndAskedFor)
{
    machine.state.hardware = {};
    machine.state.available.erase("ib_umad");
    machine.state.builtIn = {"ib_uverbs"};
    EXPECT_EQ(run("start", "RDMA_CM_LOAD=no\nRDMA_UCM_LOAD=no\n"), Exit::done);
    EXPECT_EQ(machine.log, Lines{"load module ib_ipoib"});
}

TEST_F(OpenibTest, IpoibLoadNo)
{
    EXPECT_EQ(run("start", "IPOIB_LOAD=no\nSET_IPOIB_CM=yes\n"), Exit::done);
    EXPECT_FALSE(machine.state.modules.contains("ib_ipoib"));
    EXPECT_TRUE(machine.state.modules.contains("rdma_ucm"));
}

TEST_F(OpenibTest, OnBootNoIsForTheBootOnly)
{
    options.boot = true;
    EXPECT_EQ(run("start", "ONBOOT=no\n"), Exit::done);
    EXPECT_EQ(machine.log, Lines{});
    options.boot = false;
    EXPECT_EQ(run("start", "ONBOOT=no\n"), Exit::done);
    EXPECT_FALSE(machine.log.empty());
}

TEST_F(OpenibTest, WhatTheServiceAndModprobeAsk)
{
    EXPECT_EQ(allows("boot", "ONBOOT=no\n"), Exit::done);
    booting = true;
    EXPECT_EQ(allows("boot", "ONBOOT=yes\n"), Exit::done);
    EXPECT_EQ(allows("boot", "ONBOOT=no\n"), Exit::refused);
    EXPECT_TRUE(said("ONBOOT=no"));
    EXPECT_EQ(allows("ipoib", "IPOIB_LOAD=yes\n"), Exit::done);
    EXPECT_EQ(allows("ipoib", "IPOIB_LOAD=no\n"), Exit::refused);
    EXPECT_TRUE(said("IPOIB_LOAD=no"));
    EXPECT_EQ(allows("stop", "ALLOW_STOP=yes\n"), Exit::done);
    machine.state.users = {"opensm (process 7) uses umad0"};
    EXPECT_EQ(allows("stop", "ALLOW_STOP=yes\n"), Exit::refused);
    EXPECT_TRUE(said("not stopped: opensm (process 7) uses umad0"));
    EXPECT_EQ(machine.log, Lines{});
}

TEST_F(OpenibTest, WithoutAFileModprobeLoads)
{
    EXPECT_EQ(allows("ipoib", io::fail(ENOENT, "openib.conf")), Exit::done);
    EXPECT_EQ(err.str(), "");
    EXPECT_EQ(allows("ipoib", io::fail(EIO, "openib.conf")), Exit::badConfig);
    EXPECT_EQ(allows("ipoib", "IPOIB_LOD=no\n"), Exit::badConfig) << "it may say: do not";
    EXPECT_EQ(allows("stop", io::fail(ENOENT, "openib.conf")), Exit::badConfig);
}

TEST_F(OpenibTest, TheServiceIsToldOnce)
{
    // The start follows, and it is the start that has to fail.
    for (const io::Result<std::string> &conf :
         {io::Result<std::string>("IPOIB_LOD=no\n"), io::Result<std::string>("IPOIB_MTU=65520\n"),
          io::Result<std::string>(io::fail(ENOENT, "openib.conf"))}) {
        EXPECT_EQ(allows("boot", conf), Exit::done);
        EXPECT_EQ(err.str(), "");
    }
}

TEST_F(OpenibTest, BrokenFileChangesNothing)
{
    EXPECT_EQ(run("start", "IPOIB_LOD=no\nSET_IPOIB_CM=yes\n"), Exit::badConfig);
    EXPECT_EQ(machine.log, Lines{});
    EXPECT_TRUE(said("openib.conf:1:1: error: IPOIB_LOD: unknown key; did you mean IPOIB_LOAD?"));
}

TEST_F(OpenibTest, ADriverWithoutConnectedMode)
{
    machine.hasConnectedMode = false;
    EXPECT_EQ(run("start", connected), Exit::degraded);
    EXPECT_TRUE(
        said("openib: failed: set ib0 to connected mode: /sys/class/net/ib0/mode: "
             "Operation not supported; the driver or the adapter of ib0 has no connected mode; "
             "set SET_IPOIB_CM_ib0=no, or SET_IPOIB_CM=auto for all, or load a driver "
             "that has it, or, if the adapter accelerates ib0, name it in IPOIB_OWN_QUEUES"))
        << err.str();
    EXPECT_TRUE(said("failed: set ib1 to connected mode"));
    EXPECT_EQ(machine.state.interface("ib0")->mtu, 2044u) << "65520 is not tried in datagram mode";
    // auto is content with datagram mode.
    EXPECT_EQ(run("start", "SET_IPOIB_CM=auto\nIPOIB_MTU=65520\n"), Exit::done) << err.str();
    EXPECT_NE(out.str().find("ib1: no connected mode, stays in datagram mode"), std::string::npos);
    EXPECT_EQ(run("status", "SET_IPOIB_CM=auto\n"), Exit::done);
    EXPECT_EQ(run("status", connected), Exit::degraded);
}

TEST_F(OpenibTest, PerInterface)
{
    EXPECT_EQ(run("start", "SET_IPOIB_CM=yes\nIPOIB_MTU=65520\nSET_IPOIB_CM_ib1=no\n"
                           "IPOIB_MTU_ib1=2000\nIPOIB_MTU_ib0=32000\nIPOIB_CHILDREN_ib0=8001\n"),
              Exit::done)
        << err.str();
    EXPECT_EQ(machine.state.interface("ib0")->mtu, 32000u);
    EXPECT_EQ(machine.state.interface("ib1")->mtu, 2000u);
    EXPECT_EQ(machine.state.interface("ib1")->connected, false);
    const Interface *child = machine.state.interface("ib0.8001");
    ASSERT_TRUE(child);
    EXPECT_EQ(child->pkey, 0x8001);
    EXPECT_EQ(child->connected, true);
    EXPECT_EQ(child->mtu, 65520u);
}

TEST_F(OpenibTest, BackToDatagram)
{
    ASSERT_EQ(run("start", connected), Exit::done);
    EXPECT_EQ(run("start", "SET_IPOIB_CM=no\nIPOIB_MTU=2044\n"), Exit::done);
    EXPECT_EQ(machine.state.interface("ib0")->connected, false);
    EXPECT_EQ(machine.state.interface("ib0")->mtu, 2044u);
}

TEST_F(OpenibTest, NodeDescription)
{
    machine.state.hcas.push_back({"mlx5_1", "", {}});
    EXPECT_EQ(run("start", "NODE_DESC=$(hostname -s)-ib\n"), Exit::done);
    EXPECT_EQ(machine.state.hcas[0].description, "node1-ib HCA-1");
    EXPECT_EQ(machine.state.hcas[1].description, "node1-ib HCA-2");
}

TEST_F(OpenibTest, SysctlsAreOnlyRaised)
{
    EXPECT_EQ(run("start", "RUN_SYSCTL=yes\n"), Exit::done);
    EXPECT_EQ(machine.state.sysctls["net.core.rmem_max"], 16U << 20);
    EXPECT_EQ(machine.state.sysctls["net.core.wmem_max"], 1U << 30);
}

TEST_F(OpenibTest, HighAvailabilityWinsOverBonds)
{
    EXPECT_EQ(run("start", "IPOIBHA_ENABLE=yes\nPRIMARY_IPOIB_DEV=ib0\nSECONDARY_IPOIB_DEV=ib1\n"
                           "IPOIBBOND_ENABLE=yes\nIPOIB_BONDS=bond0\nbond0_IP=10.10.10.1\n"
                           "bond0_SLAVES=ib0,ib1\n"),
              Exit::done);
    EXPECT_TRUE(machine.state.haRunning);
    EXPECT_TRUE(machine.state.bonds.empty());
    EXPECT_TRUE(said("bonds are not created, because IPOIBHA_ENABLE=yes"));
    // Taken out of the file, it ends.
    EXPECT_EQ(run("start", "IPOIBHA_ENABLE=no\n"), Exit::done);
    EXPECT_FALSE(machine.state.haRunning);
}

TEST_F(OpenibTest, HighAvailabilityOfOtherPairsThanBefore)
{
    const std::string ha = "IPOIBHA_ENABLE=yes\nPRIMARY_IPOIB_DEV=ib0\nSECONDARY_IPOIB_DEV=";
    machine.plugged.push_back(Machine::port("ib2", 3));
    ASSERT_EQ(run("start", ha + "ib1\n"), Exit::done);
    machine.state.haPairs = {"ib0+ib1"};
    machine.log.clear();
    EXPECT_EQ(run("start", ha + "ib1\n"), Exit::done);
    EXPECT_TRUE(machine.log.empty());
    EXPECT_EQ(run("start", ha + "ib2\n"), Exit::done);
    EXPECT_EQ(machine.log,
              std::vector<std::string>{"have ipoib-ha read its configuration again, for ib0+ib2"});
    EXPECT_TRUE(machine.state.haRunning);
    // In another order it is another pair.
    const std::string swapped = "IPOIBHA_ENABLE=yes\nPRIMARY_IPOIB_DEV=ib2\nSECONDARY_IPOIB_DEV=";
    EXPECT_EQ(run("start", swapped + "ib0\n"), Exit::done);
    EXPECT_EQ(machine.log,
              std::vector<std::string>{"have ipoib-ha read its configuration again, for ib2+ib0"});
    machine.state.haPairs = {"ib2+ib0:ib1"};
    EXPECT_EQ(run("start", swapped + "ib1:ib0\n"), Exit::done);
    EXPECT_EQ(machine.log, std::vector<std::string>{
                               "have ipoib-ha read its configuration again, for ib2+ib1:ib0"});
    // Whose interfaces it has not seen, or who may not be asked, is believed.
    machine.state.haPairs = {""};
    EXPECT_EQ(run("start", ha + "ib1\n"), Exit::done);
    machine.state.haPairs.reset();
    EXPECT_EQ(run("start", ha + "ib1\n"), Exit::done);
    EXPECT_TRUE(machine.log.empty());
}

TEST_F(OpenibTest, HighAvailabilityThatDoesNotSayWhatItKeeps)
{
    const std::string file = "IPOIBHA_ENABLE=yes\nPRIMARY_IPOIB_DEV=ib0\nSECONDARY_IPOIB_DEV=ib1\n";
    ASSERT_EQ(run("start", file), Exit::done);
    machine.state.haWrong = "ipoib-ha: has not ended: Connection timed out";
    EXPECT_EQ(run("start", file), Exit::degraded);
    EXPECT_TRUE(said("it is not known which pairs ipoib-ha keeps: ipoib-ha: has not ended: "
                     "Connection timed out"));
    EXPECT_EQ(run("stop", file), Exit::done);
    EXPECT_FALSE(machine.state.haRunning);
}

TEST_F(OpenibTest, HighAvailabilityWithoutItsSecondInterface)
{
    machine.plugged.pop_back();
    EXPECT_EQ(run("start", "IPOIBHA_ENABLE=yes\nPRIMARY_IPOIB_DEV=ib0\nSECONDARY_IPOIB_DEV=ib1\n"),
              Exit::degraded);
    EXPECT_TRUE(said("ib0+ib1 is not highly available: there is no interface ib1"));
    EXPECT_TRUE(said("ipoib-ha is not started: no pair is complete"));
    EXPECT_FALSE(machine.state.haRunning);
}

TEST_F(OpenibTest, HighAvailabilityWhereInterfacesHaveOtherNames)
{
    machine.plugged[0].name = "ibp59s0";
    machine.plugged[1].name = "ibp59s0d1";
    EXPECT_EQ(run("start", "IPOIBHA_ENABLE=yes\n"), Exit::degraded);
    EXPECT_TRUE(said("ib0+ib1 is not highly available: there is no interface ib0"));
    EXPECT_TRUE(said("PRIMARY_IPOIB_DEV and SECONDARY_IPOIB_DEV may name ibp59s0, ibp59s0d1"));
    EXPECT_FALSE(machine.state.haRunning);
}

TEST_F(OpenibTest, HighAvailabilityOfThePairsThatAreComplete)
{
    EXPECT_EQ(run("start", "IPOIBHA_ENABLE=yes\nPRIMARY_IPOIB_DEV=ib0,ib8\n"
                           "SECONDARY_IPOIB_DEV=ib1,ib9\n"),
              Exit::degraded);
    EXPECT_TRUE(said("ib8+ib9 is not highly available: there is no interface ib8"));
    EXPECT_TRUE(machine.state.haRunning);
}

TEST_F(OpenibTest, HighAvailabilityWithoutASpareInterface)
{
    const std::string file = "IPOIBHA_ENABLE=yes\nPRIMARY_IPOIB_DEV=ib0\n";
    EXPECT_EQ(run("start", file + "SECONDARY_IPOIB_DEV=ib1:ib9\n"), Exit::degraded);
    EXPECT_TRUE(said("ib0+ib1:ib9 is less highly available: there is no interface ib9"));
    EXPECT_TRUE(machine.state.haRunning);
    EXPECT_EQ(run("stop", file), Exit::done);
    EXPECT_EQ(run("start", file + "SECONDARY_IPOIB_DEV=ib8:ib9\n"), Exit::degraded);
    EXPECT_TRUE(said("ib0+ib8:ib9 is not highly available: there is no interface ib8"));
    EXPECT_FALSE(machine.state.haRunning);
}

constexpr auto bonds = "SET_IPOIB_CM=yes\nIPOIBBOND_ENABLE=yes\nIPOIB_BONDS=bond0\n"
                       "bond0_IP=10.10.10.1\nbond0_SLAVES=ib0,ib1\n";

TEST_F(OpenibTest, SlavesAreReadyBeforeTheirBond)
{
    EXPECT_EQ(run("start", bonds), Exit::done);
    ASSERT_FALSE(machine.log.empty());
    EXPECT_EQ(machine.log.back(), "create bond0 with 10.10.10.1 of ib0, ib1");
    EXPECT_EQ(machine.state.interface("ib0")->mtu, 65520u);
}

TEST_F(OpenibTest, ASlaveThatComesBackIsTakenIn)
{
    ASSERT_EQ(run("start", bonds), Exit::done);
    machine.state.bonds["bond0"].erase("ib1");
    *std::ranges::find(machine.state.interfaces, "ib1", &Interface::name) = Machine::port("ib1", 2);
    EXPECT_EQ(run("apply", bonds, "ib1"), Exit::done);
    EXPECT_EQ(machine.log, (Lines{"set ib1 to connected mode", "set the MTU of ib1 to 65520",
                                  "create bond0 with 10.10.10.1 of ib0, ib1"}));
    EXPECT_EQ(run("apply", bonds, "ib7"), Exit::degraded);
    EXPECT_TRUE(said("there is no IPoIB interface or adapter 'ib7'"));
}

TEST_F(OpenibTest, ApplyLoadsNothing)
{
    EXPECT_EQ(run("apply", connected), Exit::done);
    EXPECT_EQ(machine.log, Lines{});
}

// What root is told where the kernel is locked down, but checks no signatures itself
TEST_F(OpenibTest, AModuleThatALockedDownKernelRefuses)
{
    machine.refusals[{StepKind::loadModule, "ib_ipoib", {}, {}}] = EPERM;
    EXPECT_EQ(run("start", connected), Exit::failed);
    EXPECT_TRUE(said("a kernel that is locked down for Secure Boot accepts signed modules only"))
        << err.str();
}

TEST_F(OpenibTest, AFailureHalfWayIsNamedAndSurvived)
{
    machine.refusals[{StepKind::loadModule, "rdma_ucm", {}, {}}] = EKEYREJECTED;
    EXPECT_EQ(run("start", connected), Exit::failed);
    EXPECT_TRUE(said("failed: load module rdma_ucm: rdma_ucm: Key was rejected by service; Secure "
                     "Boot accepts signed modules only"))
        << err.str();
    EXPECT_EQ(machine.state.interface("ib0")->mtu, 65520u) << "the rest is done";
    EXPECT_EQ(run("stop", connected), Exit::done) << err.str();
    EXPECT_FALSE(machine.state.modules.contains("ib_ipoib"));
    machine.refusals.clear();
    EXPECT_EQ(run("start", connected), Exit::done);
}

TEST_F(OpenibTest, AStepWithoutEffectIsAFailure)
{
    machine.ineffective.insert({StepKind::setMtu, "ib0", "65520", {}});
    EXPECT_EQ(run("start", connected), Exit::degraded);
    EXPECT_TRUE(said("set the MTU of ib0 to 65520: done without effect")) << err.str();
}

TEST_F(OpenibTest, StopUnloadsFromTheTop)
{
    ASSERT_EQ(run("start", connected), Exit::done);
    machine.state.modules["ib_core"].holders = {"ib_ipoib", "mlx5_ib", "nvme_rdma"};
    machine.state.modules["rdma_cm"].holders = {"rdma_ucm"};
    EXPECT_EQ(run("stop", connected), Exit::done);
    EXPECT_EQ(machine.log,
              (Lines{"unload module ib_ipoib", "unload module rdma_ucm", "unload module ib_umad",
                     "unload module mlx5_ib", "unload module ib_uverbs", "unload module rdma_cm"}));
    EXPECT_TRUE(machine.state.modules.contains("mlx5_core")) << "it also serves Ethernet";
    EXPECT_TRUE(machine.state.modules.contains("ib_core")) << "nvme_rdma uses it";
    EXPECT_EQ(run("stop", connected), Exit::done);
    EXPECT_EQ(machine.log, Lines{});
}

TEST_F(OpenibTest, StopEndsAtTheFirstFailure)
{
    ASSERT_EQ(run("start", connected), Exit::done);
    machine.refusals[{StepKind::unloadModule, "ib_ipoib", {}, {}}] = EAGAIN;
    EXPECT_EQ(run("stop", connected), Exit::failed);
    EXPECT_EQ(machine.log, Lines{"unload module ib_ipoib"});
    EXPECT_TRUE(said("something still uses it"));
}

TEST_F(OpenibTest, StopIsRefusedWhileInUse)
{
    ASSERT_EQ(run("start", connected), Exit::done);
    machine.state.users = {"opensm (process 7) uses umad0"};
    EXPECT_EQ(run("stop", connected), Exit::refused);
    EXPECT_EQ(machine.log, Lines{});
    EXPECT_TRUE(said("not stopped: opensm (process 7) uses umad0"));
    EXPECT_EQ(run("restart", connected), Exit::refused);
    options.force = true;
    EXPECT_EQ(run("stop", connected), Exit::done);
    options.force = false;
    machine.state.users = {};
    EXPECT_EQ(run("stop", "ALLOW_STOP=no\n"), Exit::refused);
    EXPECT_TRUE(said("ALLOW_STOP=no"));
}

TEST_F(OpenibTest, StopEndsHaAndBondsFirst)
{
    ASSERT_EQ(run("start", bonds), Exit::done);
    EXPECT_EQ(run("stop", bonds), Exit::done);
    ASSERT_FALSE(machine.log.empty());
    EXPECT_EQ(machine.log.front(), "remove bond0");
    EXPECT_EQ(run("restart", bonds), Exit::done);
    EXPECT_TRUE(machine.state.bonds.contains("bond0"));
}

// All that can be set of ib0, by hand
void setByHand(Interface &ib0)
{
    ib0.connected = true;
    ib0.mtu = 30000;
    ib0.umcast = true;
    ib0.rings = netlink::Rings{512, 256};
    ib0.queues = 4;
    ib0.moderation = netlink::Moderation{8, 16, 0, 32, true};
}

TEST_F(OpenibTest, WhatWasSetByHandOutlivesTheModule)
{
    for (auto &one : machine.plugged) {
        one.umcast = false;
        one.rings = netlink::Rings{128, 128};
        one.queues = 1;
        one.moderation = netlink::Moderation{};
    }
    ASSERT_EQ(run("start", ""), Exit::done);
    setByHand(interface("ib0"));
    reloadDriver();
    EXPECT_EQ(interface("ib0").connected, false);
    EXPECT_EQ(run("status", ""), Exit::degraded) << "something is not as it was";
    EXPECT_EQ(run("apply", ""), Exit::done) << err.str();
    EXPECT_EQ(machine.log, (Lines{"set ib0 to connected mode", "set the MTU of ib0 to 30000",
                                  "set umcast of ib0 to 1", "set the rings of ib0 to 512 and 256",
                                  "set the queues of ib0 to 4",
                                  "set the moderation of ib0 to 8, 16, 0, 32, adaptive",
                                  "keep the settings of no interface"}));
    EXPECT_EQ(interface("ib0").moderation, (netlink::Moderation{8, 16, 0, 32, true}));
    // It is given back once.
    interface("ib0").umcast = false;
    EXPECT_EQ(run("apply", ""), Exit::done);
    EXPECT_EQ(machine.log, Lines{});
}

TEST_F(OpenibTest, TheFileCountsMoreThanWhatWasKept)
{
    ASSERT_EQ(run("start", ""), Exit::done);
    setByHand(interface("ib0"));
    reloadDriver();
    EXPECT_EQ(run("apply", "SET_IPOIB_CM=no\nIPOIB_MTU_ib0=1500\n"), Exit::done) << err.str();
    EXPECT_EQ(interface("ib0").connected, false);
    EXPECT_EQ(interface("ib0").mtu, 1500u);
    setByHand(interface("ib0"));
    reloadDriver();
    EXPECT_EQ(run("apply", "SET_IPOIB_CM=yes\n"), Exit::done) << err.str();
    EXPECT_EQ(interface("ib0").mtu, 65520u);
}

TEST_F(OpenibTest, OfAnInterfaceThatWasThereAllTheTimeNothingIsChanged)
{
    ASSERT_EQ(run("start", ""), Exit::done);
    setByHand(interface("ib0"));
    ASSERT_EQ(run("keep", ""), Exit::done);
    EXPECT_EQ(run("keep", ""), Exit::done);
    EXPECT_EQ(machine.log, Lines{}) << "all of it is kept";
    interface("ib0").connected = false;
    EXPECT_EQ(run("apply", ""), Exit::done);
    EXPECT_EQ(interface("ib0").connected, false);
    // The MTU of a group may be another one by then.
    interface("ib0").mtu = 4092;
    reloadDriver();
    EXPECT_EQ(run("apply", ""), Exit::done);
    EXPECT_EQ(interface("ib0").mtu, 2044u);
}

TEST_F(OpenibTest, ChildrenAreMadeAgain)
{
    ASSERT_EQ(run("start", "IPOIB_CHILDREN_ib1=8002\n"), Exit::done);
    ASSERT_TRUE(machine.execute({StepKind::addChild, "ib0", "8001", {}}));
    ASSERT_TRUE(machine.execute({StepKind::addChild, "ib0", "8003", {"data0"}}));
    setByHand(interface("data0"));
    reloadDriver();
    ASSERT_FALSE(machine.state.interface("data0"));
    EXPECT_EQ(run("apply", "IPOIB_CHILDREN_ib1=8002\n"), Exit::done) << err.str();
    EXPECT_EQ(machine.log,
              (Lines{"add ib1.8002, P_Key 0x8002", "add ib0.8001, P_Key 0x8001",
                     "add data0, P_Key 0x8003", "set data0 to connected mode",
                     "set the MTU of data0 to 30000", "keep the settings of no interface"}));
    // One that is deleted after it was kept is not.
    ASSERT_EQ(run("keep", ""), Exit::done);
    std::erase_if(machine.state.interfaces, [](const auto &one) { return one.name == "data0"; });
    EXPECT_EQ(run("apply", ""), Exit::done);
    EXPECT_FALSE(machine.state.interface("data0"));
    EXPECT_FALSE(machine.state.wasKept("data0"));
}

TEST_F(OpenibTest, EachInterfaceAsItComes)
{
    ASSERT_EQ(run("start", ""), Exit::done);
    ASSERT_TRUE(machine.execute({StepKind::addChild, "ib0", "8001", {}}));
    setByHand(interface("ib0.8001"));
    setByHand(interface("ib1"));
    machine.plugged.pop_back();
    reloadDriver();
    EXPECT_EQ(run("apply", "", "ib0"), Exit::done) << err.str();
    EXPECT_EQ(run("apply", "", "ib0.8001"), Exit::done) << err.str();
    EXPECT_EQ(interface("ib0.8001").connected, true);
    // What has not come back stays kept, also over the next time.
    reloadDriver();
    EXPECT_EQ(run("apply", "", "ib0"), Exit::done);
    machine.state.interfaces.push_back(Machine::port("ib1", 2));
    EXPECT_EQ(run("apply", "", "ib1"), Exit::done);
    EXPECT_EQ(interface("ib1").mtu, 30000u);
}

TEST_F(OpenibTest, WhatCannotBeGivenBackIsSaidOnce)
{
    ASSERT_EQ(run("start", ""), Exit::done);
    ASSERT_TRUE(machine.execute({StepKind::addChild, "ib0", "8001", {}}));
    setByHand(interface("ib0"));
    reloadDriver();
    machine.hasConnectedMode = false;
    machine.refusals[{StepKind::addChild, "ib0", "8001", {}}] = EOPNOTSUPP;
    EXPECT_EQ(run("apply", ""), Exit::degraded);
    EXPECT_TRUE(said("failed: add ib0.8001, P_Key 0x8001")) << err.str();
    EXPECT_TRUE(said("failed: set ib0 to connected mode")) << err.str();
    EXPECT_EQ(run("apply", ""), Exit::done) << err.str();
}

TEST_F(OpenibTest, ADocumentThatIsNoneIsSaidAndReplaced)
{
    ASSERT_EQ(run("start", ""), Exit::done);
    machine.state.keptWrong = "/run/openib/settings.json: no JSON document";
    EXPECT_EQ(run("apply", ""), Exit::done);
    EXPECT_TRUE(said("openib: /run/openib/settings.json: no JSON document; nothing is restored "
                     "from it"))
        << err.str();
    EXPECT_EQ(run("apply", ""), Exit::done);
    EXPECT_EQ(err.str(), "");
    machine.state.keptWrong = "no JSON document";
    EXPECT_EQ(run("keep", ""), Exit::done);
    EXPECT_EQ(machine.log, Lines{"keep the settings of ib0, ib1"});
}

TEST_F(OpenibTest, DryRunTouchesNothing)
{
    options.dryRun = true;
    EXPECT_EQ(run("start", connected), Exit::done);
    EXPECT_EQ(machine.log, Lines{});
    EXPECT_TRUE(machine.state.modules.empty());
    EXPECT_NE(out.str().find("would load module ib_ipoib\n"), std::string::npos);
}

TEST_F(OpenibTest, StatusBeforeTheStart)
{
    machine.state.hcas.clear();
    EXPECT_EQ(run("status", connected), Exit::notStarted);
    EXPECT_NE(out.str().find("no InfiniBand adapter"), std::string::npos);
}

} // namespace
} // namespace openipoib::openib
