// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A raw packet socket bound to one network interface and one ethertype.
//
//   auto socket = PacketSocket::open("eth1", 0x88B5);
//   socket->send(frame);                     // a whole Ethernet frame
//   auto got = socket->receive(100ms);       // nullopt when nothing came
//
// Only frames that arrived are returned; the socket's own and other local
// senders' frames are skipped. Not thread-safe.
#pragma once

#include "io/bytes.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace openipoib::io
{

using MacAddress = std::array<std::uint8_t, 6>;

class PacketSocket
{
  public:
    // Open and bind. Errors: ENODEV for an unknown interface, EPERM without
    // CAP_NET_RAW.
    [[nodiscard]] static Result<PacketSocket> open(const std::string &interface,
                                                   std::uint16_t ethertype);

    // Send one frame, Ethernet header included. Waits for room in the socket
    // buffer. Errors: EMSGSIZE when it exceeds the interface's MTU, ENETDOWN.
    [[nodiscard]] Result<void> send(View frame) const;

    // The next frame received, or nullopt when none came within the timeout.
    [[nodiscard]] Result<std::optional<Bytes>> receive(std::chrono::milliseconds timeout);

    [[nodiscard]] const MacAddress &address() const { return address_; }
    [[nodiscard]] unsigned mtu() const { return mtu_; }
    // The descriptor, for a caller that reads and writes it in a way of its own.
    [[nodiscard]] UniqueFd release() && { return std::move(fd_); }

  private:
    PacketSocket(UniqueFd fd, MacAddress address, unsigned mtu)
        : fd_(std::move(fd)), address_(address), mtu_(mtu)
    {
    }

    UniqueFd fd_;
    MacAddress address_;
    unsigned mtu_;
};

} // namespace openipoib::io
