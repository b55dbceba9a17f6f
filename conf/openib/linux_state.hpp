// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The parts of State that are read from sysfs and procfs. The folders can be
// others than those of the running kernel, for tests.
#pragma once

#include "conf/openib/linux_mounts.hpp"
#include "conf/openib/state.hpp"
#include "netlink/link.hpp"

#include <string>
#include <vector>

namespace openipoib::openib
{

struct Roots {
    std::string sys = "/sys";
    std::string proc = "/proc";
};

[[nodiscard]] std::vector<Hca> readHcas(const Roots &roots);

// The IPoIB interfaces among the links, matched to ports by their GIDs.
[[nodiscard]] std::vector<Interface> readInterfaces(const Roots &roots,
                                                    const std::vector<netlink::Link> &links,
                                                    const std::vector<Hca> &hcas);

// Bonds that have an IPoIB interface among their slaves, and those without any.
[[nodiscard]] std::map<std::string, std::set<std::string>, std::less<>>
readBonds(const std::vector<netlink::Link> &links);

// Of the stack's modules those that are loaded (and can be unloaded).
[[nodiscard]] std::map<std::string, Module, std::less<>> readModules(const Roots &roots);

// Of a module that is loaded; nullopt: it is not.
[[nodiscard]] std::optional<Build> readBuild(const Roots &roots, const std::string &module);

// Parameter own_queues of ib_ipoib; nullopt: there is none.
[[nodiscard]] std::optional<std::set<std::string>> readOwnQueues(const Roots &roots);
// It counts for interfaces made from then on. Errors: ENOENT, there is none.
[[nodiscard]] io::Result<void> writeOwnQueues(const Roots &roots, const std::string &text);

// modaliases of PCI devices that may be InfiniBand adapters.
[[nodiscard]] std::vector<std::string> readAliases(const Roots &roots);
// Whether such a text says that the device is an Ethernet controller, and nothing else.
[[nodiscard]] bool isEthernetAlias(std::string_view alias);

// Who uses the stack, in words: processes with devices of it open, mounts over
// RDMA or over interfaces that @towards finds, storage sessions.
[[nodiscard]] std::vector<std::string> readUsers(const Roots &roots, const Towards &towards);

// "net.core.rmem_max": its value, if it is a number.
[[nodiscard]] std::optional<std::uint64_t> readSysctl(const Roots &roots, const std::string &name);
[[nodiscard]] std::string sysctlPath(const Roots &roots, const std::string &name);

} // namespace openipoib::openib
