// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A cable over UDP, `udp:` and what udp/address.hpp says: to another ibfabric that has the
// same key. Without a REMOTE the peer is whoever shows last that he has it.
//
// Never blocks, but for names that are looked up when it is opened. Datagrams are as long as
// the path's MTU says and never cut by it; what gets lost the link protocol sends again.
#pragma once

#include "io/error.hpp"
#include "io/fd_cable.hpp"
#include "io/unique_fd.hpp"
#include "udp/address.hpp"
#include "udp/tunnel.hpp"

#include <sys/socket.h>

#include <deque>
#include <memory>
#include <string_view>

namespace openipoib::fabric
{

class UdpCable final : public FdCable
{
  public:
    // As sib-link.md, 1.2 has it for an MTU of 4096.
    static constexpr std::uint32_t mostFrame = 4208;

    // Errors: EINVAL for ends that are none, and those of the system.
    [[nodiscard]] static io::Result<std::unique_ptr<UdpCable>>
    open(std::string_view ends, io::View key, const Random &random);

    [[nodiscard]] int fd() const override { return fd_.get(); }
    [[nodiscard]] std::uint32_t maxFrame() const override { return mostFrame; }
    [[nodiscard]] bool isReady() const override { return waiting_.empty(); }
    [[nodiscard]] Counts counts() const override;
    void send(const io::MacAddress &to, const Frame &frame) override;
    void flush() override;
    void receive(const Handler &handler) override;

  private:
    enum class Sent : std::uint8_t { gone, full, tooLong };
    struct Address {
        sockaddr_storage bytes{};
        socklen_t size = 0; // 0: none

        bool operator==(const Address &other) const;
    };

    UdpCable(io::UniqueFd fd, const Address &remote, io::View key, const Random &random);
    [[nodiscard]] static io::Result<std::unique_ptr<UdpCable>>
    openBoth(const UdpEnds &ends, io::View key, const Random &random);
    [[nodiscard]] Sent trySend(io::View datagram, const Address &to);
    // False if it was longer than the path takes.
    [[nodiscard]] bool put(io::Bytes datagram);
    // Ask the system how long a datagram may be; true if it is less than was known.
    bool measure(Time now);

    io::UniqueFd fd_;
    bool isConnected_;
    Address remote_;
    Tunnel tunnel_;
    std::size_t mostDatagram_ = 0; // without headers of IP and UDP
    Time measuredAt_{};
    std::deque<io::Bytes> waiting_;
    io::Bytes buffer_ = io::Bytes(65536);
};

} // namespace openipoib::fabric
