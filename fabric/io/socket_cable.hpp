// SPDX-License-Identifier: GPL-2.0-only OR MIT
// A cable on a file descriptor that carries Ethernet frames, one a read:
//
//   netdev:NAME  a network device (packet socket), for instance one end of a veth pair
//   tap:NAME     a tap device, made if it does not exist
//   unix:PATH    a datagram socket bound to PATH, in place of one whose owner is gone;
//                frames go to whoever sent last, as `qemu -netdev
//                dgram,local.path=…,remote.path=PATH` does
//   fd:NUMBER    a connected datagram socket that this process has inherited, as
//                `qemu -netdev dgram,local.type=fd,local.str=NUMBER` has the other end
//
// Never blocks. A frame that the kernel has no room for waits; one that it
// refuses is lost, and the link protocol sends it again. At the MTU of a netdev it looks
// with each HELLO, and when a frame is too long. A device that is deleted
// takes the descriptor with it; mend() gets another one when there is a device of that name.
#pragma once

#include "io/error.hpp"
#include "io/fd_cable.hpp"
#include "io/socket_path.hpp"
#include "io/unique_fd.hpp"

#include <sys/un.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace openipoib::fabric
{

class SocketCable final : public FdCable
{
  public:
    // Errors: EINVAL for a description that is none, and those of the system.
    [[nodiscard]] static io::Result<std::unique_ptr<SocketCable>> open(std::string_view description,
                                                                       const Random &random);
    ~SocketCable() override = default;
    SocketCable(const SocketCable &) = delete;
    SocketCable &operator=(const SocketCable &) = delete;
    SocketCable(SocketCable &&) = delete;
    SocketCable &operator=(SocketCable &&) = delete;

    [[nodiscard]] int fd() const override { return fd_.get(); }
    [[nodiscard]] std::uint32_t maxFrame() const override { return maxFrame_; }
    [[nodiscard]] bool isReady() const override { return waiting_.empty(); }
    void send(const io::MacAddress &to, const Frame &frame) override;
    void flush() override;
    void receive(const Handler &handler) override;
    [[nodiscard]] bool isDown() const override { return state_ != State::up; }
    [[nodiscard]] bool isLost() const override { return state_ == State::lost; }
    bool mend() override;

  private:
    enum class Kind : std::uint8_t { netdev, tap, local, inherited };
    enum class Sent : std::uint8_t { gone, full };
    enum class State : std::uint8_t { up, down, lost };

    SocketCable(Kind kind, std::string name, io::UniqueFd fd, const io::MacAddress &address,
                std::uint32_t maxFrame)
        : kind_(kind), name_(std::move(name)), fd_(std::move(fd)), address_(address),
          maxFrame_(maxFrame)
    {
    }
    [[nodiscard]] static io::Result<std::unique_ptr<SocketCable>>
    openNetdev(const std::string &name);
    [[nodiscard]] static io::Result<std::unique_ptr<SocketCable>>
    openTap(const std::string &name, const io::MacAddress &address);
    [[nodiscard]] static io::Result<std::unique_ptr<SocketCable>>
    openLocal(const std::string &path, const io::MacAddress &address);
    [[nodiscard]] static io::Result<std::unique_ptr<SocketCable>>
    openInherited(const std::string &number, const io::MacAddress &address);
    [[nodiscard]] ssize_t write(const io::MacAddress &to, const Frame &frame);
    [[nodiscard]] Sent trySend(const io::MacAddress &to, const Frame &frame);
    [[nodiscard]] bool awaitRoom();
    void noteTrouble(int error);
    void measure(); // of a netdev: its MTU

    Kind kind_;
    std::string name_; // of the device, or the path
    io::UniqueFd fd_;
    io::MacAddress address_;
    std::uint32_t maxFrame_;
    State state_ = State::up;
    std::optional<SocketPath> path_; // of a datagram socket, as what follows
    sockaddr_un remote_{};
    socklen_t remoteSize_ = 0;
    bool isConnected_ = false; // to it, for as long as it has no room
    std::deque<std::pair<io::MacAddress, Frame>> waiting_;
    io::Bytes buffer_ = io::Bytes(65536 + 64);
};

} // namespace openipoib::fabric
