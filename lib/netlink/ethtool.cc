// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/ethtool.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

namespace openipoib::netlink
{

namespace
{

// One of the kernel's structures that begin with a command.
template <typename Data>
io::Result<void> call(int socket, const std::string &interface, std::uint32_t command, Data &data)
{
    if (interface.empty() || interface.size() >= IFNAMSIZ)
        return io::fail(EINVAL, interface);
    ifreq request{};
    std::ranges::copy(interface, request.ifr_name);
    data.cmd = command;
    request.ifr_data = reinterpret_cast<char *>(&data);
    if (::ioctl(socket, SIOCETHTOOL, &request) < 0)
        return io::systemFail(interface);
    return {};
}

template <typename Data>
io::Result<Data> get(int socket, const std::string &interface, std::uint32_t command)
{
    Data data{};
    if (const auto done = call(socket, interface, command, data); !done)
        return std::unexpected(done.error());
    return data;
}

// ethtool_gfeatures and ethtool_gstrings with room for more than any kernel has
constexpr std::size_t mostFeatures = 256;
constexpr std::size_t bitsOfBlock = 32;

struct FeatureBlocks {
    std::uint32_t cmd;
    std::uint32_t size; // blocks
    std::array<ethtool_get_features_block, mostFeatures / bitsOfBlock> blocks;
};

struct FeatureNames {
    std::uint32_t cmd;
    std::uint32_t set;
    std::uint32_t count;
    std::array<std::array<char, ETH_GSTRING_LEN>, mostFeatures> names;
};

// ethtool_gstrings and ethtool_stats: their number may grow between two calls, and the kernel
// believes that there is room.
constexpr std::size_t mostCounters = 8192;

struct CounterNames {
    std::uint32_t cmd;
    std::uint32_t set;
    std::uint32_t count;
    std::array<std::array<char, ETH_GSTRING_LEN>, mostCounters> names;
};

struct CounterValues {
    std::uint32_t cmd;
    std::uint32_t count;
    std::array<std::uint64_t, mostCounters> values;
};

} // namespace

io::Result<Ethtool> Ethtool::open()
{
    io::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket)
        return io::systemFail("socket for ethtool");
    return Ethtool(std::move(socket));
}

io::Result<Rings> Ethtool::rings(const std::string &interface) const
{
    const auto now = get<ethtool_ringparam>(socket_.get(), interface, ETHTOOL_GRINGPARAM);
    if (!now)
        return std::unexpected(now.error());
    return Rings{now->rx_pending, now->tx_pending};
}

io::Result<std::uint32_t> Ethtool::queues(const std::string &interface) const
{
    const auto now = get<ethtool_channels>(socket_.get(), interface, ETHTOOL_GCHANNELS);
    if (!now)
        return std::unexpected(now.error());
    return now->max_tx ? now->tx_count : now->combined_count;
}

io::Result<Moderation> Ethtool::moderation(const std::string &interface) const
{
    const auto now = get<ethtool_coalesce>(socket_.get(), interface, ETHTOOL_GCOALESCE);
    if (!now)
        return std::unexpected(now.error());
    return Moderation{now->rx_coalesce_usecs, now->rx_max_coalesced_frames, now->tx_coalesce_usecs,
                      now->tx_max_coalesced_frames, now->use_adaptive_rx_coalesce != 0};
}

io::Result<std::vector<Feature>> Ethtool::features(const std::string &interface) const
{
    FeatureBlocks state{};
    state.size = static_cast<std::uint32_t>(state.blocks.size());
    if (const auto got = call(socket_.get(), interface, ETHTOOL_GFEATURES, state); !got)
        return std::unexpected(got.error());
    FeatureNames names{};
    names.set = ETH_SS_FEATURES;
    if (const auto got = call(socket_.get(), interface, ETHTOOL_GSTRINGS, names); !got)
        return std::unexpected(got.error());
    std::vector<Feature> features;
    const std::size_t count = std::min<std::size_t>(names.count, state.size * bitsOfBlock);
    for (std::size_t at = 0; at < std::min(count, mostFeatures); ++at) {
        const auto &block = state.blocks[at / bitsOfBlock];
        const std::uint32_t bit = std::uint32_t{1} << at % bitsOfBlock;
        const auto &name = names.names[at];
        features.push_back({std::string(name.begin(), std::ranges::find(name, '\0')),
                            (block.available & bit) != 0, (block.active & bit) != 0});
    }
    return features;
}

io::Result<std::map<std::string, std::uint64_t, std::less<>>>
Ethtool::counters(const std::string &interface) const
{
    const auto driver = get<ethtool_drvinfo>(socket_.get(), interface, ETHTOOL_GDRVINFO);
    if (!driver)
        return std::unexpected(driver.error());
    if (driver->n_stats > mostCounters / 2)
        return io::fail(E2BIG, interface);
    const auto names = std::make_unique<CounterNames>();
    names->set = ETH_SS_STATS;
    if (const auto got = call(socket_.get(), interface, ETHTOOL_GSTRINGS, *names); !got)
        return std::unexpected(got.error());
    const auto values = std::make_unique<CounterValues>();
    values->count = names->count;
    if (const auto got = call(socket_.get(), interface, ETHTOOL_GSTATS, *values); !got)
        return std::unexpected(got.error());
    std::map<std::string, std::uint64_t, std::less<>> counters;
    const std::size_t count = std::min<std::size_t>(names->count, values->count);
    for (std::size_t at = 0; at < std::min(count, mostCounters); ++at) {
        const auto &name = names->names[at];
        counters[std::string(name.begin(), std::ranges::find(name, '\0'))] = values->values[at];
    }
    return counters;
}

io::Result<void> Ethtool::setRings(const std::string &interface, const Rings &rings) const
{
    auto now = get<ethtool_ringparam>(socket_.get(), interface, ETHTOOL_GRINGPARAM);
    if (!now)
        return std::unexpected(now.error());
    now->rx_pending = rings.rx;
    now->tx_pending = rings.tx;
    return call(socket_.get(), interface, ETHTOOL_SRINGPARAM, *now);
}

io::Result<void> Ethtool::setQueues(const std::string &interface, std::uint32_t queues) const
{
    auto now = get<ethtool_channels>(socket_.get(), interface, ETHTOOL_GCHANNELS);
    if (!now)
        return std::unexpected(now.error());
    (now->max_tx ? now->tx_count : now->combined_count) = queues;
    return call(socket_.get(), interface, ETHTOOL_SCHANNELS, *now);
}

io::Result<void> Ethtool::setModeration(const std::string &interface,
                                        const Moderation &moderation) const
{
    auto now = get<ethtool_coalesce>(socket_.get(), interface, ETHTOOL_GCOALESCE);
    if (!now)
        return std::unexpected(now.error());
    now->rx_coalesce_usecs = moderation.rxUsecs;
    now->rx_max_coalesced_frames = moderation.rxFrames;
    now->tx_coalesce_usecs = moderation.txUsecs;
    now->tx_max_coalesced_frames = moderation.txFrames;
    now->use_adaptive_rx_coalesce = moderation.rxAdaptive ? 1 : 0;
    return call(socket_.get(), interface, ETHTOOL_SCOALESCE, *now);
}

} // namespace openipoib::netlink
