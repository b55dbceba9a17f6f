// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The two ends of one direction of a reliable connection (IBA volume 1, section 9.7):
// SENDs alone. What a link loses is sent again.
#pragma once

#include "ib/bth.hpp"
#include "io/bytes.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace openipoib::peers
{

using Time = std::chrono::steady_clock::time_point;

// What an AETH says.
struct Acknowledgement {
    static constexpr std::size_t size = 4;
    static constexpr std::uint8_t good = 0x1F; // and no limit by credits
    static constexpr std::uint8_t outOfSequence = 0x60;
    static constexpr std::uint8_t invalidRequest = 0x61;

    std::uint32_t psn = 0; // of its BTH
    std::uint8_t syndrome = good;
    std::uint32_t messages = 0;

    [[nodiscard]] bool isAck() const { return (syndrome & 0x60) == 0; }
};

class Receiver
{
  public:
    static constexpr std::uint32_t longest = 65524; // message of IPoIB

    explicit Receiver(std::uint32_t psn) : next_(psn) {}

    struct Outcome {
        std::optional<io::Bytes> message;
        std::optional<Acknowledgement> answer;
    };
    // A packet of the connection, what is behind its BTH.
    [[nodiscard]] Outcome receive(const ib::Bth &bth, io::View payload);

  private:
    std::uint32_t next_;
    std::uint32_t messages_ = 0;
    bool isBehind_ = false; // the sender has been told to go back
    bool isInside_ = false; // of a message
    io::Bytes message_;
};

class Sender
{
  public:
    // A message that fits into a packet.
    struct Packet {
        std::uint32_t psn = 0;
        io::Bytes payload;
    };

    // The PSN of the first message, before any is sent.
    void begin(std::uint32_t psn) { first_ = psn; }
    void push(io::Bytes message) { messages_.push_back(std::move(message)); }
    void acknowledge(const Acknowledgement &answer, Time now);
    // What is to be sent now, each with a request for an acknowledgement.
    [[nodiscard]] std::vector<Packet> due(Time now);
    // Nobody has answered for long.
    [[nodiscard]] bool hasFailed() const { return tries_ > mostTries; }

  private:
    static constexpr unsigned mostTries = 8;

    std::deque<io::Bytes> messages_; // not acknowledged
    std::size_t sent_ = 0;           // of these
    std::uint32_t first_ = 0;        // PSN of the oldest
    unsigned tries_ = 0;
    Time again_{}; // when those sent are sent again
};

} // namespace openipoib::peers
