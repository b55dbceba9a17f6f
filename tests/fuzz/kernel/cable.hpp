// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The far end of an HCA's cable: a peer that speaks the link protocol (docs/sib-link.md)
// well enough to be trained with, and then sends what it is told to.
#pragma once

#include "link/header.hpp"
#include "plug.hpp"

#include <cstdint>
#include <memory>

namespace openipoib::kfuzz
{

class Cable
{
  public:
    static constexpr std::size_t longest = 9000;

    explicit Cable(std::unique_ptr<Plug> plug);

    // Begin a new session and train. False if the HCA does not answer.
    bool train();
    // Take what has come, without waiting; acknowledges nothing.
    void receive();
    // A promise: none of the packets that come has these octets.
    void forbid(io::View octets) { forbidden_.assign(octets.begin(), octets.end()); }

    // A link frame with the right sessions, numbers and check; seq is next() unless told so.
    [[nodiscard]] link::Header header(link::FrameType type) const;
    // Put a frame on the cable, as it is.
    void send(io::View frame, bool fromStranger = false);
    // The next frame in sequence
    void sendData(io::View packets, std::uint8_t count);
    void sendAck(std::uint32_t ack, std::uint16_t gap, std::uint16_t window);
    void hello(std::uint32_t peer, std::uint8_t state, std::uint32_t longestFrame = longest);

    // Change two octets of a frame that was sent, which the HCA may still hold.
    void scribble(std::size_t framesAgo, std::size_t offset, std::uint16_t value);

    [[nodiscard]] std::uint32_t next() const { return next_; }
    [[nodiscard]] std::uint32_t expected() const { return expected_; }
    [[nodiscard]] std::uint32_t peer() const { return peer_; }
    [[nodiscard]] std::uint32_t session() const { return session_; }
    void advance() { ++next_; }

  private:
    void heard(io::View frame);

    std::unique_ptr<Plug> plug_;
    Mac mac_, peerMac_;
    io::Bytes forbidden_;
    std::uint32_t session_ = 0x1000; // of this end
    std::uint32_t peer_ = 0;         // of the HCA, as heard last
    std::uint32_t heardOf_ = 0;      // the session of ours that it has heard
    std::uint32_t next_ = 0, expected_ = 0;
};

} // namespace openipoib::kfuzz
