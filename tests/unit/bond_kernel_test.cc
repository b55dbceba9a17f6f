// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What ib-bond reads: netlink messages, the kernel's log, its records, modes.
#include "bonding/kernel_log.hpp"
#include "bonding/record_store.hpp"
#include "ib/ipoib_mode.hpp"
#include "netlink/bond.hpp"

#include <gtest/gtest.h>
#include <linux/if_bonding.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace openipoib
{
namespace
{

namespace fs = std::filesystem;
using netlink::Message;

// What the kernel would send about a bond that is a slave as well, which is
// impossible, and parses both in one message.
Message bondLink()
{
    Message message(RTM_NEWLINK, 0);
    ifinfomsg fixed{};
    fixed.ifi_index = 9;
    message.header(fixed);
    message.put(IFLA_IFNAME, "bond0");
    const auto info = message.nest(IFLA_LINKINFO);
    message.put(IFLA_INFO_KIND, "bond");
    {
        const auto data = message.nest(IFLA_INFO_DATA);
        message.put(IFLA_BOND_MODE, std::uint8_t{1});
        message.put(IFLA_BOND_FAIL_OVER_MAC, std::uint8_t{1});
        message.put(IFLA_BOND_ARP_INTERVAL, std::uint32_t{200});
        {
            const auto targets = message.nest(IFLA_BOND_ARP_IP_TARGET);
            for (const auto last : {std::uint8_t{8}, std::uint8_t{9}})
                message.put(last - 8, io::View(io::Bytes{10, 0, 0, last}));
        }
        message.put(IFLA_BOND_PRIMARY, std::int32_t{5});
        message.put(IFLA_BOND_PRIMARY_RESELECT, std::uint8_t{2});
        message.put(IFLA_BOND_NUM_PEER_NOTIF, std::uint8_t{3});
        message.put(IFLA_BOND_ACTIVE_SLAVE, std::int32_t{6});
    }
    message.put(IFLA_INFO_SLAVE_KIND, "bond");
    const auto data = message.nest(IFLA_INFO_SLAVE_DATA);
    message.put(IFLA_BOND_SLAVE_MII_STATUS, std::uint8_t{BOND_LINK_UP});
    message.put(IFLA_BOND_SLAVE_LINK_FAILURE_COUNT, std::uint32_t{4});
    return message;
}

TEST(NetlinkBond, BondAndSlave)
{
    const Message message = bondLink();
    ASSERT_TRUE(message.get());
    netlink::Bonds bonds;
    netlink::parseBond(nlmsg_hdr(message.get()), bonds);
    ASSERT_TRUE(bonds.bonds.contains(9));
    const netlink::Bond expected{.mode = 1,
                                 .failOverMac = 1,
                                 .miimon = 0,
                                 .arpInterval = 200,
                                 .targets = {{10, 0, 0, 8}, {10, 0, 0, 9}},
                                 .primary = 5,
                                 .primaryReselect = 2,
                                 .notifications = 3,
                                 .active = 6};
    EXPECT_EQ(bonds.bonds[9], expected);
    EXPECT_EQ(bonds.slaves[9], (netlink::BondSlave{true, 4}));
}

// Every byte of the message wrong in turn, and every length: the sanitizers see
// any step beyond it.
TEST(NetlinkBond, HostileBytes)
{
    const Message message = bondLink();
    const nlmsghdr *header = nlmsg_hdr(message.get());
    const auto *start = reinterpret_cast<const std::uint8_t *>(header);
    netlink::Bonds bonds;
    for (std::size_t at = sizeof(nlmsghdr); at < header->nlmsg_len; ++at)
        for (const unsigned value : {0U, 1U, 4U, 0x7FU, 0xFFU}) {
            io::Bytes copy(start, start + header->nlmsg_len);
            copy[at] = static_cast<std::uint8_t>(value);
            netlink::parseBond(reinterpret_cast<nlmsghdr *>(copy.data()), bonds);
        }
    for (std::uint32_t length = sizeof(nlmsghdr); length < header->nlmsg_len; ++length) {
        io::Bytes copy(start, start + length);
        reinterpret_cast<nlmsghdr *>(copy.data())->nlmsg_len = length;
        netlink::parseBond(reinterpret_cast<nlmsghdr *>(copy.data()), bonds);
    }
    EXPECT_TRUE(bonds.bonds.contains(9));
}

TEST(BondKernelLog, Records)
{
    const auto change = bonding::parseKernelRecord(
        "6,1234,5678901,-;bond0: (slave ib0): making interface the new active one\n DEVICE=+x");
    ASSERT_TRUE(change);
    EXPECT_EQ(change->bond, "bond0");
    EXPECT_EQ(change->microseconds, 5678901u);
    EXPECT_TRUE(bonding::parseKernelRecord("6,1,2,-;b: now running without any active interface!"));
    for (const char *other :
         {"", ";", "6,1,2,-;bond0: active interface up!", "6,1;x: the new active one",
          "6,1,x,-;x: the new active one", "6,1,2,-;the new active one"})
        EXPECT_FALSE(bonding::parseKernelRecord(other)) << other;
}

class BondFiles : public testing::Test
{
  protected:
    void SetUp() override
    {
        std::string name = (fs::temp_directory_path() / "ib-bond-XXXXXX").string();
        ASSERT_TRUE(::mkdtemp(name.data()));
        top = name;
    }
    void TearDown() override { fs::remove_all(top); }

    fs::path top;
};

TEST_F(BondFiles, RecordsAreKeptAndDropped)
{
    const bonding::RecordStore store((top / "records").string());
    EXPECT_TRUE(store.read()->empty()) << "no folder is no error";
    bonding::Record record;
    record["ib0"].mtu = 65520;
    ASSERT_TRUE(store.keep("bond0", record));
    record["ib1"].up = true;
    ASSERT_TRUE(store.keep("bond0", record));
    ASSERT_TRUE(store.keep("bond1", {{"ib2", {}}}));
    auto all = store.read();
    ASSERT_TRUE(all) << all.error().text();
    EXPECT_EQ(all->size(), 2u);
    EXPECT_EQ(all->at("bond0"), record);
    ASSERT_TRUE(store.drop("bond0"));
    EXPECT_TRUE(store.drop("bond0")) << "a second time, too";
    EXPECT_EQ(store.read()->size(), 1u);
    std::ofstream(top / "records/bond9.json") << "{";
    all = store.read();
    ASSERT_FALSE(all);
    EXPECT_NE(all.error().context.find("bond9.json"), std::string::npos);
    EXPECT_FALSE(bonding::RecordStore("/dev/null/x").keep("bond0", record));
}

TEST_F(BondFiles, Modes)
{
    EXPECT_FALSE(ib::isConnected(top.string(), "ib0"));
    EXPECT_EQ(ib::setMode(top.string(), "ib0", "connected").error().code, ENOENT);
    fs::create_directories(top / "class/net/ib0");
    std::ofstream(top / "class/net/ib0/mode") << "datagram\n";
    EXPECT_EQ(ib::isConnected(top.string(), "ib0"), false);
    EXPECT_TRUE(ib::setMode(top.string(), "ib0", "connected"));
    EXPECT_EQ(ib::isConnected(top.string(), "ib0"), true);
}

} // namespace
} // namespace openipoib
