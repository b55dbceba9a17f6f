// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The readers of sysfs and procfs, on folders made up for them.
#include "conf/openib/linux_state.hpp"

#include "io/file.hpp"
#include "io/process.hpp"
#include "netlink/address.hpp"
#include "network_namespace.hpp"

#include <gtest/gtest.h>
#include <linux/if_arp.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace openipoib::openib
{
namespace
{

namespace fs = std::filesystem;

class LinuxState : public testing::Test
{
  protected:
    void SetUp() override
    {
        std::string name = (fs::temp_directory_path() / "openib-XXXXXX").string();
        ASSERT_TRUE(::mkdtemp(name.data()));
        top = name;
        roots = {.sys = (top / "sys").string(), .proc = (top / "proc").string()};
    }
    void TearDown() override { fs::remove_all(top); }

    void put(const std::string &path, const std::string &text) const
    {
        fs::create_directories((top / path).parent_path());
        std::ofstream(top / path) << text;
    }

    static netlink::Link link(int index, const std::string &name, std::uint16_t type)
    {
        netlink::Link out;
        out.index = index;
        out.name = name;
        out.type = type;
        return out;
    }

    fs::path top;
    Roots roots;
};

TEST_F(LinuxState, NothingIsNoError)
{
    EXPECT_TRUE(readHcas(roots).empty());
    EXPECT_TRUE(readModules(roots).empty());
    EXPECT_TRUE(readUsers(roots, {}).empty());
    EXPECT_TRUE(readAliases(roots).empty());
    EXPECT_FALSE(readSysctl(roots, "net.core.rmem_max"));
}

TEST_F(LinuxState, HcasAndInterfaces)
{
    const std::string hca = "sys/class/infiniband/sib0";
    put(hca + "/node_desc", "node1 sib0\n");
    put(hca + "/ports/1/state", "4: ACTIVE\n");
    put(hca + "/ports/1/phys_state", "5: LinkUp\n");
    put(hca + "/ports/1/link_layer", "InfiniBand\n");
    put(hca + "/ports/1/lid", "0x2a\n");
    put(hca + "/ports/1/gids/0", "fe80:0000:0000:0000:5054:00ff:fe1b:0100\n");
    put("sys/class/net/ib0/mode", "connected\n");
    put("sys/class/net/ib0/pkey", "0xffff\n");
    put("sys/class/net/ib0/umcast", "1\n");
    put("sys/class/net/ib0.8001/pkey", "0x8001\n");
    put("sys/class/net/ib0.8001/parent", "ib0\n");

    const auto hcas = readHcas(roots);
    ASSERT_EQ(hcas.size(), 1u);
    EXPECT_EQ(hcas[0].description, "node1 sib0");
    ASSERT_EQ(hcas[0].ports.size(), 1u);
    EXPECT_EQ(hcas[0].ports[0].state, "ACTIVE");
    EXPECT_EQ(hcas[0].ports[0].lid, 42u);

    const auto eth = link(2, "eth0", ARPHRD_ETHER);
    auto ib0 = link(3, "ib0", ARPHRD_INFINIBAND);
    ib0.master = 9;
    ib0.address = {0, 0, 0, 2, 0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xFF, 0xFE, 0x1B, 1, 0};
    const auto child = link(4, "ib0.8001", ARPHRD_INFINIBAND);
    auto bond = link(9, "bond0", ARPHRD_INFINIBAND + 1);
    bond.kind = "bond";
    std::vector links{eth, ib0, child, bond};
    const auto interfaces = readInterfaces(roots, links, hcas);
    ASSERT_EQ(interfaces.size(), 2u);
    EXPECT_EQ(interfaces[0].name, "ib0");
    EXPECT_EQ(interfaces[0].connected, true);
    EXPECT_EQ(interfaces[0].umcast, true);
    EXPECT_EQ(interfaces[0].index, 3);
    EXPECT_EQ(interfaces[0].hca, "sib0");
    EXPECT_FALSE(interfaces[0].takesConnections);
    EXPECT_EQ(interfaces[0].port, 1u);
    EXPECT_EQ(interfaces[0].master, "bond0");
    EXPECT_FALSE(interfaces[1].connected) << "no mode file";
    EXPECT_FALSE(interfaces[1].umcast) << "no such file";
    EXPECT_EQ(interfaces[1].parent, "ib0");
    EXPECT_EQ(interfaces[1].pkey, 0x8001);
    EXPECT_EQ(readBonds(links).at("bond0"), std::set<std::string>{"ib0"});
    links[1].address[0] = 0x80;
    EXPECT_TRUE(readInterfaces(roots, links, hcas)[0].takesConnections);
}

TEST_F(LinuxState, Modules)
{
    put("sys/module/ib_core/initstate", "live\n");
    put("sys/module/ib_core/refcnt", "3\n");
    put("sys/module/ib_core/holders/ib_ipoib/x", "");
    put("sys/module/ib_uverbs/parameters/x", ""); // built in: no state
    put("sys/module/ext4/initstate", "live\n");
    const auto modules = readModules(roots);
    ASSERT_EQ(modules.size(), 1u);
    EXPECT_EQ(modules.at("ib_core").references, 3);
    EXPECT_EQ(modules.at("ib_core").holders, std::vector<std::string>{"ib_ipoib"});
}

TEST_F(LinuxState, OwnQueues)
{
    using Names = std::set<std::string>;
    EXPECT_FALSE(readOwnQueues(roots)) << "not loaded, or a driver without the parameter";
    EXPECT_EQ(writeOwnQueues(roots, "mlx5_0").error().code, ENOENT);
    const std::string path = "sys/module/ib_ipoib/parameters/own_queues";
    put(path, "");
    EXPECT_EQ(readOwnQueues(roots), Names{});
    put(path, "\n\n"); // what an empty list looks like when it was written
    EXPECT_EQ(readOwnQueues(roots), Names{});
    put(path, "mlx5_0,mlx5_1/2\n");
    EXPECT_EQ(readOwnQueues(roots), (Names{"mlx5_0", "mlx5_1/2"}));
    EXPECT_TRUE(writeOwnQueues(roots, "all"));
    EXPECT_EQ(readOwnQueues(roots), Names{"all"});
    EXPECT_TRUE(writeOwnQueues(roots, ""));
    EXPECT_EQ(io::readFile((top / path).string()), "\n") << "an empty write would be none";
}

TEST_F(LinuxState, Users)
{
    put("proc/7/comm", "opensm\n");
    fs::create_directories(top / "proc/7/fd");
    fs::create_symlink("/dev/infiniband/umad0", top / "proc/7/fd/4");
    fs::create_symlink("/dev/null", top / "proc/7/fd/0");
    put("proc/8/comm", "ipoib-ha\n");
    fs::create_directories(top / "proc/8/fd");
    fs::create_symlink("/dev/infiniband/uverbs0", top / "proc/8/fd/4");
    put("proc/self/mounts",
        "/dev/sda1 / ext4 rw 0 0\n"
        "server:/data /data nfs4 rw,proto=rdma,port=20049,addr=10.9.0.1 0 0\n"
        "s:/ /mnt\\040a nfs4 rw,proto=tcp,clientaddr=10.9.0.2,addr=10.9.0.1 0 0\n"
        "//s/a /b cifs rw,addr=192.0.2.1 0 0\n"
        "tmpfs /run tmpfs rw 0 0\n");
    put("sys/class/scsi_host/host3/proc_name", "iser\n");
    const auto towards = [](const std::string &address) {
        return address == "10.9.0.1" ? std::string("ib0") : std::string();
    };
    EXPECT_EQ(
        readUsers(roots, towards),
        (std::vector<std::string>{"opensm (process 7) uses umad0", "/data is mounted over RDMA",
                                  "/mnt\\040a is mounted over ib0, from 10.9.0.1",
                                  "SCSI host3 is a session of iSER"}));
}

TEST(LinuxMounts, TheInterfaceTowardsAnAddress)
{
    EXPECT_EQ(interfaceTowards("127.0.0.1"), "lo");
    EXPECT_EQ(interfaceTowards("::1"), "lo");
    EXPECT_EQ(interfaceTowards("fe80::1%1"), "lo") << "the kernel prints the index";
    EXPECT_EQ(interfaceTowards("fe80::1%4294967295"), "") << "there is none of that index";
    EXPECT_EQ(interfaceTowards("server"), "") << "only addresses are looked at";
}

TEST(LinuxMounts, ALabelIsNotTheNameOfAnInterface)
{
    inNamespace([](netlink::Socket &socket) {
        const auto lo = netlink::findLink(socket, "lo");
        ASSERT_TRUE(lo) << lo.error().text();
        ASSERT_TRUE(netlink::setUp(socket, *lo, true));
        auto address = *netlink::parseAddress("10.1.2.3/32");
        address.index = lo->index;
        address.label = "lo:x";
        ASSERT_TRUE(netlink::addAddress(socket, address));
        EXPECT_EQ(interfaceTowards("10.1.2.3"), "lo");
    });
}

TEST_F(LinuxState, AliasesOfPossibleAdapters)
{
    put("sys/bus/pci/devices/0/class", "0x020700\n");
    put("sys/bus/pci/devices/0/modalias", "pci:v000015B3\n");
    put("sys/bus/pci/devices/1/class", "0x030000\n");
    put("sys/bus/pci/devices/1/modalias", "pci:v00001234\n");
    put("sys/bus/pci/devices/2/class", "0x028000\n");
    put("sys/bus/pci/devices/2/modalias", "pci:v000015B3d00001003\n");
    EXPECT_EQ(readAliases(roots),
              (std::vector<std::string>{"pci:v000015B3", "pci:v000015B3d00001003"}));
    EXPECT_TRUE(isEthernetAlias("pci:v000015B3d00001017sv000015B3sd00000020bc02sc00i00"));
    EXPECT_FALSE(isEthernetAlias("pci:v000015B3d00001017sv000015B3sd00000020bc02sc07i00"));
}

TEST_F(LinuxState, Files)
{
    put("a", "text \n\n");
    EXPECT_EQ(io::readLine((top / "a").string()), "text");
    EXPECT_EQ(io::readFile((top / "a").string(), 3).error().code, EFBIG);
    EXPECT_EQ(io::readFile((top / "b").string()).error().code, ENOENT);
    EXPECT_EQ(io::writeFile((top / "b").string(), "x").error().code, ENOENT) << "never created";
    EXPECT_TRUE(io::writeFile((top / "a").string(), "new"));
    EXPECT_EQ(io::readLine((top / "a").string()), "new");
    EXPECT_EQ(io::writeFile("/dev/full", "x").error().code, ENOSPC);
    EXPECT_TRUE(io::replaceFile((top / "c").string(), "first, and longer"));
    EXPECT_TRUE(io::replaceFile((top / "c").string(), "second"));
    EXPECT_EQ(io::readLine((top / "c").string()), "second");
    EXPECT_EQ(std::filesystem::status(top / "c").permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_EQ(io::replaceFile((top / "none/c").string(), "x").error().code, ENOENT);
}

TEST_F(LinuxState, AReplacedFileIsReadByWhomItIsFor)
{
    const mode_t before = ::umask(077);
    EXPECT_TRUE(io::replaceFile((top / "c").string(), "x", 0644));
    ::umask(before);
    EXPECT_EQ(std::filesystem::status(top / "c").permissions(), std::filesystem::perms(0644));
}

TEST_F(LinuxState, AReplacedFileLeavesWhatALinkPointsTo)
{
    put("precious", "as it was");
    std::filesystem::create_symlink(top / "precious", top / "c.new");
    EXPECT_TRUE(io::replaceFile((top / "c").string(), "x"));
    EXPECT_EQ(io::readLine((top / "precious").string()), "as it was");
    EXPECT_FALSE(std::filesystem::is_symlink(top / "c"));
}

TEST_F(LinuxState, AFileThatCannotBeReplacedLeavesNothingBeside)
{
    std::filesystem::create_directories(top / "c/inside");
    EXPECT_FALSE(io::replaceFile((top / "c").string(), "x"));
    EXPECT_FALSE(std::filesystem::exists(top / "c.new"));
}

TEST(Process, StatusAndOutput)
{
    const auto done = io::runProgram({"sh", "-c", "echo out; echo err >&2; exit 3"});
    ASSERT_TRUE(done);
    EXPECT_EQ(done->status, 3);
    EXPECT_EQ(done->output, "out\n");
    EXPECT_EQ(done->errors, "err\n");
    EXPECT_EQ(io::runProgram({"sh", "-c", "kill -TERM $$"})->status, 128 + 15);
    EXPECT_EQ(io::runProgram({"no-such-program"}).error().code, ENOENT);
    EXPECT_EQ(io::runProgram({}).error().code, ENOENT);
    EXPECT_TRUE(io::runChecked({"true"}));
    EXPECT_EQ(io::runChecked({"sh", "-c", "echo one; echo last words; exit 3"}).error().context,
              "sh: exit status 3: last words");
    EXPECT_EQ(io::runChecked({"sh", "-c", "echo why >&2; echo out; exit 3"}).error().context,
              "sh: exit status 3: why");
}

TEST(Process, NoMoreOutputThanAskedFor)
{
    const std::vector<std::string> many{"sh", "-c", "head -c 200000 /dev/zero"};
    EXPECT_EQ(io::runProgram(many)->output.size(), 64U << 10);
    EXPECT_EQ(io::runProgram(many, {.most = 100})->output.size(), 100U);
    EXPECT_EQ(io::runProgram(many, {.most = 1 << 20})->output.size(), 200000U);
}

TEST(Process, OneThatDoesNotEndIsEnded)
{
    using namespace std::chrono_literals;
    for (const char *script : {"exec sleep 60", "exec sleep 60 > /dev/null 2>&1",
                               "sleep 2 & exit 0"}) { // the last leaves its output open
        const auto done = io::runProgram({"sh", "-c", script}, {.patience = 50ms});
        ASSERT_FALSE(done) << script;
        EXPECT_EQ(done.error().code, ETIMEDOUT) << script;
        EXPECT_EQ(done.error().context, "sh: has not ended") << script;
    }
    EXPECT_EQ(io::runProgram({"sh", "-c", "echo out"}, {.patience = 60s})->output, "out\n");
}

} // namespace
} // namespace openipoib::openib
