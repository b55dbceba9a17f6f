// SPDX-License-Identifier: GPL-2.0-only OR MIT
// One port's end of a cable that leaves the process, by docs/sib-link.md,
// without I/O: frames that arrive go in, frames to send come out.
//
//   Station station({.guid = guid, .port = 3}, random);
//   station.enable(now);
//   station.onFrame(source, payload, now);   // for each frame of a batch
//   while (auto packet = station.takePacket(now)) // in order, each once
//   station.onBatchEnd(now);
//   while (station.canSend()) station.send(payload, count, now);
//   for (auto &out : station.takeOutput())   // to out.to
//   station.onTime(now);                     // at deadline()
#pragma once

#include "io/bytes.hpp"
#include "io/packet_socket.hpp"
#include "link/counters.hpp"
#include "link/header.hpp"
#include "link/hello.hpp"
#include "link/receiver.hpp"
#include "link/sender.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace openipoib::fabric
{

inline constexpr io::MacAddress broadcastMac{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
inline constexpr std::uint32_t longestFrame = 65535;

class Station
{
  public:
    struct Config {
        std::uint64_t guid = 0;
        std::uint8_t port = 1;
        std::uint16_t timeout = 1000; // ms
        std::uint32_t maxFrame = longestFrame;
    };
    struct Outgoing {
        io::MacAddress to;
        Frame frame;
    };

    Station(const Config &config, std::function<std::uint32_t()> random)
        : config_(config), random_(std::move(random))
    {
    }
    Station(const Station &) = delete;
    Station &operator=(const Station &) = delete;
    Station(Station &&) = delete;
    Station &operator=(Station &&) = delete;
    ~Station() = default;

    void enable(Time now);  // OFF to LISTEN
    void disable(Time now); // to OFF, with a last HELLO of a new session
    void restart(Time now); // to LISTEN with a new session
    // The cable takes frames of another length: train again, with those.
    void limitFrame(std::uint32_t maxFrame, Time now);
    [[nodiscard]] std::uint32_t maxFrame() const { return config_.maxFrame; }

    void onFrame(const io::MacAddress &source, io::View frame, Time now);
    // After packets have been taken: acknowledges them.
    void onBatchEnd(Time now);
    void onTime(Time now);
    [[nodiscard]] Time deadline() const;

    [[nodiscard]] bool isUp() const { return state_ == State::up; }
    [[nodiscard]] bool canSend() const { return isUp() && sender_.canSend(); }
    // Most bytes of packets that a DATA frame may carry.
    [[nodiscard]] std::size_t maxPayload() const;
    // Send whole packets, not longer than maxPayload(). canSend() must be true.
    void send(io::View payload, std::uint8_t count, Time now);

    [[nodiscard]] std::vector<Outgoing> takeOutput() { return std::exchange(output_, {}); }
    // The next packet; nullopt if there is none. Frames whose packets nobody takes hold the
    // peer back.
    [[nodiscard]] std::optional<io::Bytes> takePacket(Time now);
    // Since when that one has been there to be taken; Time::max() if there is none.
    [[nodiscard]] Time waitingSince() const;

    [[nodiscard]] const LinkCounters &counters() const { return counters_; }
    [[nodiscard]] const link::Hello &peerHello() const { return hello_; }
    [[nodiscard]] std::uint32_t session() const { return session_; }

  private:
    enum class State : std::uint8_t { off, listen, heard, up };

    void forget();
    void listen(Time now);
    void pair(const io::MacAddress &source, const link::Header &header, const link::Hello &hello,
              Time now);
    void goUp(Time now);
    void onHello(const io::MacAddress &source, const link::Header &header, io::View payload,
                 Time now);
    void onPeerHello(const link::Header &header, const link::Hello &hello, Time now);
    void onPairFrame(const io::MacAddress &source, const link::Header &header, io::View payload,
                     Time now);
    void split(const Receiver::Data &data);
    [[nodiscard]] link::Header header(link::FrameType type) const;
    void sendHello(Time now);
    void sendAck(Time now);
    void sendAgain(std::vector<Frame> frames);

    Config config_;
    std::function<std::uint32_t()> random_;
    LinkCounters counters_;
    State state_ = State::off;
    std::uint32_t session_ = 0;
    std::uint32_t peer_ = 0; // its session
    io::MacAddress peerMac_ = broadcastMac;
    link::Hello hello_; // its last
    Time helloAt_{};
    Time heardAt_{};
    Sender sender_{counters_};
    Receiver receiver_{counters_};
    std::vector<Outgoing> output_;
    std::deque<io::Bytes> input_; // packets of a frame
    Time inputSince_{};           // when its turn had come
};

} // namespace openipoib::fabric
