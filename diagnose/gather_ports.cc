// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Ports by sysfs and verbs.
#include "diagnose/gather_parts.hpp"
#include "diagnose/text.hpp"
#include "io/file.hpp"
#include "netlink/ethtool.hpp"

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <sstream>

namespace openipoib::diagnose
{

namespace
{

struct Close {
    void operator()(ibv_context *context) const { ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, Close>;

// nullptr: this user may not, there is no library for its driver, or ib_uverbs is not loaded, which
// libibverbs would have the kernel load
Context openHca(const openib::Roots &roots, const std::string &name)
{
    if (io::folder(roots.sys + "/class/infiniband_verbs").empty())
        return nullptr;
    int count = 0;
    ibv_device **devices = ibv_get_device_list(&count);
    if (!devices)
        return nullptr;
    Context context;
    for (int i = 0; i < count; ++i)
        if (name == ibv_get_device_name(devices[i]))
            context.reset(ibv_open_device(devices[i]));
    ibv_free_device_list(devices);
    return context;
}

std::string folderOf(const openib::Roots &roots, const Port &port)
{
    return fmt::format("{}/class/infiniband/{}/ports/{}/", roots.sys, port.hca, port.shown.number);
}

Port readPort(const openib::Roots &roots, const std::string &hca, const openib::Port &shown)
{
    Port port;
    port.hca = hca;
    port.shown = shown;
    const std::string folder = folderOf(roots, port);
    port.smLid = static_cast<unsigned>(numberIn(folder + "sm_lid"));
    port.smSl = static_cast<unsigned>(numberIn(folder + "sm_sl"));
    port.lmc = static_cast<unsigned>(numberIn(folder + "lid_mask_count"));
    for (const auto &place : io::folder(folder + "pkeys"))
        if (const auto pkey = numberIn(fmt::format("{}pkeys/{}", folder, place)); pkey != 0)
            port.pkeys.push_back(static_cast<std::uint16_t>(pkey));
    return port;
}

// Its MTU, and the counters that sysfs does not have
void askVerbs(ibv_context *context, Port &port, Sample sample)
{
    ibv_port_attr attributes{};
    if (ibv_query_port(context, static_cast<std::uint8_t>(port.shown.number), &attributes))
        return;
    if (const auto mtu = mtuOf(static_cast<std::uint8_t>(attributes.active_mtu)); mtu > 0)
        port.mtu = mtu;
    port.needsGrh = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
    port.vectors = static_cast<unsigned>(std::max(context->num_comp_vectors, 0));
    auto &into = port.counters.at(sample);
    into["bad_pkey"] = attributes.bad_pkey_cntr;
    into["qkey_violations"] = attributes.qkey_viol_cntr;
}

void samplePort(const openib::Roots &roots, Sample sample, Port &port)
{
    auto &into = port.counters.at(sample);
    const std::string folder = folderOf(roots, port) + "counters/";
    for (const auto &name : io::folder(folder))
        into[name] = numberIn(folder + name);
}

void sampleInterface(const openib::Roots &roots, Sample sample, Interface &interface)
{
    auto &into = interface.statistics.at(sample);
    const std::string folder = fmt::format("{}/class/net/{}/", roots.sys, interface.name());
    for (const auto &name : io::folder(folder + "statistics"))
        into[name] = numberIn(fmt::format("{}statistics/{}", folder, name));
    into["tx_timeout"] = 0;
    for (const auto &queue : io::folder(folder + "queues"))
        if (queue.starts_with("tx-"))
            into["tx_timeout"] += numberIn(fmt::format("{}queues/{}/tx_timeout", folder, queue));
}

// Of all processors: a line of names, and a line of hexadecimal numbers for each.
std::uint64_t tableFulls(const openib::Roots &roots, const std::string &file)
{
    std::istringstream lines(io::readFile(roots.proc + "/net/stat/" + file).value_or(""));
    std::string line;
    std::getline(lines, line);
    std::istringstream names(line);
    std::size_t column = 0;
    for (std::string name; names >> name && name != "table_fulls";)
        ++column;
    std::uint64_t sum = 0;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string word;
        for (std::size_t at = 0; at <= column; ++at)
            words >> word;
        std::uint64_t value = 0;
        if (words)
            std::from_chars(word.data(), word.data() + word.size(), value, 16);
        sum += value;
    }
    return sum;
}

} // namespace

std::uint64_t numberIn(const std::string &path)
{
    std::string text = io::readLine(path);
    const int base = text.starts_with("0x") ? 16 : 10;
    const char *start = text.data() + (base == 16 ? 2 : 0);
    std::uint64_t value = 0;
    std::from_chars(start, text.data() + text.size(), value, base);
    return value;
}

void readPorts(const openib::Roots &roots, Facts &facts)
{
    for (const auto &hca : facts.state.hcas)
        for (const auto &shown : hca.ports) {
            const bool isUsed =
                std::ranges::any_of(facts.interfaces, [&](const Interface &interface) {
                    return interface.hca == hca.name && interface.port == shown.number;
                });
            if (isUsed || (facts.interfaces.empty() && shown.layer == "InfiniBand"))
                facts.ports.push_back(readPort(roots, hca.name, shown));
        }
}

void readInterrupts(const openib::Roots &roots, Facts &facts)
{
    for (const auto &port : facts.ports) {
        if (facts.interrupts.contains(port.hca))
            continue;
        auto &all = facts.interrupts[port.hca];
        const std::string folder =
            fmt::format("{}/class/infiniband/{}/device/msi_irqs", roots.sys, port.hca);
        for (const auto &number : io::folder(folder)) {
            const std::string base = fmt::format("{}/kernel/irq/{}/", roots.sys, number);
            Interrupt one{.name = io::readLine(base + "actions"),
                          .processors = io::readLine(fmt::format(
                              "{}/irq/{}/effective_affinity_list", roots.proc, number))};
            std::from_chars(number.data(), number.data() + number.size(), one.number);
            // "12,0,3": of each processor
            std::istringstream counts(io::readLine(base + "per_cpu_count"));
            for (std::string count; std::getline(counts, count, ',');) {
                std::uint64_t value = 0;
                std::from_chars(count.data(), count.data() + count.size(), value);
                one.count += value;
            }
            all.push_back(std::move(one));
        }
    }
}

void sampleCounters(const openib::Roots &roots, Sample sample, Facts &facts)
{
    std::string unopened;
    for (auto &port : facts.ports) {
        samplePort(roots, sample, port);
        if (const Context context = openHca(roots, port.hca))
            askVerbs(context.get(), port, sample);
        else
            unopened = port.hca;
    }
    if (!unopened.empty() && sample == Sample::before)
        facts.unseen.push_back(
            {"MTU of the port, violations of keys",
             fmt::format("{} cannot be opened by libibverbs: {}", unopened,
                         "not permitted, ib_uverbs is not loaded, or there is no "
                         "library for its driver")});
    const auto ethtool = netlink::Ethtool::open();
    for (auto &interface : facts.interfaces) {
        sampleInterface(roots, sample, interface);
        if (auto counters =
                ethtool ? ethtool->counters(interface.name()) : std::unexpected(ethtool.error()))
            interface.reasons.at(sample) = std::move(*counters);
    }
    for (auto &table : facts.tables) {
        table.counters.at(sample)["table_fulls"] =
            tableFulls(roots, table.family == "ipv4" ? "arp_cache" : "ndisc_cache");
    }
}

} // namespace openipoib::diagnose
