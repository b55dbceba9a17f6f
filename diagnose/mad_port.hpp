// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Asks the fabric by a port: management datagrams out, answers in, by libibumad.
#pragma once

#include "ib/gid.hpp"
#include "ib/mad.hpp"
#include "io/bytes.hpp"
#include "io/error.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace openipoib::diagnose
{

// Where a question goes to.
struct MadTarget {
    std::uint16_t lid = 0; // 0xFFFF: by a directed route
    std::uint32_t qpn = 1;
    std::uint8_t sl = 0;
    std::optional<ib::Gid> gid{}; // for a global route header
    int sends = 3;                // at most, within the patience
};

class MadPort
{
  public:
    // Errors: EACCES and EPERM, this user may not; ENOENT, the module ib_umad is not loaded; EIO.
    // @sys, @dev: "/sys" and "/dev", or other folders for tests
    [[nodiscard]] static io::Result<MadPort> open(const std::string &hca, unsigned port,
                                                  const std::string &sys = "/sys",
                                                  const std::string &dev = "/dev");
    MadPort(MadPort &&other) noexcept
        : id_(std::exchange(other.id_, -1)), agents_(other.agents_), name_(std::move(other.name_))
    {
    }
    MadPort &operator=(MadPort &&) = delete;
    ~MadPort();

    // @question: a whole MAD; the kernel makes the upper half of its transaction. It is sent again
    // when nothing has come for its share of @patience.
    // Errors: ETIMEDOUT, nobody has answered; EOPNOTSUPP, the port has no such datagrams.
    [[nodiscard]] io::Result<io::Bytes> ask(io::View question, MadTarget target,
                                            std::chrono::milliseconds patience);

  private:
    struct Agent {
        ib::MgmtClass mgmtClass{};
        int number = -1;
    };
    using Agents = std::array<Agent, 4>;

    MadPort(int id, std::string name) : id_(id), name_(std::move(name)) {}

    [[nodiscard]] io::Result<void> registerAgents();
    [[nodiscard]] io::Result<io::Bytes> receive(io::View question,
                                                std::chrono::milliseconds patience) const;

    int id_; // libibumad's
    Agents agents_{};
    std::string name_;
};

} // namespace openipoib::diagnose
