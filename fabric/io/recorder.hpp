// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Writes packets of a fabric down as pcap: all of them to a file that is bounded and
// rotated, those of a port to whoever asked.
//
// Nothing here waits. What a reader does not take in time is kept up to a bound;
// packets beyond it are missing in the capture, and counted.
#pragma once

#include "core/ear.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>

namespace openipoib::fabric
{

class Recorder final : public PacketEar
{
  public:
    using WallClock = std::function<std::chrono::nanoseconds(Time)>; // since 1970
    static constexpr std::uint64_t leastFile = 1 << 20;
    static constexpr std::size_t mostStreams = 8;

    explicit Recorder(WallClock clock) : clock_(std::move(clock)) {}

    // All packets, each once a link, to a file of half the size at most; the previous
    // one is PATH.1. Or to a FIFO that is being read, without a bound. Errors: the
    // system's.
    [[nodiscard]] io::Result<void> openFile(const std::string &path, std::uint64_t mostBytes);
    // The packets of a port to a socket that does not block, until count packets
    // have gone (0: no end) or the other end closes it.
    void addStream(io::UniqueFd fd, PortRef at, std::uint64_t count);
    // Whether there are as many streams as there may be, without those whose reader is gone.
    [[nodiscard]] bool isFull();
    [[nodiscard]] bool isRecording() const { return file_ || !streams_.empty(); }

    void onPacket(PortRef at, Way way, io::View packet, Time now) override;
    // Write what has been noted, as far as it is taken.
    void flush();

    // Packets that are missing because their reader was too slow.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

  private:
    struct Output {
        io::UniqueFd fd;
        io::Bytes bytes{}; // not yet written
    };
    struct File {
        std::string path;
        std::uint64_t mostBytes;
        Output output;
        std::uint64_t size = 0; // with what is to be written
        bool isRegular = true;
    };
    struct Stream {
        Output output;
        PortRef at;
        std::uint64_t left; // packets; 0: no end
        bool isComplete = false;
    };

    [[nodiscard]] bool note(Output &output, io::View packet, Time now);
    [[nodiscard]] static bool write(Output &output);
    void rotate();
    void endFile();

    WallClock clock_;
    std::optional<File> file_;
    std::list<Stream> streams_;
    std::uint64_t lost_ = 0;
};

} // namespace openipoib::fabric
