// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "links.hpp"

#include "guard.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

// Netlink attributes, in this machine's byte order
class Message
{
  public:
    template <typename T> Message &raw(const T &value)
    {
        const auto *from = reinterpret_cast<const std::uint8_t *>(&value);
        octets_.insert(octets_.end(), from, from + sizeof(value));
        return *this;
    }
    Message &attribute(unsigned type, io::View content)
    {
        raw(nlattr{static_cast<std::uint16_t>(sizeof(nlattr) + content.size()),
                   static_cast<std::uint16_t>(type)});
        io::append(octets_, content);
        octets_.resize(NLMSG_ALIGN(octets_.size()));
        return *this;
    }
    Message &text(unsigned type, const std::string &value)
    {
        const auto *from = reinterpret_cast<const std::uint8_t *>(value.c_str());
        return attribute(type, io::View(from, value.size() + 1));
    }
    Message &number(unsigned type, std::uint32_t value)
    {
        return attribute(type, Message().raw(value).octets());
    }
    [[nodiscard]] const io::Bytes &octets() const { return octets_; }

  private:
    io::Bytes octets_;
};

ifreq requestOf(const std::string &name)
{
    ifreq request{};
    name.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
    return request;
}

void deviceControl(unsigned long number, ifreq &request)
{
    const io::UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ioctl(fd.get(), number, &request);
}

} // namespace

Links::Links() : home_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC))
{
    need(home_ && unshare(CLONE_NEWNET) == 0, "a network namespace");
    away_ = io::UniqueFd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    enter(home());
}

void Links::enter(int nameSpace) const
{
    need(setns(nameSpace, CLONE_NEWNET) == 0, "a network namespace");
}

void Links::ask(int protocol, std::uint16_t type, std::uint16_t flags, io::View content) const
{
    const io::UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof(header) + content.size());
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    Message whole;
    whole.raw(header);
    io::Bytes octets = whole.octets();
    io::append(octets, content);
    std::array<std::uint8_t, 4096> answer;
    if (::send(fd.get(), octets.data(), octets.size(), 0) > 0)
        static_cast<void>(recv(fd.get(), answer.data(), answer.size(), 0));
}

void Links::add(const std::string &hca, const std::string &netdev) const
{
    Message content;
    content.text(RDMA_NLDEV_ATTR_DEV_NAME, hca)
        .text(RDMA_NLDEV_ATTR_LINK_TYPE, "sib")
        .text(RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
    ask(NETLINK_RDMA, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK), 0, content.octets());
}

void Links::remove(const std::string &hca) const
{
    // The kernel never uses a number of an HCA again: it has to be asked for.
    nlmsghdr request{};
    request.nlmsg_len = sizeof(request);
    request.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
    request.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    const io::UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA));
    if (::send(fd.get(), &request, sizeof(request), 0) < 0)
        return;
    alignas(nlmsghdr) std::array<std::uint8_t, 16384> buffer;
    std::uint32_t number = 0;
    bool isKnown = false;
    for (ssize_t size; (size = recv(fd.get(), buffer.data(), buffer.size(), 0)) > 0;) {
        auto left = static_cast<unsigned>(size);
        auto *one = reinterpret_cast<nlmsghdr *>(buffer.data());
        for (; NLMSG_OK(one, left) && one->nlmsg_type != NLMSG_DONE; one = NLMSG_NEXT(one, left)) {
            const auto *data = static_cast<const std::uint8_t *>(NLMSG_DATA(one));
            std::uint32_t its = 0;
            std::string name;
            for (std::size_t at = 0; at + sizeof(nlattr) <= NLMSG_PAYLOAD(one, 0);) {
                nlattr attribute;
                std::memcpy(&attribute, data + at, sizeof(attribute));
                const std::uint8_t *content = data + at + sizeof(attribute);
                if (attribute.nla_type == RDMA_NLDEV_ATTR_DEV_INDEX)
                    std::memcpy(&its, content, sizeof(its));
                else if (attribute.nla_type == RDMA_NLDEV_ATTR_DEV_NAME)
                    name = reinterpret_cast<const char *>(content);
                at += NLMSG_ALIGN(std::max<std::size_t>(attribute.nla_len, sizeof(attribute)));
            }
            if (name == hca) {
                number = its;
                isKnown = true;
            }
        }
        if (NLMSG_OK(one, left))
            break;
    }
    if (isKnown)
        ask(NETLINK_RDMA, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_DELLINK), 0,
            Message().number(RDMA_NLDEV_ATTR_DEV_INDEX, number).octets());
}

int Links::index(const std::string &name) const
{
    return static_cast<int>(if_nametoindex(name.c_str()));
}

void Links::makePair(const std::string &name, const std::string &peer) const
{
    Message far;
    far.raw(ifinfomsg{}).text(IFLA_IFNAME, peer).number(IFLA_MTU, 9000);
    Message info;
    info.text(IFLA_INFO_KIND, "veth")
        .attribute(IFLA_INFO_DATA, Message().attribute(VETH_INFO_PEER, far.octets()).octets());
    Message content;
    content.raw(ifinfomsg{})
        .text(IFLA_IFNAME, name)
        .number(IFLA_MTU, 9000)
        .attribute(IFLA_LINKINFO, info.octets());
    ask(NETLINK_ROUTE, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, content.octets());
}

void Links::makeDummy(const std::string &name) const
{
    Message content;
    content.raw(ifinfomsg{})
        .text(IFLA_IFNAME, name)
        .attribute(IFLA_LINKINFO, Message().text(IFLA_INFO_KIND, "dummy").octets());
    ask(NETLINK_ROUTE, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, content.octets());
}

void Links::removeDevice(const std::string &name) const
{
    ifinfomsg which{};
    which.ifi_index = index(name);
    if (which.ifi_index)
        ask(NETLINK_ROUTE, RTM_DELLINK, 0, Message().raw(which).octets());
}

void Links::move(const std::string &name, int nameSpace) const
{
    ifinfomsg which{};
    which.ifi_index = index(name);
    if (!which.ifi_index)
        return;
    Message content;
    content.raw(which).number(IFLA_NET_NS_FD, static_cast<std::uint32_t>(nameSpace));
    ask(NETLINK_ROUTE, RTM_NEWLINK, 0, content.octets());
}

void Links::setUp(const std::string &name, bool up) const
{
    ifreq request = requestOf(name);
    deviceControl(SIOCGIFFLAGS, request);
    const int flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
    request.ifr_flags = static_cast<short>(flags);
    deviceControl(SIOCSIFFLAGS, request);
}

void Links::setMtu(const std::string &name, unsigned mtu) const
{
    ifreq request = requestOf(name);
    request.ifr_mtu = static_cast<int>(mtu);
    deviceControl(SIOCSIFMTU, request);
}

void Links::setAddress(const std::string &name, std::uint8_t last) const
{
    ifreq request = requestOf(name);
    request.ifr_hwaddr.sa_family = 1; // Ethernet
    const std::uint8_t address[] = {2, 0, 0, 0, 1, last};
    std::memcpy(request.ifr_hwaddr.sa_data, address, sizeof(address));
    deviceControl(SIOCSIFHWADDR, request);
}

io::UniqueFd Links::makeTap(const std::string &name) const
{
    io::UniqueFd fd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
    ifreq request = requestOf(name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (fd && ioctl(fd.get(), TUNSETIFF, &request) < 0)
        fd.reset();
    setMtu(name, 9000);
    return fd;
}

void Links::setType(const io::UniqueFd &tap, unsigned type) const
{
    ioctl(tap.get(), TUNSETLINK, type);
}

} // namespace openipoib::kfuzz
