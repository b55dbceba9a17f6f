// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/ports.hpp"

#include <fcntl.h>

#include <algorithm>

namespace openipoib::ha
{

namespace
{

std::string describe(const std::string &hca, std::uint8_t port, const std::string &what)
{
    return hca + " port " + std::to_string(port) + " " + what;
}

} // namespace

void Ports::open(ibv_device *device)
{
    Hca hca;
    hca.name = ibv_get_device_name(device);
    hca.guid = ibv_get_device_guid(device);
    hca.context.reset(ibv_open_device(device));
    if (!hca.context)
        return;
    const int fd = hca.context->async_fd;
    const int flags = ::fcntl(fd, F_GETFL);
    ibv_device_attr attributes{};
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        ibv_query_device(hca.context.get(), &attributes))
        return;
    for (std::uint8_t number = 1; number <= attributes.phys_port_cnt; ++number)
        hca.ports.push_back({number, {}, {}});
    Hca &added = hcas_.emplace_back(std::move(hca));
    auto source = events_.watch(fd, EPOLLIN, [this, &added](std::uint32_t) { receive(added); });
    if (!source)
        return hcas_.pop_back();
    added.source = std::move(*source);
    added.source.hurry();
}

void Ports::refresh()
{
    int count = 0;
    ibv_device **devices = ibv_get_device_list(&count);
    const auto isThere = [&](const Hca &hca) {
        return std::any_of(devices, devices + count, [&](ibv_device *device) {
            return hca.name == ibv_get_device_name(device) &&
                   hca.guid == ibv_get_device_guid(device);
        });
    };
    if (devices) {
        std::erase_if(hcas_, [&](const Hca &hca) { return hca.failed || !isThere(hca); });
        for (int i = 0; i < count; ++i)
            if (std::ranges::find(hcas_, ibv_get_device_name(devices[i]), &Hca::name) ==
                hcas_.end())
                open(devices[i]);
        ibv_free_device_list(devices);
    }
    for (auto &hca : hcas_)
        for (auto &port : hca.ports)
            ask(hca, port);
}

void Ports::ask(const Hca &hca, Port &port)
{
    ibv_port_attr state{};
    if (ibv_query_port(hca.context.get(), port.number, &state)) {
        port.why = describe(hca.name, port.number, "does not answer");
        return;
    }
    ibv_gid gid{};
    if (!ibv_query_gid(hca.context.get(), port.number, 0, &gid))
        port.guid.assign(std::begin(gid.raw) + 8, std::end(gid.raw));
    const bool works = state.state == IBV_PORT_ACTIVE || state.state == IBV_PORT_ACTIVE_DEFER;
    port.why = works ? ""
                     : describe(hca.name, port.number,
                                std::string("is ") + ibv_port_state_str(state.state));
}

// One event. False: there is none.
bool Ports::take(Hca &hca)
{
    ibv_async_event event{};
    if (ibv_get_async_event(hca.context.get(), &event)) {
        hca.failed = hca.failed || errno != EAGAIN;
        return false;
    }
    const auto type = event.event_type;
    const int number = event.element.port_num;
    ibv_ack_async_event(&event);
    if (type == IBV_EVENT_DEVICE_FATAL) {
        hca.failed = true;
        return false;
    }
    for (auto &port : hca.ports) {
        if (port.number != number)
            continue;
        if (type == IBV_EVENT_PORT_ERR)
            port.why = describe(hca.name, port.number, "has failed");
        else if (type == IBV_EVENT_PORT_ACTIVE)
            port.why.clear();
    }
    return true;
}

void Ports::receive(Hca &hca)
{
    while (take(hca)) {
    }
    if (hca.failed) {
        hca.source = {};
        for (auto &port : hca.ports)
            port.why = describe(hca.name, port.number, "is gone with its HCA");
    }
    changed_();
}

std::string Ports::whyBad(const io::Bytes &hardware) const
{
    if (hardware.size() != 20)
        return {};
    const io::Bytes guid(hardware.end() - 8, hardware.end());
    for (const auto &hca : hcas_)
        for (const auto &port : hca.ports)
            if (port.guid == guid)
                return port.why;
    return {};
}

} // namespace openipoib::ha
