// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/udp_cable.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace openipoib::fabric
{

namespace
{

using namespace std::chrono_literals;

constexpr unsigned datagramsPerTurn = 256;
constexpr std::size_t mostWaiting = 1024; // datagrams; the protocol's window is 128 frames
constexpr unsigned mostTries = 4;         // of a frame that is too long for its path
constexpr int bufferBytes = 8 << 20;
constexpr int leastMtu = 1280; // where the system does not know it
constexpr std::size_t longestDatagram = 65507;
constexpr auto measureAgain = 60s; // a path may have become wider
// All stations at the other end are the peer: who it is, the key has told.
constexpr io::MacAddress peerAddress{2, 0, 0, 0, 0, 1};

struct FreeInfo {
    void operator()(addrinfo *info) const { ::freeaddrinfo(info); }
};
using Info = std::unique_ptr<addrinfo, FreeInfo>;

io::Result<Info> resolve(const UdpEnd &end, int family)
{
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo *found = nullptr;
    const int error = ::getaddrinfo(end.host.empty() ? nullptr : end.host.c_str(),
                                    std::to_string(end.port).c_str(), &hints, &found);
    if (error == 0)
        return Info(found);
    return io::fail(error == EAI_SYSTEM ? errno : ENXIO,
                    end.host + " (" + ::gai_strerror(error) + ")");
}

// A socket bound to a local address. Datagrams are never fragmented on their way.
io::Result<io::UniqueFd> bound(const addrinfo &local, const std::string &name)
{
    io::UniqueFd fd(::socket(local.ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd)
        return io::systemFail("socket");
    const auto set = [&fd](int level, int option, int value) {
        return ::setsockopt(fd.get(), level, option, &value, sizeof value) == 0;
    };
    if (local.ai_family == AF_INET6)
        set(IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (local.ai_family == AF_INET6 && !set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO))
        return io::systemFail("IPV6_MTU_DISCOVER");
    // An IPv6 socket may have IPv4 peers.
    if (!set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) && local.ai_family == AF_INET)
        return io::systemFail("IP_MTU_DISCOVER");
    for (const int option : {SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE, SO_RCVBUFFORCE})
        set(SOL_SOCKET, option, bufferBytes); // as much as this user may have
    if (::bind(fd.get(), local.ai_addr, local.ai_addrlen) < 0)
        return io::systemFail(name);
    return fd;
}

// The headers of IP and UDP.
std::size_t headersOf(int family)
{
    return family == AF_INET6 ? 40 + 8 : 20 + 8;
}

} // namespace

bool UdpCable::Address::operator==(const Address &other) const
{
    return size == other.size && std::memcmp(&bytes, &other.bytes, size) == 0;
}

UdpCable::UdpCable(io::UniqueFd fd, const Address &remote, io::View key, const Random &random)
    : fd_(std::move(fd)), isConnected_(remote.size != 0), remote_(remote),
      tunnel_(key, mostFrame, random)
{
}

io::Result<std::unique_ptr<UdpCable>> UdpCable::open(std::string_view text, io::View key,
                                                     const Random &random)
{
    const auto ends = UdpEnds::parse(text);
    if (!ends)
        return io::fail(EINVAL, ends.error());
    if (ends->remote)
        return openBoth(*ends, key, random);
    io::Result<io::UniqueFd> fd = io::fail(EAFNOSUPPORT, "socket");
    // Any address of this machine: IPv6 takes IPv4 as well.
    for (const int family : {AF_INET6, AF_INET}) {
        if (fd)
            break;
        auto local = resolve(ends->local, ends->local.host.empty() ? family : AF_UNSPEC);
        if (!local)
            return std::unexpected(local.error());
        fd = bound(**local, std::string(text));
    }
    if (!fd)
        return std::unexpected(fd.error());
    return std::unique_ptr<UdpCable>(new UdpCable(std::move(*fd), {}, key, random));
}

// To the first address of the remote's name that there is a way to.
io::Result<std::unique_ptr<UdpCable>> UdpCable::openBoth(const UdpEnds &ends, io::View key,
                                                         const Random &random)
{
    auto remotes = resolve(*ends.remote, AF_UNSPEC);
    if (!remotes)
        return std::unexpected(remotes.error());
    io::Error error;
    for (const addrinfo *remote = remotes->get(); remote != nullptr; remote = remote->ai_next) {
        auto local = resolve(ends.local, remote->ai_family);
        auto fd = local ? bound(**local, ends.local.host + ":" + std::to_string(ends.local.port))
                        : std::unexpected(local.error());
        if (fd && ::connect(fd->get(), remote->ai_addr, remote->ai_addrlen) < 0)
            fd = io::systemFail(ends.remote->host);
        if (!fd) {
            error = fd.error();
            continue;
        }
        Address address{.bytes = {}, .size = remote->ai_addrlen};
        std::memcpy(&address.bytes, remote->ai_addr, remote->ai_addrlen);
        return std::unique_ptr<UdpCable>(new UdpCable(std::move(*fd), address, key, random));
    }
    return std::unexpected(error);
}

Cable::Counts UdpCable::counts() const
{
    Counts counts;
    for (const auto &[name, counter] : udpCounterNames)
        counts.emplace_back(name, tunnel_.counters().*counter);
    return counts;
}

bool UdpCable::measure(Time now)
{
    measuredAt_ = now;
    const int family = remote_.bytes.ss_family;
    const io::UniqueFd probe(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    int mtu = 0;
    socklen_t size = sizeof mtu;
    if (!probe ||
        ::connect(probe.get(), reinterpret_cast<const sockaddr *>(&remote_.bytes), remote_.size) <
            0 ||
        ::getsockopt(probe.get(), family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP,
                     family == AF_INET6 ? IPV6_MTU : IP_MTU, &mtu, &size) < 0)
        mtu = leastMtu;
    const auto whole = static_cast<std::size_t>(std::max(mtu, 0));
    const std::size_t most = std::min(whole - std::min(whole, headersOf(family)), longestDatagram);
    const bool isLess = most < mostDatagram_;
    mostDatagram_ = most;
    return isLess;
}

UdpCable::Sent UdpCable::trySend(io::View datagram, const Address &to)
{
    const auto *address = isConnected_ ? nullptr : reinterpret_cast<const sockaddr *>(&to.bytes);
    ssize_t sent = -1;
    // ECONNREFUSED and the like are of an earlier one, which nobody has taken.
    for (unsigned tries = 0; sent < 0 && tries < 2; ++tries)
        do
            sent = ::sendto(fd_.get(), datagram.data(), datagram.size(),
                            MSG_DONTWAIT | MSG_NOSIGNAL, address, isConnected_ ? 0 : to.size);
        while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno == EAGAIN)
        return Sent::full;
    if (sent < 0 && errno == EMSGSIZE)
        return Sent::tooLong;
    ++(sent < 0 ? tunnel_.counters().txLost : tunnel_.counters().tx);
    return Sent::gone;
}

bool UdpCable::put(io::Bytes datagram)
{
    const Sent sent = waiting_.empty() ? trySend(datagram, remote_) : Sent::full;
    if (sent == Sent::full && waiting_.size() < mostWaiting)
        waiting_.push_back(std::move(datagram));
    else if (sent == Sent::full)
        ++tunnel_.counters().txLost;
    return sent != Sent::tooLong;
}

void UdpCable::send(const io::MacAddress & /*to*/, const Frame &frame)
{
    if (remote_.size == 0) {
        ++tunnel_.counters().txLost; // nobody is there
        return;
    }
    const Time now = std::chrono::steady_clock::now();
    if (mostDatagram_ == 0 || now - measuredAt_ >= measureAgain)
        measure(now);
    for (unsigned tries = 0; tries < mostTries; ++tries) {
        auto datagrams = tunnel_.wrap(*frame, mostDatagram_, now);
        if (std::ranges::all_of(datagrams,
                                [this](auto &datagram) { return put(std::move(datagram)); }))
            return;
        ++tunnel_.counters().txTooLong;
        if (!measure(now))
            return;
    }
}

void UdpCable::flush()
{
    while (!waiting_.empty()) {
        const Sent sent = trySend(waiting_.front(), remote_);
        if (sent == Sent::full)
            return;
        if (sent == Sent::tooLong) {
            ++tunnel_.counters().txTooLong;
            measure(std::chrono::steady_clock::now());
        }
        waiting_.pop_front();
    }
}

void UdpCable::receive(const Handler &handler)
{
    for (unsigned i = 0; i < datagramsPerTurn; ++i) {
        Address from{.bytes = {}, .size = sizeof from.bytes};
        const ssize_t got = ::recvfrom(fd_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT,
                                       reinterpret_cast<sockaddr *>(&from.bytes), &from.size);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got < 0)
            continue; // what a router has said of an earlier one of ours
        const Time now = std::chrono::steady_clock::now();
        const bool isFromPeer = isConnected_ || from == remote_;
        const auto arrival =
            tunnel_.onDatagram({buffer_.data(), static_cast<std::size_t>(got)}, isFromPeer, now);
        if (arrival.reply)
            static_cast<void>(trySend(*arrival.reply, from));
        if (arrival.isNewest && !isFromPeer) {
            remote_ = from;
            measure(now);
        }
        if (arrival.frame)
            handler(peerAddress, *arrival.frame);
    }
}

} // namespace openipoib::fabric
