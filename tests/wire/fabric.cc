// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "wire/fabric.hpp"

#include <algorithm>
#include <utility>

namespace openipoib::wire
{

namespace
{

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t ethernetHeader = 14;
constexpr auto turnLength = 10ms;
constexpr auto sendLimit = 10s;
constexpr std::uint16_t silence = 3000; // ms; patient, the peer may be emulated

io::Bytes ethernet(const io::MacAddress &destination, const io::MacAddress &source,
                   io::View payload)
{
    io::Bytes out;
    out.reserve(ethernetHeader + payload.size());
    io::append(out, destination);
    io::append(out, source);
    io::append<2>(out, link::ethertype);
    io::append(out, payload);
    return out;
}

constexpr io::MacAddress broadcast{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

} // namespace

io::Result<Fabric> Fabric::open(const std::string &netdev, std::uint64_t guid,
                                std::uint32_t session)
{
    auto socket = io::PacketSocket::open(netdev, link::ethertype);
    if (!socket)
        return std::unexpected(socket.error());
    return Fabric(std::move(*socket), guid, session);
}

Fabric::Fabric(io::PacketSocket socket, std::uint64_t guid, std::uint32_t session)
    : socket_(std::move(socket)), endpoint_({.session = session,
                                             .guid = guid,
                                             .timeout = silence,
                                             .maxFrame = std::min(socket_.mtu(), 65535u)}),
      sma_(guid, "ib-frames"), peerMac_(broadcast)
{
}

std::uint32_t Fabric::peerSession() const
{
    return endpoint_.header(link::FrameType::hello).peer;
}

void Fabric::receive(io::View frame)
{
    if (frame.size() < ethernetHeader)
        return;
    const io::View payload = frame.subspan(ethernetHeader);
    endpoint_.onFrame(payload, Clock::now());
    const auto header = link::Header::parse(payload);
    if (header && header->session == peerSession()) {
        std::ranges::copy(frame.subspan(6, peerMac_.size()), peerMac_.begin());
        hellos_ += header->type == link::FrameType::hello ? 1 : 0;
    }
    if (endpoint_.isUp() != wasUp_) {
        wasUp_ = endpoint_.isUp();
        if (wasUp_)
            sma_.linkUp();
    }
    for (const auto &packet : endpoint_.takeInput()) {
        if (const auto answer = sma_.answer(packet)) {
            if (endpoint_.canSend())
                endpoint_.send(*answer, Clock::now());
        } else {
            handler_(packet);
        }
    }
}

io::Result<void> Fabric::flush()
{
    endpoint_.onTime(Clock::now());
    for (const auto &frame : endpoint_.takeOutput()) {
        const auto sent = socket_.send(ethernet(broadcast, socket_.address(), frame));
        if (!sent)
            return sent;
    }
    return {};
}

io::Result<void> Fabric::turn()
{
    if (auto sent = flush(); !sent)
        return sent;
    if (auto received = receiveAll(turnLength); !received)
        return received;
    return flush();
}

io::Result<void> Fabric::receiveAll(Duration wait)
{
    for (;; wait = 0ms) {
        auto got = socket_.receive(wait);
        if (!got)
            return std::unexpected(got.error());
        if (!*got)
            return {};
        receive(**got);
    }
}

io::Result<void> Fabric::until(const std::function<bool()> &condition, Duration limit,
                               const std::string &what)
{
    const auto end = Clock::now() + limit;
    while (!condition()) {
        if (Clock::now() >= end)
            return io::fail(ETIMEDOUT, what);
        if (auto done = turn(); !done)
            return done;
    }
    return {};
}

io::Result<void> Fabric::send(io::View packet, std::uint8_t count)
{
    auto open = until([this] { return endpoint_.canSend(); }, sendLimit, "window of the link");
    if (!open)
        return open;
    endpoint_.sendFrame(packet, count, Clock::now());
    // Take what has come, so that it is acknowledged in time.
    if (auto received = receiveAll(0ms); !received)
        return received;
    return flush();
}

io::Result<void> Fabric::sendRaw(io::View frame)
{
    return sendRawFrom(socket_.address(), frame);
}

io::Result<void> Fabric::sendRawFrom(const io::MacAddress &source, io::View frame)
{
    return socket_.send(ethernet(peerMac_, source, frame));
}

io::Result<void> Fabric::drain()
{
    // A hello that says "not up" is answered at once, after whatever came
    // before it.
    io::Bytes hello;
    link::Hello{.state = link::HelloState::heard,
                .timeout = silence,
                .maxFrame = std::min(socket_.mtu(), 65535u),
                .guid = sma_.guid()}
        .appendTo(hello);
    if (auto sent = sendRaw(endpoint_.header(link::FrameType::hello).frame(hello)); !sent)
        return sent;
    return until(
        [this, before = hellos_] { return hellos_ > before && endpoint_.unacknowledged() == 0; },
        sendLimit, "answer of the peer");
}

} // namespace openipoib::wire
