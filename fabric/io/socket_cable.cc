// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "io/socket_cable.hpp"

#include "link/header.hpp"
#include "link/station.hpp"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t ethernetSize = 14;
constexpr std::uint32_t mostFrame = 65535;
constexpr unsigned framesPerTurn = 64;
constexpr std::size_t mostWaiting = 512; // frames; the protocol's window is 128
constexpr int bufferBytes = 8 << 20;
constexpr std::string_view expected =
    "expected netdev:NAME, tap:NAME, unix:PATH, udp:… or fd:NUMBER";

io::MacAddress madeUpAddress(const SocketCable::Random &random)
{
    io::MacAddress address{0x02};
    const std::uint32_t low = random();
    for (std::size_t i = 0; i < 4; ++i)
        address[2 + i] = static_cast<std::uint8_t>(low >> (8 * i));
    return address;
}

} // namespace

io::Result<std::unique_ptr<SocketCable>> SocketCable::open(std::string_view description,
                                                           const Random &random)
{
    const auto colon = description.find(':');
    const auto kind = description.substr(0, colon);
    const std::string name(colon == std::string_view::npos ? "" : description.substr(colon + 1));
    if (name.empty())
        return io::fail(EINVAL, expected);
    if (kind == "netdev")
        return openNetdev(name);
    if (kind == "tap")
        return openTap(name, madeUpAddress(random));
    if (kind == "unix")
        return openLocal(name, madeUpAddress(random));
    if (kind == "fd")
        return openInherited(name, madeUpAddress(random));
    return io::fail(EINVAL, expected);
}

io::Result<std::unique_ptr<SocketCable>> SocketCable::openNetdev(const std::string &name)
{
    auto socket = io::PacketSocket::open(name, link::ethertype);
    if (!socket)
        return std::unexpected(socket.error());
    const auto address = socket->address();
    const auto mtu = std::min<std::uint32_t>(socket->mtu(), mostFrame);
    return std::unique_ptr<SocketCable>(
        new SocketCable(Kind::netdev, name, std::move(*socket).release(), address, mtu));
}

io::Result<std::unique_ptr<SocketCable>> SocketCable::openTap(const std::string &name,
                                                              const io::MacAddress &address)
{
    io::UniqueFd fd(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!fd)
        return io::systemFail("/dev/net/tun");
    ifreq request{};
    if (name.size() >= sizeof request.ifr_name)
        return io::fail(EINVAL, name);
    std::ranges::copy(name, request.ifr_name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (::ioctl(fd.get(), TUNSETIFF, &request) < 0)
        return io::systemFail(name);
    const io::UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!any || ::ioctl(any.get(), SIOCGIFMTU, &request) < 0)
        return io::systemFail(name + ": MTU");
    return std::unique_ptr<SocketCable>(new SocketCable(
        Kind::tap, name, std::move(fd), address, static_cast<std::uint32_t>(request.ifr_mtu)));
}

io::Result<std::unique_ptr<SocketCable>> SocketCable::openLocal(const std::string &path,
                                                                const io::MacAddress &address)
{
    io::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd)
        return io::systemFail("socket");
    auto place = SocketPath::bind(fd.get(), path);
    if (!place)
        return std::unexpected(place.error());
    for (const int option : {SO_SNDBUFFORCE, SO_RCVBUFFORCE}) // without the right: less room
        ::setsockopt(fd.get(), SOL_SOCKET, option, &bufferBytes, sizeof bufferBytes);
    std::unique_ptr<SocketCable> cable(
        new SocketCable(Kind::local, path, std::move(fd), address, mostFrame));
    cable->path_.emplace(std::move(*place));
    return cable;
}

io::Result<std::unique_ptr<SocketCable>> SocketCable::openInherited(const std::string &number,
                                                                    const io::MacAddress &address)
{
    int fd = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), fd);
    if (error != std::errc{} || end != number.data() + number.size() || fd <= STDERR_FILENO)
        return io::fail(EINVAL, expected);
    int type = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
        return io::systemFail(number);
    if (type != SOCK_DGRAM)
        return io::fail(EPROTOTYPE, number);
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return io::systemFail(number);
    return std::unique_ptr<SocketCable>(
        new SocketCable(Kind::inherited, number, io::UniqueFd(fd), address, mostFrame));
}

void SocketCable::send(const io::MacAddress &to, const Frame &frame)
{
    if (to == broadcastMac) // a HELLO: some times a second, and first of a link
        measure();
    if (waiting_.empty() && trySend(to, frame) == Sent::gone)
        return;
    if (waiting_.size() < mostWaiting)
        waiting_.emplace_back(to, frame);
}

void SocketCable::flush()
{
    while (!waiting_.empty() &&
           trySend(waiting_.front().first, waiting_.front().second) == Sent::gone)
        waiting_.pop_front();
    if (!waiting_.empty() || !isConnected_)
        return;
    const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
    isConnected_ = ::connect(fd_.get(), &nobody, sizeof nobody) < 0;
}

ssize_t SocketCable::write(const io::MacAddress &to, const Frame &frame)
{
    std::array<std::uint8_t, ethernetSize> header{};
    std::ranges::copy(address_, std::ranges::copy(to, header.begin()).out);
    header[12] = link::ethertype >> 8;
    header[13] = link::ethertype & 0xFF;
    std::array<iovec, 2> parts{
        {{.iov_base = header.data(), .iov_len = header.size()},
         {.iov_base = const_cast<std::uint8_t *>(frame->data()), .iov_len = frame->size()}}};
    if (kind_ == Kind::tap)
        return ::writev(fd_.get(), parts.data(), static_cast<int>(parts.size()));
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    if (kind_ == Kind::local) {
        message.msg_name = &remote_;
        message.msg_namelen = remoteSize_;
    }
    return ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

SocketCable::Sent SocketCable::trySend(const io::MacAddress &to, const Frame &frame)
{
    if (isLost() || (kind_ == Kind::local && remoteSize_ == 0))
        return Sent::gone; // nobody is there
    ssize_t sent = -1;
    do
        sent = write(to, frame);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return Sent::gone;
    if (errno == EAGAIN)
        return awaitRoom() ? Sent::full : Sent::gone;
    noteTrouble(errno);
    return Sent::gone;
}

// Whether the descriptor becomes writable when there is room. One that is not connected
// always is, whatever the queue of whom it sends to.
bool SocketCable::awaitRoom()
{
    if (kind_ == Kind::local && !isConnected_)
        isConnected_ =
            ::connect(fd_.get(), reinterpret_cast<const sockaddr *>(&remote_), remoteSize_) == 0;
    return kind_ != Kind::local || isConnected_;
}

void SocketCable::noteTrouble(int error)
{
    if (kind_ == Kind::tap && error == EBADFD)
        state_ = State::lost;
    else if (kind_ == Kind::netdev && (error == ENETDOWN || error == ENXIO || error == ENODEV))
        state_ = State::down;
    else if (error == EMSGSIZE)
        measure();
}

void SocketCable::measure()
{
    if (kind_ != Kind::netdev)
        return;
    sockaddr_ll bound{};
    socklen_t size = sizeof bound;
    ifreq request{};
    if (::getsockname(fd_.get(), reinterpret_cast<sockaddr *>(&bound), &size) < 0)
        return;
    request.ifr_ifindex = bound.sll_ifindex; // it may have another name by now
    if (::ioctl(fd_.get(), SIOCGIFNAME, &request) == 0 &&
        ::ioctl(fd_.get(), SIOCGIFMTU, &request) == 0)
        maxFrame_ = std::min(static_cast<std::uint32_t>(request.ifr_mtu), mostFrame);
}

bool SocketCable::mend()
{
    if (state_ == State::down) {
        sockaddr_ll bound{};
        socklen_t size = sizeof bound;
        if (::getsockname(fd_.get(), reinterpret_cast<sockaddr *>(&bound), &size) < 0 ||
            bound.sll_ifindex >= 0)
            return false;
        state_ = State::lost; // it is bound to nothing
    }
    if (!isLost())
        return false;
    waiting_.clear();
    auto found = kind_ == Kind::tap ? openTap(name_, address_) : openNetdev(name_);
    if (!found)
        return false;
    maxFrame_ = (*found)->maxFrame_; // that of a new device, which may be set later
    fd_ = std::move((*found)->fd_);
    address_ = (*found)->address_;
    state_ = State::up;
    return true;
}

void SocketCable::receive(const Handler &handler)
{
    for (unsigned i = 0; i < framesPerTurn; ++i) {
        sockaddr_storage from{};
        socklen_t fromSize = sizeof from;
        const ssize_t got =
            kind_ == Kind::tap ? ::read(fd_.get(), buffer_.data(), buffer_.size())
                               : ::recvfrom(fd_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT,
                                            reinterpret_cast<sockaddr *>(&from), &fromSize);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return noteTrouble(errno); // or nothing was there
        state_ = State::up;
        sockaddr_ll sender{};
        std::memcpy(&sender, &from, sizeof sender);
        if (kind_ == Kind::netdev && sender.sll_pkttype == PACKET_OUTGOING)
            continue;
        if (kind_ == Kind::local && fromSize > sizeof(sa_family_t)) {
            remoteSize_ = std::min<socklen_t>(fromSize, sizeof remote_);
            std::copy_n(reinterpret_cast<const char *>(&from), remoteSize_,
                        reinterpret_cast<char *>(&remote_));
        }
        const io::View frame(buffer_.data(), static_cast<std::size_t>(got));
        if (frame.size() < ethernetSize || io::read<2>(frame, 12) != link::ethertype)
            continue;
        io::MacAddress source{};
        std::copy_n(frame.begin() + 6, source.size(), source.begin());
        handler(source, frame.subspan(ethernetSize));
    }
}

} // namespace openipoib::fabric
