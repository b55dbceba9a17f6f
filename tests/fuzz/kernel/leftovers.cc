// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "leftovers.hpp"

#include "guard.hpp"

#include <array>
#include <cstring>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace openipoib::kfuzz
{

Leftovers::Leftovers(std::vector<std::string> hcas)
    : hcas_(std::move(hcas)), socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA))
{
    need(static_cast<bool>(socket_), "a netlink socket");
    before_ = count();
    need(!before_.empty(), "the kernel's count of objects");
}

io::Bytes Leftovers::count() const
{
    nlmsghdr request{};
    request.nlmsg_len = sizeof(request);
    request.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_GET);
    request.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    io::Bytes said;
    if (send(socket_.get(), &request, sizeof(request), 0) < 0)
        return said;
    alignas(nlmsghdr) std::array<std::uint8_t, 16384> buffer;
    for (;;) {
        const ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (size <= 0)
            return said;
        auto left = static_cast<unsigned>(size);
        for (auto *one = reinterpret_cast<nlmsghdr *>(buffer.data()); NLMSG_OK(one, left);
             one = NLMSG_NEXT(one, left)) {
            if (one->nlmsg_type == NLMSG_DONE || one->nlmsg_type == NLMSG_ERROR)
                return said;
            const auto *data = static_cast<const std::uint8_t *>(NLMSG_DATA(one));
            said.insert(said.end(), data, data + NLMSG_PAYLOAD(one, 0));
        }
    }
}

void Leftovers::check() const
{
    for (unsigned i = 0; i < 3000; ++i) { // half a minute, since the machine may be busy
        if (count() == before_)
            return;
        usleep(10'000);
    }
    std::string names;
    for (const std::string &hca : hcas_)
        names += " " + hca;
    found("broken promise: objects are left of" + names);
}

} // namespace openipoib::kfuzz
