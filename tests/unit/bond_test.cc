// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bond_machine.hpp"

#include "bonding/commands.hpp"
#include "bonding/plan.hpp"
#include "bonding/run.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <sstream>

namespace openipoib::bonding
{
namespace
{

using Lines = std::vector<std::string>;

class BondTest : public testing::Test
{
  protected:
    int ib(const std::string &line)
    {
        out.str({});
        err.str({});
        machine.log.clear();
        machine.steps = 0;
        std::istringstream stream("ib-bond " + line);
        const Lines words(std::istream_iterator<std::string>(stream), {});
        std::vector<const char *> argv;
        argv.reserve(words.size());
        for (const auto &word : words)
            argv.push_back(word.c_str());
        const auto invocation = parseCommandLine(static_cast<int>(argv.size()), argv.data());
        if (!invocation) {
            (invocation.error().isError ? err : out) << invocation.error().text;
            return invocation.error().isError ? 1 : 0;
        }
        return static_cast<int>(Commands(machine, out, err).execute(*invocation));
    }
    [[nodiscard]] bool said(const std::string &what) const
    {
        return err.str().find(what) != std::string::npos;
    }
    [[nodiscard]] const Interface &at(const std::string &name) const
    {
        return machine.state.interfaces.at(name);
    }

    BondMachine machine;
    std::ostringstream out;
    std::ostringstream err;
};

constexpr auto twoSlaves = "--bond-name bond0 --bond-ip 10.10.10.1 --slaves ib0,ib1";

TEST_F(BondTest, TheCommandsOfOfed)
{
    EXPECT_EQ(ib(twoSlaves), 0) << err.str();
    EXPECT_EQ(
        machine.log,
        (Lines{"modprobe bonding max_bonds=0", "# keep what ib0, ib1 are now for the end of bond0",
               "ip link add bond0 mtu 2044 type bond mode active-backup fail_over_mac active "
               "miimon 100 primary_reselect always num_grat_arp 1",
               "ip link set ib0 down", "ip link set ib0 master bond0", "ip link set ib1 down",
               "ip link set ib1 master bond0", "ip link set bond0 up",
               "ip address add 10.10.10.1/24 dev bond0"}));
    EXPECT_EQ(at("ib1").master, "bond0");
    EXPECT_EQ(ib("--status --bond-name bond0"), 0) << out.str();
    EXPECT_NE(out.str().find("active ib0"), std::string::npos) << out.str();
    EXPECT_EQ(ib("--status-all"), 0);
    EXPECT_EQ(ib("--stop --bond-name bond0"), 0) << err.str();
    EXPECT_FALSE(machine.state.interface("bond0"));
    EXPECT_EQ(ib("--status-all"), 3);
}

TEST_F(BondTest, StopRestores)
{
    machine["ib0"].addresses = {BondMachine::address("10.0.0.1/24"),
                                BondMachine::address("fd00::1/64")};
    machine["ib1"].connected = true;
    machine["ib1"].mtu = 30000;
    machine["ib2"].up = false;
    State before = machine.state;
    ASSERT_EQ(ib("up bond0 --ip 10.0.0.1/24,fd00::7/64 --slaves ib0,ib1,ib2 --take"), 0)
        << err.str();
    EXPECT_EQ(at("ib1").connected, false) << "as the first slave";
    EXPECT_TRUE(at("ib0").addresses.empty());
    EXPECT_EQ(at("bond0").addresses.size(), 2u);
    EXPECT_EQ(ib("down bond0"), 0) << err.str();
    before.driver = true; // it stays
    EXPECT_EQ(machine.state, before);
    EXPECT_EQ(ib("down bond0"), 3);
    EXPECT_TRUE(said("there is no bond bond0"));
}

TEST_F(BondTest, AnAddressIsTakenAndGivenBackWithAllThatItHas)
{
    auto &addresses = machine["ib0"].addresses;
    addresses = {BondMachine::address("10.0.0.1/24"), BondMachine::address("10.0.0.1/24")};
    addresses[0].peer = {10, 0, 9, 2};
    addresses[0].metric = 5;
    addresses[0].protocol = 42;
    addresses[1].broadcast = {10, 0, 0, 255};
    State before = machine.state;
    ASSERT_EQ(ib("up bond0 --ip 10.0.3.1/24 --slaves ib0,ib1 --take"), 0) << err.str();
    const auto logged = [this](const char *line) {
        return std::ranges::find(machine.log, line) != machine.log.end();
    };
    EXPECT_TRUE(logged("ip address delete 10.0.0.1 peer 10.0.9.2/24 dev ib0"));
    EXPECT_TRUE(logged("ip address delete 10.0.0.1/24 dev ib0"));
    EXPECT_EQ(ib("down bond0"), 0) << err.str();
    EXPECT_TRUE(logged("ip address add 10.0.0.1 peer 10.0.9.2/24 metric 5 proto 42 dev ib0"));
    EXPECT_TRUE(logged("ip address add 10.0.0.1/24 broadcast 10.0.0.255 dev ib0"));
    before.driver = true; // it stays
    EXPECT_EQ(machine.state, before);
}

TEST_F(BondTest, ASecondTimeThereIsNothingToDo)
{
    for (const char *options :
         {"", " --miimon 50 --primary ib1 --primary-reselect failure --num-peer-notif 3",
          " --arp-interval 200 --arp-targets 10.10.10.9,fd00::9,10.10.10.8"}) {
        ASSERT_EQ(ib(std::string(twoSlaves) + options), 0) << err.str();
        EXPECT_FALSE(machine.log.empty());
        EXPECT_EQ(ib(std::string(twoSlaves) + options), 0) << err.str();
        EXPECT_EQ(machine.log, Lines{}) << options;
        EXPECT_EQ(ib("check bond0 --ip 10.10.10.1 --slaves ib0,ib1" + std::string(options)), 0);
    }
    EXPECT_EQ(at("bond0").bond->options.miimon, 0u);
    EXPECT_EQ(at("bond0").bond->options.arpTargets.size(), 3u);
    EXPECT_EQ(at("bond0").bond->options.notifications, 3u) << "not asked for, left as it was";
}

TEST_F(BondTest, ConnectedSlavesMake65520)
{
    machine["ib0"].connected = true; // ib1 joins it
    ASSERT_EQ(ib(twoSlaves), 0) << err.str();
    for (const char *name : {"bond0", "ib0", "ib1"})
        EXPECT_EQ(at(name).mtu, 65520u) << name;
    EXPECT_EQ(at("ib1").connected, true);
    ASSERT_EQ(ib("down bond0"), 0);
    EXPECT_EQ(at("ib1").mtu, 2044u);
    // An MTU that was chosen stays.
    machine["ib0"].mtu = 32000;
    ASSERT_EQ(ib(twoSlaves), 0) << err.str();
    EXPECT_EQ(at("bond0").mtu, 32000u);
}

// Whatever step fails: afterwards all is as it was.
TEST_F(BondTest, AFailureHalfWayLeavesNothing)
{
    machine["ib0"].addresses = {BondMachine::address("10.0.0.1/24"),
                                BondMachine::address("fd00::1/64")};
    machine["ib0"].connected = true;
    machine["ib0"].mtu = 65520;
    machine.state.driver = true;
    ASSERT_EQ(ib("up bond7 --ip 10.0.7.1 --slaves ib2"), 0);
    const State before = machine.state;
    const std::string line =
        "up bond0 --ip 10.0.0.1,fd00::7 --slaves ib0,ib1,ib2 --take --primary ib0";
    std::size_t failures = 0;
    for (machine.failAt = 0; ib(line) != 0; ++*machine.failAt, ++failures) {
        EXPECT_TRUE(said("injected")) << err.str();
        EXPECT_TRUE(said("everything is as it was before")) << err.str();
        EXPECT_EQ(machine.state, before) << "step " << *machine.failAt << "\n" << err.str();
        ASSERT_LT(failures, 100u);
    }
    EXPECT_GT(failures, 15u);
    machine.failAt.reset();
    // ib2 was taken from another bond, and goes back to it.
    EXPECT_EQ(at("ib2").master, "bond0");
    ASSERT_EQ(ib("down bond0"), 0) << err.str();
    EXPECT_EQ(machine.state, before);
}

TEST_F(BondTest, AFailureWhileCompletingLeavesTheBondThatWas)
{
    ASSERT_EQ(ib("up bond0 --ip 10.10.10.1 --slaves ib0"), 0);
    const State before = machine.state;
    const std::string line =
        "up bond0 --ip 10.10.10.1,10.10.10.2 --slaves ib0,ib1 --miimon 20 --primary ib1";
    std::size_t failures = 0;
    for (machine.failAt = 0; ib(line) != 0; ++*machine.failAt, ++failures)
        EXPECT_EQ(machine.state, before) << "step " << *machine.failAt;
    EXPECT_GE(failures, 5u);
}

// A stop that failed is begun again where it ended.
TEST_F(BondTest, AFailedStopCanBeRepeated)
{
    machine["ib0"].addresses = {BondMachine::address("10.0.0.1/24"),
                                BondMachine::address("fd00::1/64")};
    machine["ib1"].connected = true;
    machine["ib1"].mtu = 65520;
    machine.state.driver = true;
    const State before = machine.state;
    std::size_t failures = 0;
    for (std::size_t at = 0;; ++at, ++failures) {
        ASSERT_EQ(ib(std::string(twoSlaves) + " --take"), 0) << err.str();
        machine.failAt = at;
        const int status = ib("--stop-all");
        machine.failAt.reset();
        if (status == 0)
            break;
        EXPECT_EQ(status, 5);
        EXPECT_EQ(ib("--stop-all"), 0) << err.str();
        EXPECT_EQ(machine.state, before) << "step " << at;
        ASSERT_LT(failures, 100u);
    }
    EXPECT_GE(failures, 5u);
    EXPECT_EQ(machine.state, before);
}

TEST_F(BondTest, AStepWithoutEffectIsSaid)
{
    machine.ineffective = {StepKind::addAddress};
    EXPECT_EQ(ib(twoSlaves), 2);
    EXPECT_TRUE(said("without effect: ip address add 10.10.10.1/24 dev bond0"));
}

TEST_F(BondTest, AFailedWayBackIsSaid)
{
    class Stubborn final : public System
    {
      public:
        io::Result<State> read() override { return State{}; }
        io::Result<void> execute(const Step &step) override
        {
            return step.kind == StepKind::setUp ? io::Result<void>()
                                                : io::Result<void>(io::fail(EIO, "stuck"));
        }
    } system;
    const Outcome outcome = run(
        system,
        {{{StepKind::setUp, "a", {}, 0, {}, {}, {}}, {{StepKind::setDown, "a", {}, 0, {}, {}, {}}}},
         {{StepKind::setMtu, "a", {}, 9, {}, {}, {}}, {}}},
        OnFailure::undo);
    EXPECT_EQ(outcome.failure, "ip link set a mtu 9: stuck: Input/output error");
    EXPECT_EQ(outcome.notUndone, Lines{"ip link set a down: stuck: Input/output error"});
}

TEST_F(BondTest, DryRunPrintsTheSameStepsAndDoesNothing)
{
    const State before = machine.state;
    ASSERT_EQ(ib(std::string(twoSlaves) + " -n"), 0);
    EXPECT_EQ(machine.state, before);
    EXPECT_EQ(machine.log, Lines{});
    const std::string said = out.str();
    ASSERT_EQ(ib(twoSlaves), 0);
    std::string done;
    for (const auto &line : machine.log)
        done += line + "\n";
    EXPECT_EQ(said, done);
    EXPECT_EQ(ib("check bond1 --ip 10.9.9.9 --slaves ib2"), 2);
    EXPECT_FALSE(machine.state.interface("bond1"));
    ASSERT_EQ(ib("--stop-all --dry-run"), 0);
    EXPECT_TRUE(machine.state.interface("bond0"));
    EXPECT_NE(out.str().find("ip link delete bond0\nip link set ib0 mtu 2044\n"),
              std::string::npos);
}

TEST_F(BondTest, ASlaveIsUnpluggedAndComesBack)
{
    machine["ib1"].addresses = {BondMachine::address("10.0.0.1/24")};
    ASSERT_EQ(ib(std::string(twoSlaves) + " --take"), 0);
    machine.unplug("ib1");
    EXPECT_EQ(ib("status bond0"), 2);
    EXPECT_NE(out.str().find("problem: ib1 has gone"), std::string::npos) << out.str();
    machine.state.interfaces["ib1"] = BondMachine::port();
    // Until it has joined a partition it cannot have the MTU of its bond.
    machine["ib1"].mtu = 1500;
    machine.ineffective = {StepKind::setMtu};
    EXPECT_EQ(ib(twoSlaves), 0) << err.str();
    machine.ineffective.clear();
    EXPECT_EQ(at("ib1").master, "bond0");
    ASSERT_EQ(ib("down bond0"), 0);
    EXPECT_EQ(at("ib1").addresses.size(), 1u) << "what it had when it was first taken";
    EXPECT_EQ(at("ib1").mtu, 2044u);
}

TEST_F(BondTest, AllSlavesGoAndComeBackOneByOne)
{
    const State start = machine.state;
    ASSERT_EQ(ib(twoSlaves), 0);
    machine.unplug("ib0");
    machine.unplug("ib1");
    EXPECT_FALSE(machine.state.interface("bond0")) << "the kernel removes it with the last one";
    EXPECT_EQ(ib("status bond0"), 2);
    machine.state.interfaces["ib1"] = BondMachine::port();
    EXPECT_EQ(ib("up bond0 --ip 10.10.10.1 --slaves ib1"), 0) << err.str();
    machine.state.interfaces["ib0"] = BondMachine::port();
    EXPECT_EQ(ib(twoSlaves), 0) << err.str();
    EXPECT_EQ(machine.state.slavesOf("bond0").size(), 2u);
    ASSERT_EQ(ib("down bond0"), 0);
    EXPECT_EQ(machine.state.interfaces, start.interfaces);
    // Stopped while none is there.
    ASSERT_EQ(ib(twoSlaves), 0);
    machine.unplug("ib0");
    machine.unplug("ib1");
    EXPECT_EQ(ib("--stop --bond-name bond0"), 0);
    EXPECT_TRUE(said("ib0 is not there and is not given back"));
    EXPECT_TRUE(machine.state.records.empty());
}

TEST_F(BondTest, AnUnusedBondOfTheNameIsReplaced)
{
    machine.state.driver = true;
    machine.state.interfaces["bond0"] = {};
    machine["bond0"].bond = Bond{"balance-rr", {}, {}, {}};
    machine["bond0"].mtu = 1500;
    const State before = machine.state;
    machine.failAt = 4;
    EXPECT_EQ(ib(twoSlaves), 5);
    EXPECT_EQ(machine.state, before);
    machine.failAt.reset();
    EXPECT_EQ(ib(twoSlaves), 0) << err.str();
    EXPECT_EQ(at("bond0").bond->mode, "active-backup");
}

TEST_F(BondTest, StopAllLeavesOtherBondsAlone)
{
    machine.state.driver = true;
    machine.state.interfaces["bond9"] = {};
    machine["bond9"].bond = Bond{};
    machine["eth0"].master = "bond9";
    ASSERT_EQ(ib(twoSlaves), 0);
    EXPECT_EQ(ib("--stop-all"), 0);
    EXPECT_TRUE(machine.state.interface("bond9"));
    EXPECT_EQ(ib("--stop --bond-name bond9"), 7);
    EXPECT_TRUE(said("refused: bond9 is not a bond of IPoIB interfaces"));
    EXPECT_EQ(ib("--stop-all"), 0);
}

TEST_F(BondTest, StatusAsOneDocument)
{
    ASSERT_EQ(ib(std::string(twoSlaves) + " --primary ib1"), 0);
    machine["ib1"].mtu = 4092;
    EXPECT_EQ(ib("status bond0"), 0) << "a larger MTU than the bond's does no harm";
    machine["ib1"].mtu = 1000;
    EXPECT_EQ(ib("status bond0"), 2);
    EXPECT_NE(out.str().find("the MTU of ib1 is smaller than that of bond0"), std::string::npos);
    machine["ib1"].slave->failures = 2;
    machine["ib1"].slave->linkUp = false;
    machine["bond0"].bond->lastChange = 300;
    EXPECT_EQ(ib("status -j bond0"), 2);
    const auto document = nlohmann::json::parse(out.str());
    EXPECT_EQ(document["active"], "ib0");
    EXPECT_EQ(document["slaves"][0]["active"], true);
    EXPECT_EQ(document["slaves"][1]["active"], false);
    EXPECT_EQ(document["slaves"][1]["failures"], 2);
    EXPECT_EQ(document["slaves"][1]["mode"], "datagram");
    EXPECT_EQ(document["announcements"], 1);
    EXPECT_EQ(document["last_change"], 300);
    EXPECT_EQ(document["problems"][0], "ib1 has no link");
    EXPECT_EQ(ib("status bond0"), 2);
    for (const char *part :
         {"active ib0, last change 5 min ago, primary ib1 (always)", "failovers are announced once",
          "2 link failures", "problem: ib1 has no link"})
        EXPECT_NE(out.str().find(part), std::string::npos) << part << "\n" << out.str();
    machine["bond0"].bond->active.clear();
    EXPECT_EQ(ib("status bond0"), 2);
    EXPECT_NE(out.str().find("problem: no slave is active"), std::string::npos);
    EXPECT_EQ(out.str().find("  active  "), std::string::npos) << out.str();
}

struct Wrong {
    const char *line;
    int status;
    const char *message;
};

class BondWrong : public BondTest, public testing::WithParamInterface<Wrong>
{
};

TEST_P(BondWrong, IsRefusedAndChangesNothing)
{
    ASSERT_EQ(ib("up bond1 --ip 10.1.1.1 --slaves ib2"), 0);
    machine["ib1"].addresses = {BondMachine::address("10.0.0.2/24")};
    machine.state.interfaces["ib0.8001"] = BondMachine::port();
    machine["ib0.8001"].pkey = 0x8001;
    const State before = machine.state;
    EXPECT_EQ(ib(GetParam().line), GetParam().status) << GetParam().line << "\n" << err.str();
    EXPECT_TRUE(said(GetParam().message)) << err.str();
    EXPECT_EQ(machine.state, before);
    EXPECT_EQ(machine.log, Lines{});
}

INSTANTIATE_TEST_SUITE_P(
    All, BondWrong,
    testing::Values(
        Wrong{"--bond-name bond0 --slaves ib0", 1, "--bond-ip is missing"},
        Wrong{"--bond-name bond0 --bond-ip 10.0.0.1", 1, "--slaves is missing"},
        Wrong{"--bond-ip 10.0.0.1 --slaves ib0", 1, "--bond-name is missing"},
        Wrong{"up bond0 --bond-name bond1 --ip 1.1.1.1 --slaves ib0", 1, "one bond, not"},
        Wrong{"up bond/0 --ip 1.1.1.1 --slaves ib0", 1, "'bond/0' is no name"},
        Wrong{"up bond0123456789012 --ip 1.1.1.1 --slaves ib0", 1, "1 to 15 characters"},
        Wrong{"up bond0 --ip 10.0.0.300 --slaves ib0", 1, "'10.0.0.300' is no address"},
        Wrong{"up bond0 --ip 10.0.0.1/33 --slaves ib0", 1, "'10.0.0.1/33' is no address"},
        Wrong{"up bond0 --ip 10.0.0.1,10.0.0.1 --slaves ib0", 1, "named twice"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0,ib0", 1, "named twice"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0,", 1, "'' is no name"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves bond0", 1, "its own slave"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0 --primary ib1", 1, "not among the slaves"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0 --primary-reselect better", 1, "--primary"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0 --miimon fast", 1, "--miimon"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0 --miimon 0", 1, "no failure would be seen"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0 --miimon 9 --arp-interval 9", 1, "one monitor"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0 --arp-interval 9", 1, "go together"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0 --arp-interval 9 --arp-targets x", 1,
              "'x' is no address"},
        Wrong{"up bond0 --ip 10.0.0.1 --slaves ib0 --num-peer-notif 256", 1, "256"},
        Wrong{"--stop --bond-name bond1 --slaves ib0", 1, "do not go with --stop"},
        Wrong{"--stop --status --bond-name bond1", 1, "only one of"},
        Wrong{"--stop-all --bond-name bond1", 1, "all bonds, or one"},
        Wrong{"up --stop --bond-name bond1", 1, "'up' does not go with"},
        Wrong{"--slave ib0", 1, "--slave"}, Wrong{"sideways", 1, "sideways"},
        Wrong{"--stop --bond-name bond7", 3, "there is no bond bond7"},
        Wrong{"--status --bond-name ib0", 3, "there is no bond ib0"},
        Wrong{"up bond0 --ip 1.1.1.1 --slaves ib0 --mode balance-rr", 7,
              "only be in active-backup"},
        Wrong{"up bond0 --ip 1.1.1.1 --slaves ib0,eth0", 7, "eth0 is no IPoIB interface"},
        Wrong{"up bond0 --ip 1.1.1.1 --slaves ib0,ib9", 7, "there is no interface ib9"},
        Wrong{"up bond0 --ip 1.1.1.1 --slaves ib0,ib2", 7, "ib2 is in bond1; --take"},
        Wrong{"up bond0 --ip 1.1.1.1 --slaves ib0,ib1", 7, "ib1 has the address 10.0.0.2/24"},
        Wrong{"up bond0 --ip 1.1.1.1 --slaves ib0,bond1", 7, "bond1 is a bond itself"},
        Wrong{"up bond0 --ip 1.1.1.1 --slaves ib0,ib0.8001", 7, "different partitions"},
        Wrong{"up bond0 --ip 192.168.1.5 --slaves ib0", 7, "is an address of eth0"},
        Wrong{"up eth0 --ip 1.1.1.1 --slaves ib0", 7, "eth0 is there already, and is no bond"},
        Wrong{"up bond1 --ip 10.1.1.1 --slaves ib0", 7, "bond1 is there already, with ib2"}));

TEST(BondRequest, HelpAndDefaults)
{
    const char *help[] = {"ib-bond", "--help"};
    const auto talk = parseCommandLine(2, help);
    ASSERT_FALSE(talk);
    EXPECT_FALSE(talk.error().isError);
    EXPECT_NE(talk.error().text.find("--bond-name"), std::string::npos);
    const char *nothing[] = {"ib-bond"};
    EXPECT_EQ(parseCommandLine(1, nothing)->action, Action::statusAll);
    EXPECT_EQ(parseBondAddress("10.0.0.1")->text(), "10.0.0.1/24");
    EXPECT_EQ(parseBondAddress("fd00::1")->text(), "fd00::1/64");
    EXPECT_EQ(parseBondAddress("10.0.0.1/8")->text(), "10.0.0.1/8");
}

TEST(BondRecord, IsReadAsItWasWritten)
{
    Record record;
    record["ib0"] = {true, 65520, true, "bond7", {*netlink::parseAddress("10.0.0.1/24")}};
    record["ib0"].addresses[0].label = "ib0:1";
    record["ib0"].addresses[0].valid = 77;
    record["ib0"].addresses[0].peer = {10, 0, 9, 2};
    record["ib0"].addresses[0].broadcast = {10, 0, 9, 255};
    record["ib0"].addresses[0].metric = 5;
    record["ib0"].addresses[0].protocol = 42;
    record["ib1"] = {};
    const auto read = parseRecord(serialise(record));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, record);
    for (const char *wrong :
         {"", "[]", "{", "{\"ib0\":{}}", "{\"ib0\":[]}", "7", "{\"ib0\":{\"up\":1}}"})
        EXPECT_EQ(parseRecord(wrong).error().code, EINVAL) << wrong;
}

} // namespace
} // namespace openipoib::bonding
