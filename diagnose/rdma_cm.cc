// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/rdma_cm.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace openipoib::diagnose
{

namespace
{

constexpr auto device = "/dev/infiniband/rdma_cm";

struct Destroy {
    void operator()(rdma_cm_id *id) const { rdma_destroy_id(id); }
};
using Id = std::unique_ptr<rdma_cm_id, Destroy>;

Id newId(rdma_event_channel *channel)
{
    rdma_cm_id *id = nullptr;
    return Id(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0 ? id : nullptr);
}

sockaddr_storage socketAddress(io::View address, int scope)
{
    sockaddr_storage out{};
    if (address.size() == sizeof(in_addr)) {
        sockaddr_in four{};
        four.sin_family = AF_INET;
        std::memcpy(&four.sin_addr, address.data(), sizeof four.sin_addr);
        std::memcpy(&out, &four, sizeof four);
        return out;
    }
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_scope_id = static_cast<std::uint32_t>(scope);
    std::memcpy(&six.sin6_addr, address.data(), std::min(address.size(), sizeof six.sin6_addr));
    std::memcpy(&out, &six, sizeof six);
    return out;
}

} // namespace

io::Result<RdmaCm> RdmaCm::open()
{
    // librdmacm says on standard error what it lacks.
    if (::access(device, R_OK | W_OK) < 0)
        return io::systemFail(device);
    rdma_event_channel *channel = rdma_create_event_channel();
    if (!channel)
        return io::systemFail(device);
    return RdmaCm(channel);
}

RdmaCm::RdmaCm(RdmaCm &&other) noexcept : channel_(std::exchange(other.channel_, nullptr)) {}

RdmaCm::~RdmaCm()
{
    if (channel_)
        rdma_destroy_event_channel(channel_);
}

io::Result<std::string> RdmaCm::bind(io::View address, int scope) const
{
    const Id id = newId(channel_);
    if (!id)
        return io::systemFail(device);
    sockaddr_storage own = socketAddress(address, scope);
    if (rdma_bind_addr(id.get(), reinterpret_cast<sockaddr *>(&own)) < 0)
        return io::systemFail("bind");
    return id->verbs ? ibv_get_device_name(id->verbs->device) : std::string();
}

io::Result<void> RdmaCm::resolve(io::View address, int scope,
                                 std::chrono::milliseconds patience) const
{
    const Id id = newId(channel_);
    if (!id)
        return io::systemFail(device);
    return resolve(id.get(), address, scope, patience);
}

io::Result<void> RdmaCm::resolve(rdma_cm_id *id, io::View address, int scope,
                                 std::chrono::milliseconds patience) const
{
    sockaddr_storage peer = socketAddress(address, scope);
    const int milliseconds = static_cast<int>(patience.count());
    if (rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr *>(&peer), milliseconds) < 0)
        return io::systemFail("address");
    if (const auto done = await(RDMA_CM_EVENT_ADDR_RESOLVED, patience); !done)
        return done;
    if (rdma_resolve_route(id, milliseconds) < 0)
        return io::systemFail("route");
    return await(RDMA_CM_EVENT_ROUTE_RESOLVED, patience);
}

io::Result<void> RdmaCm::knock(io::View address, int scope,
                               std::chrono::milliseconds patience) const
{
    const Id id = newId(channel_);
    if (!id)
        return io::systemFail(device);
    if (const auto done = resolve(id.get(), address, scope, patience); !done)
        return done;
    // Port 0. No queue pair is made, since none will be connected; the number is anyone's.
    rdma_conn_param wish{};
    wish.qp_num = 2;
    if (rdma_connect(id.get(), &wish) < 0)
        return io::systemFail("connection");
    return await(RDMA_CM_EVENT_REJECTED, patience);
}

io::Result<void> RdmaCm::await(int event, std::chrono::milliseconds patience) const
{
    constexpr std::chrono::milliseconds slack{200};
    pollfd polled{channel_->fd, POLLIN, 0};
    rdma_cm_event *come = nullptr;
    if (::poll(&polled, 1, static_cast<int>((patience + slack).count())) <= 0)
        return io::fail(ETIMEDOUT, "RDMA CM");
    if (rdma_get_cm_event(channel_, &come) < 0)
        return io::systemFail("RDMA CM");
    const int type = come->event;
    const int status = std::abs(come->status);
    rdma_ack_cm_event(come);
    if (type == event)
        return {};
    return io::fail(status ? status : EIO, rdma_event_str(static_cast<rdma_cm_event_type>(type)));
}

} // namespace openipoib::diagnose
