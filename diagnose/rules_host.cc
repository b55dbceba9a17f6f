// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Adapters, their drivers, and ib_ipoib.
#include "conf/openib/stack.hpp"
#include "diagnose/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace openipoib::diagnose
{

namespace
{

Finding driverNotLoaded(const openib::AdapterDriver &adapter, std::string_view module)
{
    return {.rule = "adapter-driver",
            .on = std::string(adapter.driver),
            .what = fmt::format("the module {} is not loaded", module),
            .why = fmt::format("an adapter on the PCI bus asks for {}, and there is no InfiniBand "
                               "device",
                               adapter.driver),
            .cure = fmt::format("modprobe {}, or openib start", module)};
}

Finding noDevice(const openib::AdapterDriver &adapter)
{
    return {.rule = "adapter-device",
            .on = std::string(adapter.driver),
            .what = "it has made no InfiniBand device",
            .why =
                fmt::format("an adapter on the PCI bus asks for {}, which is loaded with {}: the "
                            "driver has failed, or the device is in another network namespace",
                            adapter.driver, adapter.rdma),
            .cure = fmt::format("the kernel's log (dmesg) says what {} dislikes, as a rule the "
                                "firmware; rdma system show says whether network namespaces have "
                                "devices of their own",
                                adapter.driver)};
}

// An adapter is on the bus, and nobody has made an InfiniBand device of it. An Ethernet controller
// can do without.
void adapterDriver(const Facts &facts, Findings &findings)
{
    if (!facts.state.hcas.empty())
        return;
    std::set<std::string_view> seen;
    for (const auto &adapter : openib::adapterDrivers()) {
        // A driver comes once more with its module for Ethernet, which makes no such device.
        if (!facts.state.adapters.contains(adapter.driver) || !seen.insert(adapter.driver).second)
            continue;
        if (!facts.state.has(adapter.driver))
            findings.add(driverNotLoaded(adapter, adapter.driver));
        else if (!facts.state.has(adapter.rdma))
            findings.add(driverNotLoaded(adapter, adapter.rdma));
        else
            findings.add(noDevice(adapter));
    }
}

// Wrong if somebody wants InfiniBand: RDMA over Ethernet does without.
void linkLayer(const Facts &facts, Findings &findings)
{
    if (hasInfinibandPort(facts))
        return;
    for (const auto &hca : facts.state.hcas)
        for (const auto &port : hca.ports)
            if (port.layer == "Ethernet")
                findings.add({.rule = "link-layer",
                              .severity = facts.wanted.empty() ? Severity::note : Severity::wrong,
                              .on = fmt::format("{} port {}", hca.name, port.number),
                              .what = "its link layer is Ethernet",
                              .why = "IPoIB needs InfiniBand, and no port of this machine has it",
                              .cure = "if the adapter can do both, set LINK_TYPE of the port to IB "
                                      "(mlxconfig), and restart the machine"});
}

void driverMissing(const Facts &facts, Findings &findings)
{
    // An interface has a driver, whatever that is called.
    if (!hasInfinibandPort(facts) || facts.state.has(openib::ipoibModule) ||
        !facts.hardware.empty())
        return;
    const bool isInstalled = facts.state.available.contains(openib::ipoibModule);
    findings.add({.rule = "driver-missing",
                  .on = std::string(openib::ipoibModule),
                  .what = "the module is not loaded",
                  .why = isInstalled ? "it is installed, and nobody has loaded it"
                                     : "it is not installed for this kernel",
                  .cure = isInstalled ? "modprobe ib_ipoib, or openib start"
                                      : "install openipoib-dkms, or the kernel's package of "
                                        "further modules"});
}

std::string buildText(const openib::Build &build)
{
    if (build.version.empty())
        return build.source.empty() ? "one without a version" : build.source;
    return build.source.empty() ? build.version
                                : fmt::format("{} ({})", build.version, build.source);
}

void driverStale(const Facts &facts, Findings &findings)
{
    for (const auto &stale : facts.stale)
        findings.add({.rule = "driver-stale",
                      .on = stale.module,
                      .what = "another module is loaded than the one that is installed",
                      .why = fmt::format("loaded is {}, {} is {}", buildText(stale.loaded),
                                         stale.installed.file, buildText(stale.installed.build)),
                      .cure = fmt::format("openib restart, or modprobe -r {0} and modprobe {0}",
                                          stale.module)});
}

void configuration(const Facts &facts, Findings &findings)
{
    if (!facts.broken.empty())
        findings.add({.rule = "configuration",
                      .on = facts.broken,
                      .what = "it has an error, so that openib does nothing",
                      .why = "a file that is not understood is not used at all",
                      .cure = "openib check-config says what is wrong, with line and cure"});
}

// The interface that was asked about
void interfaceMissing(const Facts &facts, Findings &findings)
{
    if (facts.wanted.empty() || facts.interface(facts.wanted))
        return;
    const bool isOther = std::ranges::any_of(
        facts.others, [&](const netlink::Link &link) { return link.name == facts.wanted; });
    Finding finding{.rule = "interface-missing", .on = facts.wanted};
    if (isOther) {
        finding.what = "it is no IPoIB interface";
        finding.why = "its hardware is not of the type infiniband";
        finding.cure = "name an interface that is: ip -br link show type ipoib";
    } else if (!facts.elsewhere.empty()) {
        finding.what = fmt::format("it is in the network namespace {}", facts.elsewhere);
        finding.why = "an interface is seen and used only in its own network namespace";
        finding.cure = fmt::format("ip netns exec {} openib diagnose {}, or ip -n {} link set {} "
                                   "netns 1",
                                   facts.elsewhere, facts.wanted, facts.elsewhere, facts.wanted);
    } else {
        finding.what = "there is no interface of that name";
        finding.why = "no port has it in this network namespace";
        finding.cure = "name one that there is: ip -br link; children are made by ip link add "
                       "link ib0 name ib0.8001 type ipoib pkey 0x8001";
    }
    findings.add(std::move(finding));
}

// A port that has none
void portWithoutInterface(const Facts &facts, Findings &findings)
{
    if (!facts.wanted.empty() || !facts.state.has(openib::ipoibModule) || !facts.interfaces.empty())
        return;
    for (const auto &port : facts.ports)
        if (port.isInfiniband())
            findings.add(
                {.rule = "port-without-interface",
                 .on = port.name(),
                 .what = "it has no IPoIB interface in this network namespace",
                 .why = facts.elsewhere.empty()
                            ? "ib_ipoib is loaded; another namespace may have it, or it "
                              "could not be made"
                            : fmt::format("the network namespace {} has one", facts.elsewhere),
                 .cure = facts.elsewhere.empty()
                             ? "ip netns list; the kernel's log (dmesg) says what failed"
                             : fmt::format("ip netns exec {} openib diagnose", facts.elsewhere)});
}

constexpr auto rules = std::to_array<Rule>({
    adapterDriver,
    linkLayer,
    driverMissing,
    driverStale,
    configuration,
    interfaceMissing,
    portWithoutInterface,
});

} // namespace

std::span<const Rule> hostRules()
{
    return rules;
}

} // namespace openipoib::diagnose
