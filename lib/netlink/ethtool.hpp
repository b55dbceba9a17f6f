// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What ethtool -g, -l, -c, -k and -S show and -G, -L and -C set, by interface name.
#pragma once

#include "io/error.hpp"
#include "io/unique_fd.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace openipoib::netlink
{

// in packets
struct Rings {
    std::uint32_t rx = 0;
    std::uint32_t tx = 0;

    bool operator==(const Rings &) const = default;
};

// Microseconds and frames until completions are told of
struct Moderation {
    std::uint32_t rxUsecs = 0;
    std::uint32_t rxFrames = 0;
    std::uint32_t txUsecs = 0;
    std::uint32_t txFrames = 0;
    bool rxAdaptive = false;

    bool operator==(const Moderation &) const = default;
};

// What ethtool -k shows
struct Feature {
    std::string name;
    bool available = false; // it can be switched on and off
    bool active = false;

    bool operator==(const Feature &) const = default;
};

// Errors of all: EOPNOTSUPP, the driver has none of it; ENODEV, there is no such
// interface; EINVAL, the name is none; else what the driver says.
class Ethtool
{
  public:
    // Errors: those of socket().
    [[nodiscard]] static io::Result<Ethtool> open();

    [[nodiscard]] io::Result<Rings> rings(const std::string &interface) const;
    // Queues to transmit, or for both ways where the driver has no others
    [[nodiscard]] io::Result<std::uint32_t> queues(const std::string &interface) const;
    [[nodiscard]] io::Result<Moderation> moderation(const std::string &interface) const;
    [[nodiscard]] io::Result<std::vector<Feature>> features(const std::string &interface) const;
    // What the driver counts, by its names. Errors besides: E2BIG, more than is believed.
    [[nodiscard]] io::Result<std::map<std::string, std::uint64_t, std::less<>>>
    counters(const std::string &interface) const;

    // What is not named is left as it is. Errors besides: EPERM.
    [[nodiscard]] io::Result<void> setRings(const std::string &interface, const Rings &rings) const;
    [[nodiscard]] io::Result<void> setQueues(const std::string &interface,
                                             std::uint32_t queues) const;
    [[nodiscard]] io::Result<void> setModeration(const std::string &interface,
                                                 const Moderation &moderation) const;

  private:
    explicit Ethtool(io::UniqueFd socket) : socket_(std::move(socket)) {}

    io::UniqueFd socket_;
};

} // namespace openipoib::netlink
