// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A host of its own on the cable: speaks the link protocol, answers the subnet
// manager, and sends whatever it is told to, sequenced like any packet or as a
// bare link frame. Not thread-safe.
#pragma once

#include "ib/ipoib.hpp"
#include "ib/sma.hpp"
#include "io/packet_socket.hpp"
#include "link/endpoint.hpp"

#include <chrono>
#include <functional>
#include <string>

namespace openipoib::wire
{

class Fabric
{
  public:
    using Duration = std::chrono::milliseconds;

    // Bind to the lower network device of the cable.
    [[nodiscard]] static io::Result<Fabric> open(const std::string &netdev, std::uint64_t guid,
                                                 std::uint32_t session);

    // Carry frames both ways until the condition holds; ETIMEDOUT if it does
    // not within the limit.
    [[nodiscard]] io::Result<void> until(const std::function<bool()> &condition, Duration limit,
                                         const std::string &what);
    // Carry frames for one turn: until something comes, or 10 ms have passed.
    [[nodiscard]] io::Result<void> turn();

    // Send one packet within the link's sequence, waiting for its window.
    [[nodiscard]] io::Result<void> send(io::View packet, std::uint8_t count = 1);
    // Send a link frame outside the sequence, from another station if told so.
    [[nodiscard]] io::Result<void> sendRaw(io::View frame);
    [[nodiscard]] io::Result<void> sendRawFrom(const io::MacAddress &source, io::View frame);
    // Wait until the peer has taken everything sent so far.
    [[nodiscard]] io::Result<void> drain();

    // Called with every packet that is not for the SMA.
    void onPacket(std::function<void(io::View)> handler) { handler_ = std::move(handler); }

    [[nodiscard]] const link::Endpoint &endpoint() const { return endpoint_; }
    [[nodiscard]] const ib::Sma &sma() const { return sma_; }
    [[nodiscard]] unsigned mtu() const { return socket_.mtu(); }
    // Session number of the peer, 0 until it is heard.
    [[nodiscard]] std::uint32_t peerSession() const;

  private:
    Fabric(io::PacketSocket socket, std::uint64_t guid, std::uint32_t session);

    [[nodiscard]] io::Result<void> flush();
    // Take every frame that has come, waiting so long for the first.
    [[nodiscard]] io::Result<void> receiveAll(Duration wait);
    void receive(io::View frame);

    io::PacketSocket socket_;
    link::Endpoint endpoint_;
    ib::Sma sma_;
    io::MacAddress peerMac_{};
    bool wasUp_ = false;
    std::uint64_t hellos_ = 0; // heard from the peer
    std::function<void(io::View)> handler_ = [](io::View) {};
};

} // namespace openipoib::wire
