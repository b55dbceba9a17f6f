// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A peer on the cable of sib0, whose packets fit queue pairs that a local process has, or
// nearly do: what the records of the targets `wire` and `mad` say of the cable.
#pragma once

#include "cable.hpp"
#include "process.hpp"
#include "subnet.hpp"

#include <array>

namespace openipoib::kfuzz
{

class Peer
{
  public:
    static constexpr unsigned slots = 8; // queue pairs of the local process

    Peer();

    // A link that has just come up, a port that is ACTIVE, nothing else; false if the HCA
    // does not get there in so many tries. One that is not answered takes 0.4 s, and none
    // is by a port that has been given an M_Key.
    bool begin(unsigned tries = 50);
    // What is under construction goes out, what has come is taken.
    void end();

    // The local process has queue pairs of all services.
    void populate(Process &process);

    // Records
    void packet(const Record &record, const Process &process);
    void rawPacket(io::View octets);
    void frame(const Record &record);
    void held(const Record &record);
    void hello(const Record &record);
    void acknowledge(const Record &record);
    void scribble(const Record &record);
    void rawFrame(const Record &record, io::View octets);
    // A datagram to QP0 or QP1
    void mad(io::View mad, bool subnet, std::uint16_t from = rightLid);

    Cable &cable() { return cable_; }
    // Nothing is taken for granted of the port any more.
    void forget() { info_.clear(); }
    // The HCA is another one now.
    void reopen()
    {
        umad_ = Umad("sib0");
        info_.clear();
    }

  private:
    io::Bytes transport(const Record &record, const Process &process, std::uint8_t opcode,
                        std::uint32_t psn);
    io::Bytes extension(const Record &record, const Process &process, std::uint8_t opcode);
    void add(io::View packet);
    void flush();

    Cable cable_;
    Umad umad_;
    io::Bytes info_;    // PortInfo of the port that was ACTIVE
    io::Bytes packets_; // of the frame under construction
    std::uint8_t count_ = 0;
    bool wasHeld_ = false;                    // a frame was, and changed
    std::array<std::uint32_t, slots> psns_{}; // of the next request to a queue pair
};

} // namespace openipoib::kfuzz
