// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Management datagrams of this process, by umad; and with them what a subnet manager does
// to a port, so that none is needed.
#pragma once

#include "io/bytes.hpp"
#include "io/unique_fd.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace openipoib::kfuzz
{

inline constexpr std::uint16_t leftLid = 1, rightLid = 2;
inline constexpr std::size_t madSize = 256;
using Mad = std::array<std::uint8_t, madSize>;

// The file of a port's management datagrams
class Umad
{
  public:
    // With agents that are told of no requests: one for each class
    explicit Umad(const std::string &hca);

    explicit operator bool() const { return static_cast<bool>(fd_); }
    struct Way {
        std::uint32_t agent = 0; // one of the agents here, or a number that is none
        std::uint16_t lid = 0xFFFF;
        std::uint32_t qpn = 0, qkey = 0;
        std::uint16_t pkeyIndex = 0;
        std::uint32_t timeout = 0, retries = 0; // milliseconds; 0: no answer is waited for
        bool grh = false;
        std::size_t size = madSize;
    };
    void send(const Way &way, io::View mad) const;
    // The next that has come; nothing if none comes in time.
    [[nodiscard]] std::optional<Mad> receive(std::chrono::milliseconds limit) const;
    void drain() const;

    // A directed route SMP to this port itself, and the answer
    [[nodiscard]] std::optional<Mad> ask(std::uint8_t method, std::uint16_t attribute,
                                         std::uint32_t modifier, std::uint64_t mkey,
                                         io::View data) const;

  private:
    io::UniqueFd fd_;
    mutable std::uint32_t transaction_ = 1;
};

// The content of an attribute in an SMP
[[nodiscard]] io::View contentOf(const Mad &smp);

// Give the port its LID and P_Keys and make it ACTIVE, once its link is up. False if it
// is not ACTIVE then.
bool bringUp(const std::string &hca, std::uint16_t lid);
// The same without waiting for the link. Returns PortInfo as it was set.
std::optional<io::Bytes> activate(const Umad &umad, std::uint16_t lid, std::uint64_t mkey = 0);
// Make the port ACTIVE again that was so with this PortInfo, and has kept the rest.
bool reactivate(const Umad &umad, io::Bytes info);

// The state of the port as sysfs has it: 1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 0 none
[[nodiscard]] unsigned portState(const std::string &hca);

} // namespace openipoib::kfuzz
