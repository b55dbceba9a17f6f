// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The modules of the InfiniBand stack, and the keys of openib.conf that ask
// for them.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace openipoib::openib
{

// An adapter's driver: loaded when the PCI bus has a device for it.
struct AdapterDriver {
    std::string_view key;
    std::string_view driver; // what the device asks for
    std::string_view rdma;   // what makes an InfiniBand device of it
};

struct UpperLayer {
    std::string_view key;
    std::string_view module;
    bool byDefault;
};

// In the order of loading.
[[nodiscard]] std::span<const AdapterDriver> adapterDrivers();
[[nodiscard]] std::span<const UpperLayer> upperLayers();
inline constexpr std::string_view ipoibModule = "ib_ipoib";
// Its parameter: HCAs and ports, separated by commas.
inline constexpr std::string_view ownQueuesParameter = "own_queues";
// What is in it.
[[nodiscard]] std::set<std::string> ownQueuesIn(std::string_view text);

// The modules that openipoib has, instead of the kernel's or besides them.
[[nodiscard]] std::span<const std::string_view> ownModules();

// In the order of unloading. Drivers that also serve Ethernet are not in it.
[[nodiscard]] std::span<const std::string_view> unloadOrder();
// Of these the ones that stay when something outside of the list needs them.
[[nodiscard]] bool staysWhenUsed(std::string_view module);

} // namespace openipoib::openib
