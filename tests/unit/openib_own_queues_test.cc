// SPDX-License-Identifier: GPL-2.0-only OR MIT
// IPOIB_OWN_QUEUES: how it is read, and what becomes of it where ib_ipoib is loaded by openib,
// by modprobe, or was there before.
#include "openib_machine.hpp"

#include "conf/openib/commands.hpp"
#include "conf/openib/document.hpp"
#include "conf/values.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace openipoib::openib
{
namespace
{

using Names = std::vector<std::string>;

TEST(OwnQueues, WhatTheKeyTakes)
{
    const auto read = [](const std::string &value) {
        return conf::readSettings("IPOIB_OWN_QUEUES=" + value + "\n", {}).settings.ownQueues;
    };
    EXPECT_EQ(read("mlx5_0,mlx5_1/2"), (Names{"mlx5_0", "mlx5_1/2"}));
    EXPECT_EQ(read("'mlx5_0 ,\tibp65s0/254'"), (Names{"mlx5_0", "ibp65s0/254"}));
    EXPECT_EQ(read("all"), Names{"all"});
    EXPECT_EQ(read("none"), Names{});
    EXPECT_EQ(read(""), Names{}) << "as empty as it looks";
    EXPECT_FALSE(conf::readSettings("", {}).settings.ownQueues) << "left alone";
}

TEST(OwnQueues, WhatItDoesNotTake)
{
    for (const char *value : {"mlx5_1/x", "mlx5_1/", "mlx5_1/0", "mlx5_1/01", "mlx5_1/255", "/1",
                              "a/1/2", "a;b", "$(id)", "a=b", "\xE9", ",", " "}) {
        const auto parsed = conf::parsePorts(value);
        ASSERT_FALSE(parsed) << value;
        EXPECT_EQ(parsed.error().what, "'" + conf::printable(value) + "' is no possible value");
        EXPECT_EQ(parsed.error().cure, "expected HCAs or ports of them, for example "
                                       "mlx5_0,mlx5_1/2, or all or none");
    }
    EXPECT_FALSE(conf::parsePorts(std::string(64, 'a')));
    EXPECT_EQ(conf::parsePorts("mlx5_0,all").error().what, "'all' is not alone");
    EXPECT_EQ(conf::parsePorts("none,mlx5_0").error().what, "'none' is not alone");
    EXPECT_EQ(conf::parsePorts("a,b/1,a").error().what, "'a' comes twice");
    std::string many = "a0";
    for (int i = 1; i < 32; ++i)
        many += ",a" + std::to_string(i);
    EXPECT_TRUE(conf::parsePorts(many));
    EXPECT_FALSE(conf::parsePorts(many + ",a32")) << "more than the module takes";
}

TEST(OwnQueues, WhomItNames)
{
    conf::Settings settings;
    EXPECT_FALSE(settings.wantsOwnQueues("mlx5_0", 1));
    settings.ownQueues = Names{"mlx5_0", "mlx5_1/2"};
    EXPECT_TRUE(settings.wantsOwnQueues("mlx5_0", 1));
    EXPECT_TRUE(settings.wantsOwnQueues("mlx5_1", 2));
    EXPECT_FALSE(settings.wantsOwnQueues("mlx5_1", 1));
    EXPECT_FALSE(settings.wantsOwnQueues("mlx5_10", 2));
    settings.ownQueues = Names{"all"};
    EXPECT_TRUE(settings.wantsOwnQueues("mlx5_1", 1));
}

TEST(OwnQueues, Shown)
{
    conf::Settings settings;
    EXPECT_FALSE(settingsDocument(settings).contains("IPOIB_OWN_QUEUES"));
    settings.ownQueues.emplace();
    EXPECT_EQ(settingsDocument(settings)["IPOIB_OWN_QUEUES"], "none");
    settings.ownQueues = Names{"mlx5_0", "mlx5_1/2"};
    EXPECT_NE(settingsText(settingsDocument(settings)).find("IPOIB_OWN_QUEUES=mlx5_0,mlx5_1/2\n"),
              std::string::npos);
}

class OwnQueuesTest : public testing::Test
{
  protected:
    OwnQueuesTest()
    {
        machine.state.hardware = {};
        machine.state.available = {"ib_ipoib"};
        machine.accelerates = true;
    }

    Exit run(const std::string &command, const std::string &conf, const std::string &device = {})
    {
        machine.log.clear();
        out.str({});
        err.str({});
        Commands commands(machine, options, out, err);
        if (command == "allows")
            return commands.allows("ipoib", conf, {}, false);
        if (const Exit configured = commands.configure(conf, {}); configured != Exit::done)
            return configured;
        if (command == "start")
            return commands.start();
        if (command == "apply")
            return commands.apply(device);
        return commands.status();
    }

    [[nodiscard]] static bool has(const std::ostringstream &text, const std::string &what)
    {
        return text.str().find(what) != std::string::npos;
    }

    Machine machine;
    Options options{.file = "openib.conf"};
    std::ostringstream out;
    std::ostringstream err;
};

constexpr auto both = "IPOIB_OWN_QUEUES='mlx5_0/1 mlx5_0/2'\nSET_IPOIB_CM=no\n";

TEST_F(OwnQueuesTest, OpenibLoadsTheModuleWithIt)
{
    EXPECT_EQ(run("status", both), Exit::degraded);
    EXPECT_TRUE(has(out, "not done     load module ib_ipoib with own_queues=mlx5_0/1,mlx5_0/2\n"));
    EXPECT_EQ(run("start", both), Exit::done) << err.str();
    EXPECT_EQ(machine.log, Names{"load module ib_ipoib with own_queues=mlx5_0/1,mlx5_0/2"});
    EXPECT_TRUE(machine.state.interface("ib0")->takesConnections);
    EXPECT_TRUE(machine.state.interface("ib1")->takesConnections);
    EXPECT_EQ(run("start", both), Exit::done);
    EXPECT_EQ(machine.log, Names{});
    EXPECT_EQ(run("status", both), Exit::done) << out.str();
    EXPECT_EQ(run("start", "IPOIB_OWN_QUEUES='mlx5_0/2,mlx5_0/1'\n"), Exit::done);
    EXPECT_EQ(machine.log, Names{}) << "in another order";
    EXPECT_EQ(run("start", ""), Exit::done);
    EXPECT_EQ(machine.log, Names{}) << "without the key it is left alone";
}

TEST_F(OwnQueuesTest, ModprobeIsToldIt)
{
    EXPECT_EQ(run("allows", both), Exit::done);
    EXPECT_EQ(out.str(), "own_queues=mlx5_0/1,mlx5_0/2\n");
    EXPECT_EQ(run("allows", "IPOIB_OWN_QUEUES=none\n"), Exit::done);
    EXPECT_EQ(out.str(), "own_queues=\n");
    EXPECT_EQ(run("allows", "IPOIB_LOAD=yes\n"), Exit::done);
    EXPECT_EQ(out.str(), "");
    EXPECT_EQ(run("allows", "IPOIB_LOAD=no\nIPOIB_OWN_QUEUES=all\n"), Exit::refused);
    EXPECT_EQ(out.str(), "");
}

TEST_F(OwnQueuesTest, AModuleThatIsThereIsToldForWhatIsToCome)
{
    ASSERT_EQ(run("start", "SET_IPOIB_CM=no\n"), Exit::done);
    ASSERT_FALSE(machine.state.interface("ib0")->takesConnections);
    const auto one = "IPOIB_OWN_QUEUES=mlx5_0/2\nSET_IPOIB_CM=no\n";
    EXPECT_EQ(run("status", one), Exit::degraded);
    EXPECT_TRUE(has(out, "not done     set own_queues of ib_ipoib to mlx5_0/2, for interfaces "
                         "made from now on\n"));
    EXPECT_EQ(run("start", one), Exit::degraded);
    EXPECT_EQ(machine.log,
              Names{"set own_queues of ib_ipoib to mlx5_0/2, for interfaces made from now on"});
    EXPECT_EQ(err.str(), "openib: ib1 has no connected mode yet: IPOIB_OWN_QUEUES counts for it "
                         "when mlx5_0 or ib_ipoib is loaded again\n");
    EXPECT_EQ(run("apply", one, "ib0"), Exit::done) << err.str();
    EXPECT_EQ(run("apply", one, "ib1"), Exit::degraded);
    machine.plug();
    EXPECT_EQ(run("apply", one), Exit::done) << err.str();
    EXPECT_FALSE(machine.state.interface("ib0")->takesConnections);
    EXPECT_TRUE(machine.state.interface("ib1")->takesConnections);
    EXPECT_EQ(run("apply", "IPOIB_OWN_QUEUES=\n"), Exit::done);
    EXPECT_EQ(machine.log,
              Names{"set own_queues of ib_ipoib to none, for interfaces made from now on"});
}

TEST_F(OwnQueuesTest, BeforeAnythingElseIsLoaded)
{
    machine.state.modules = {{"ib_ipoib", {}}};
    machine.state.ownQueues.emplace();
    machine.state.hardware = {"mlx5_core"};
    EXPECT_EQ(run("start", "IPOIB_OWN_QUEUES=all\n"), Exit::done) << err.str();
    ASSERT_GE(machine.log.size(), 2u);
    EXPECT_EQ(machine.log[0], "set own_queues of ib_ipoib to all, for interfaces made from now on");
    EXPECT_EQ(machine.log[1], "load module mlx5_core");
}

TEST_F(OwnQueuesTest, ADriverWithoutIt)
{
    machine.hasOwnQueues = false;
    EXPECT_EQ(run("start", both), Exit::degraded);
    EXPECT_TRUE(machine.state.has("ib_ipoib")) << "loaded all the same";
    EXPECT_TRUE(has(err, "openib: IPOIB_OWN_QUEUES has no effect: the ib_ipoib that is loaded has "
                         "no parameter own_queues; install openipoib's and load it"))
        << err.str();
    EXPECT_FALSE(has(err, "no connected mode")) << "said once";
    EXPECT_EQ(run("status", both), Exit::degraded);
    EXPECT_TRUE(has(out, "problem      IPOIB_OWN_QUEUES has no effect"));
    EXPECT_EQ(run("start", "IPOIB_OWN_QUEUES=none\n"), Exit::done) << "it accelerates by itself";
}

TEST_F(OwnQueuesTest, AFailureIsNamed)
{
    ASSERT_EQ(run("start", ""), Exit::done);
    machine.refusals[{StepKind::setOwnQueues, "ib_ipoib", "all", {}}] = ENOSPC;
    EXPECT_EQ(run("start", "IPOIB_OWN_QUEUES=all\n"), Exit::degraded);
    EXPECT_TRUE(has(err, "failed: set own_queues of ib_ipoib to all")) << err.str();
}

TEST_F(OwnQueuesTest, DryRun)
{
    options.dryRun = true;
    EXPECT_EQ(run("start", "IPOIB_OWN_QUEUES=all\n"), Exit::done) << err.str();
    EXPECT_EQ(out.str(), "would load module ib_ipoib with own_queues=all\n");
    EXPECT_FALSE(machine.state.ownQueues);
}

} // namespace
} // namespace openipoib::openib
