// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One end of a cable by docs/sib-link.md, without any I/O: frames that arrive
// go in, frames to send come out of takeOutput(), time is what the caller says
// it is.
//
//   Endpoint end({.session = random, .guid = guid});
//   end.onFrame(frame, now);             // a link frame, no Ethernet header
//   end.onTime(now);                     // at least every 10 ms
//   for (auto &frame : end.takeOutput()) socket.send(...);
//   for (auto &packet : end.takeInput()) // InfiniBand packets, in order
//   if (end.canSend()) end.send(packet); // right or wrong: it is not looked at
//
// Missing frames are reported and sent again; a peer that is silent or starts
// a new session brings the link back to training. Not thread-safe.
#pragma once

#include "io/bytes.hpp"
#include "link/header.hpp"
#include "link/hello.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace openipoib::link
{

class Endpoint
{
  public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::uint16_t window = 128;

    struct Config {
        std::uint32_t session = 1; // not 0, different in each run
        std::uint64_t guid = 0;
        std::uint16_t timeout = 1000;
        std::uint32_t maxFrame = 65535;
    };

    explicit Endpoint(const Config &config) : config_(config) {}

    void onFrame(io::View frame, Time now);
    void onTime(Time now);

    // Queue one DATA frame with one packet. canSend() must be true.
    void send(io::View packet, Time now) { sendFrame(packet, 1, now); }
    // The same with any packet count and content.
    void sendFrame(io::View payload, std::uint8_t count, Time now);
    // Queue a frame as it is, outside the sequence.
    void sendRaw(io::Bytes frame) { output_.push_back(std::move(frame)); }

    [[nodiscard]] bool isUp() const { return state_ == HelloState::up; }
    [[nodiscard]] bool canSend() const;
    [[nodiscard]] std::size_t unacknowledged() const { return sent_.size(); }
    // Times the link has gone down after having been up.
    [[nodiscard]] unsigned downs() const { return downs_; }
    // Header of the next frame, for frames built by hand.
    [[nodiscard]] Header header(FrameType type) const;

    [[nodiscard]] std::vector<io::Bytes> takeOutput() { return std::exchange(output_, {}); }
    [[nodiscard]] std::vector<io::Bytes> takeInput() { return std::exchange(input_, {}); }

  private:
    void onHello(const Header &header, const Hello &hello, Time now);
    void onAck(const Header &header, Time now);
    void onData(const Header &header, io::View payload);
    void deliver(io::View payload);
    void sendHello(Time now);
    void sendAck();
    void goUp();
    void reset();

    Config config_;
    HelloState state_ = HelloState::listen;
    std::uint32_t peer_ = 0;
    std::uint32_t peerWindow_ = 0;
    unsigned downs_ = 0;
    Time helloAt_{};
    Time heardAt_{};
    Time resendAt_{};
    std::uint32_t nextOut_ = 0;
    std::uint32_t firstUnacked_ = 0;
    std::deque<io::Bytes> sent_; // firstUnacked_ .. nextOut_ - 1
    std::uint32_t nextIn_ = 0;
    std::map<std::uint32_t, io::Bytes> held_; // payloads ahead of their turn
    bool ackDue_ = false;
    std::vector<io::Bytes> output_;
    std::vector<io::Bytes> input_;
};

} // namespace openipoib::link
