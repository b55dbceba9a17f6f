// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/mad_port.hpp"

#include "io/file.hpp"

#include <fmt/format.h>
#include <infiniband/umad.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace openipoib::diagnose
{

namespace
{

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t wellKnownKey = 0x80010000; // Q_Key of QP1

struct Free {
    void operator()(void *buffer) const { umad_free(buffer); }
};
using Buffer = std::unique_ptr<void, Free>;

Buffer newBuffer()
{
    return Buffer(umad_alloc(1, umad_size() + ib::Mad::size));
}

// "umad0"; "": there is none
std::string deviceOf(const std::string &sys, const std::string &hca, unsigned port)
{
    const std::string base = sys + "/class/infiniband_mad/";
    for (const auto &name : io::folder(base))
        if (name.starts_with("umad") && io::readLine(base + name + "/ibdev") == hca &&
            io::readLine(base + name + "/port") == std::to_string(port))
            return name;
    return {};
}

} // namespace

io::Result<MadPort> MadPort::open(const std::string &hca, unsigned port, const std::string &sys,
                                  const std::string &dev)
{
    const std::string name = fmt::format("{} port {}", hca, port);
    const std::string device = deviceOf(sys, hca, port);
    if (device.empty())
        return io::fail(ENOENT, name + ": device of ib_umad");
    // libibumad has one error for all that can go wrong.
    const std::string path = dev + "/infiniband/" + device;
    if (::access(path.c_str(), R_OK | W_OK) < 0)
        return io::systemFail(path);
    const int id = umad_open_port(hca.c_str(), static_cast<int>(port));
    if (id < 0)
        return io::fail(EIO, path);
    MadPort opened(id, name);
    if (const auto done = opened.registerAgents(); !done)
        return std::unexpected(done.error());
    return opened;
}

MadPort::~MadPort()
{
    if (id_ >= 0)
        umad_close_port(id_);
}

io::Result<void> MadPort::registerAgents()
{
    agents_ = {{{ib::MgmtClass::subnLid},
                {ib::MgmtClass::subnDirected},
                {ib::MgmtClass::subnAdm},
                {ib::MgmtClass::perf}}};
    for (auto &agent : agents_) {
        const bool isSecond = agent.mgmtClass == ib::MgmtClass::subnAdm;
        agent.number =
            umad_register(id_, static_cast<int>(agent.mgmtClass), isSecond ? 2 : 1, 0, nullptr);
    }
    if (std::ranges::all_of(agents_, [](const Agent &agent) { return agent.number < 0; }))
        return io::fail(EIO, name_ + ": agent for management datagrams");
    return {};
}

io::Result<io::Bytes> MadPort::ask(io::View question, MadTarget target,
                                   std::chrono::milliseconds patience)
{
    const auto header = ib::Mad::parse(question);
    const auto agent = std::ranges::find_if(
        agents_, [&](const Agent &one) { return header && one.mgmtClass == header->mgmtClass; });
    if (agent == agents_.end())
        return io::fail(EINVAL, name_ + ": management datagram");
    // Subnet management is not for virtual functions.
    if (agent->number < 0)
        return io::fail(EOPNOTSUPP, name_ + ": management datagrams of that class");
    const Buffer buffer = newBuffer();
    if (!buffer)
        return io::fail(ENOMEM, name_);
    std::ranges::copy(question.first(ib::Mad::size),
                      static_cast<std::uint8_t *>(umad_get_mad(buffer.get())));
    umad_set_addr(buffer.get(), target.lid, static_cast<int>(target.qpn), target.sl,
                  target.qpn == 0 ? 0 : static_cast<int>(wellKnownKey));
    if (target.gid) {
        ib_mad_addr_t route{};
        route.hop_limit = 1;
        std::ranges::copy(*target.gid, route.gid);
        umad_set_grh(buffer.get(), &route);
    }
    // The kernel sends it again, and says when nothing has come.
    if (umad_send(id_, agent->number, buffer.get(), static_cast<int>(ib::Mad::size),
                  static_cast<int>(patience.count() / target.sends), target.sends - 1) < 0)
        return io::systemFail(name_ + ": send a management datagram");
    return receive(question, patience);
}

// Its answer; one that has come too late for an earlier question is passed over.
io::Result<io::Bytes> MadPort::receive(io::View question, std::chrono::milliseconds patience) const
{
    constexpr std::size_t ownHalfAt = 12, ownHalfBytes = 4; // of the transaction
    constexpr std::chrono::milliseconds slack{200};
    const auto deadline = Clock::now() + patience + slack;
    const Buffer buffer = newBuffer();
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0 || !buffer)
            return io::fail(ETIMEDOUT, name_);
        int length = static_cast<int>(ib::Mad::size);
        const int got = umad_recv(id_, buffer.get(), &length, static_cast<int>(left.count()));
        if (got < 0)
            return io::fail(ETIMEDOUT, name_);
        const auto *start = static_cast<const std::uint8_t *>(umad_get_mad(buffer.get()));
        const io::View mad(start, ib::Mad::size);
        if (!std::ranges::equal(mad.subspan(ownHalfAt, ownHalfBytes),
                                question.subspan(ownHalfAt, ownHalfBytes)))
            continue;
        if (umad_status(buffer.get()) != 0)
            return io::fail(ETIMEDOUT, name_);
        return io::Bytes(mad.begin(), mad.end());
    }
}

} // namespace openipoib::diagnose
