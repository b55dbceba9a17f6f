// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "subnet.hpp"

#include "process.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::uint8_t get = 1, set = 2;
constexpr std::uint16_t portInfo = 0x15, pkeyTable = 0x16;
constexpr std::size_t contentAt = 64, contentSize = 64;
constexpr std::uint8_t armed = 3, active = 4, mtu4096 = 5;

std::string umadOf(const std::string &hca)
{
    std::error_code error;
    for (const auto &entry :
         std::filesystem::directory_iterator("/sys/class/infiniband_mad", error)) {
        const std::string file = entry.path().filename().string();
        std::ifstream in(entry.path() / "ibdev");
        std::string name;
        if (in >> name; name == hca && file.starts_with("umad")) // there are others
            return "/dev/infiniband/" + file;
    }
    return {};
}

void registerAgents(int fd)
{
    // Class, and the queue pair that it uses; in the order of Umad::Way::agent
    constexpr std::uint8_t classes[][2] = {{0x81, 0}, {0x01, 0}, {0x04, 1}, {0x07, 1}, {0x03, 1}};
    for (const auto &one : classes) {
        ib_user_mad_reg_req request{};
        request.qpn = one[1];
        request.mgmt_class = one[0];
        request.mgmt_class_version = one[0] == 0x07 || one[0] == 0x03 ? 2 : 1;
        ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &request);
    }
}

} // namespace

Umad::Umad(const std::string &hca)
{
    const std::string path = umadOf(hca);
    if (path.empty())
        return;
    fd_ = io::UniqueFd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    if (!fd_)
        return;
    ioctl(fd_.get(), IB_USER_MAD_ENABLE_PKEY, nullptr);
    registerAgents(fd_.get());
}

void Umad::send(const Way &way, io::View mad) const
{
    std::array<std::uint8_t, sizeof(ib_user_mad_hdr) + madSize> whole{};
    ib_user_mad_hdr header{};
    header.id = way.agent;
    header.timeout_ms = way.timeout;
    header.retries = way.retries;
    header.qpn = htonl(way.qpn);
    header.qkey = htonl(way.qkey);
    header.lid = htons(way.lid);
    header.pkey_index = way.pkeyIndex;
    header.grh_present = way.grh;
    std::memcpy(whole.data(), &header, sizeof(header));
    std::copy_n(mad.begin(), std::min(mad.size(), madSize), whole.begin() + sizeof(header));
    const std::size_t size = std::min(sizeof(header) + way.size, whole.size());
    static_cast<void>(!write(fd_.get(), whole.data(), size));
}

std::optional<Mad> Umad::receive(std::chrono::milliseconds limit) const
{
    pollfd one{fd_.get(), POLLIN, 0};
    std::array<std::uint8_t, sizeof(ib_user_mad_hdr) + madSize> whole{};
    if (poll(&one, 1, static_cast<int>(limit.count())) <= 0 ||
        read(fd_.get(), whole.data(), whole.size()) < static_cast<ssize_t>(sizeof(ib_user_mad_hdr)))
        return std::nullopt;
    Mad mad{};
    std::copy_n(whole.begin() + sizeof(ib_user_mad_hdr), madSize, mad.begin());
    return mad;
}

void Umad::drain() const
{
    while (receive(std::chrono::milliseconds{0}))
        continue;
}

std::optional<Mad> Umad::ask(std::uint8_t method, std::uint16_t attribute, std::uint32_t modifier,
                             std::uint64_t mkey, io::View data) const
{
    io::Bytes smp{1, 0x81, 1, method};
    io::append<4>(smp, 0); // status, hops
    io::append<8>(smp, transaction_++);
    io::append<2>(smp, attribute);
    io::append<2>(smp, 0);
    io::append<4>(smp, modifier);
    io::append<8>(smp, mkey);
    io::append<4>(smp, 0xFFFFFFFF); // both LIDs are permissive
    smp.resize(contentAt);
    io::append(smp, data);
    smp.resize(madSize);
    drain();
    send({.agent = 0, .timeout = 200}, smp);
    return receive(std::chrono::milliseconds{400});
}

io::View contentOf(const Mad &smp)
{
    return io::View(smp).subspan(contentAt, contentSize);
}

namespace
{

// PortInfo as it has to be, from what it is
io::Bytes wanted(io::View now, std::uint16_t lid)
{
    constexpr std::uint8_t prefix[] = {0xFE, 0x80, 0, 0, 0, 0, 0, 0};
    io::Bytes info(now.begin(), now.end());
    const auto put = [&info](std::size_t at, std::uint16_t value) {
        info[at] = static_cast<std::uint8_t>(value >> 8);
        info[at + 1] = static_cast<std::uint8_t>(value);
    };
    std::fill_n(info.begin(), 8, std::uint8_t{0}); // M_Key
    std::copy_n(prefix, 8, info.begin() + 8);
    put(16, lid);
    put(18, leftLid); // of the subnet manager
    put(26, 0);       // M_Key lease
    info[32] = 0;     // no change of the state
    info[33] = 0;     // of the physical state, nor of the default
    info[34] = 0;     // M_Key protection, LMC
    info[36] = static_cast<std::uint8_t>((info[41] & 0xF ? info[41] & 0xF : mtu4096) << 4);
    info[43] = 4 << 4; // eight lanes
    return info;
}

} // namespace

bool reactivate(const Umad &umad, io::Bytes info)
{
    std::optional<Mad> after;
    for (const std::uint8_t state : {armed, active}) {
        info[32] = state;
        after = umad.ask(set, portInfo, 1, 0, info);
        if (!after)
            return false;
    }
    return (contentOf(*after)[32] & 0xF) == active;
}

std::optional<io::Bytes> activate(const Umad &umad, std::uint16_t lid, std::uint64_t mkey)
{
    const std::optional<Mad> now = umad.ask(get, portInfo, 1, mkey, {});
    if (!now)
        return std::nullopt;
    io::Bytes info = wanted(contentOf(*now), lid);
    io::Bytes table;
    for (const std::uint16_t pkey : pkeys)
        io::append<2>(table, pkey);
    table.resize(contentSize);
    if (!umad.ask(set, portInfo, 1, mkey, info) || !umad.ask(set, pkeyTable, 0, 0, table) ||
        !reactivate(umad, info))
        return std::nullopt;
    return info;
}

unsigned portState(const std::string &hca)
{
    std::ifstream in("/sys/class/infiniband/" + hca + "/ports/1/state");
    unsigned state = 0;
    in >> state;
    return state;
}

bool bringUp(const std::string &hca, std::uint16_t lid)
{
    for (unsigned i = 0; i < 500 && portState(hca) < 2; ++i)
        usleep(10'000);
    const Umad umad(hca);
    return umad && activate(umad, lid).has_value();
}

} // namespace openipoib::kfuzz
