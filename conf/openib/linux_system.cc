// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/linux_system.hpp"

#include "conf/openib/plan.hpp"
#include "conf/openib/restore.hpp"
#include "conf/openib/stack.hpp"
#include "ib/ipoib_mode.hpp"
#include "io/file.hpp"
#include "io/process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

namespace openipoib::openib
{

namespace
{

// Until the next boot
constexpr auto keptFolder = "/run/openib";
constexpr auto keptFile = "/run/openib/settings.json";

void readKeptSettings(State &state)
{
    const auto text = io::readFile(keptFile);
    if (!text) {
        if (text.error().code != ENOENT)
            state.keptWrong = text.error().text();
        return;
    }
    auto kept = readKept(*text);
    if (kept)
        state.kept = std::move(*kept);
    else
        state.keptWrong = fmt::format("{}: {}", keptFile, kept.error().context);
}

io::Result<void> keepSettings(const Step &step)
{
    if (::mkdir(keptFolder, 0700) < 0 && errno != EEXIST)
        return io::systemFail(keptFolder);
    return io::replaceFile(keptFile, step.value);
}

void readHa(const HaPlaces &places, State &state)
{
    const auto runs = askWhetherHaRuns(places);
    if (!runs)
        state.haWrong = runs.error().text();
    state.haRunning = runs.value_or(false);
    if (!state.haRunning || !mayAskHa(places))
        return;
    auto pairs = haPairs(places);
    if (pairs)
        state.haPairs = std::move(*pairs);
    else
        state.haWrong = pairs.error().text();
}

} // namespace

io::Result<LinuxSystem> LinuxSystem::open(const std::string &configuration)
{
    auto socket = netlink::Socket::open();
    if (!socket)
        return std::unexpected(socket.error());
    auto ethtool = netlink::Ethtool::open();
    if (!ethtool)
        return std::unexpected(ethtool.error());
    LinuxSystem system(std::move(*socket), std::move(*ethtool));
    system.ha_.configuration = configuration;
    return system;
}

io::Result<State> LinuxSystem::read()
{
    auto state = readBut(ha_);
    if (state)
        state->users = readUsers(roots_, [&state](const std::string &address) {
            const auto name = interfaceTowards(address);
            return state->interface(name) || state->bonds.contains(name) ? name : std::string();
        });
    return state;
}

io::Result<State> LinuxSystem::glance()
{
    HaPlaces places = ha_;
    places.answerPatience = places.systemctlPatience = std::chrono::seconds(2);
    return readBut(places);
}

// All but users
io::Result<State> LinuxSystem::readBut(const HaPlaces &places)
{
    const auto links = netlink::links(socket_);
    if (!links)
        return std::unexpected(links.error());
    State state;
    state.hcas = readHcas(roots_);
    state.interfaces = readInterfaces(roots_, *links, state.hcas);
    for (auto &interface : state.interfaces)
        readQueues(interface);
    readKeptSettings(state);
    state.bonds = readBonds(*links);
    readModulesOf(state);
    state.ownQueues = readOwnQueues(roots_);
    for (const auto name : sysctlNames())
        if (const auto value = readSysctl(roots_, std::string(name)))
            state.sysctls[std::string(name)] = *value;
    readHa(places, state);
    return state;
}

void LinuxSystem::readModulesOf(State &state) const
{
    state.modules = readModules(roots_);
    const auto look = [&](std::string_view module) {
        const std::string name(module);
        if (state.modules.contains(name) || modules_.isAvailable(name))
            state.available.insert(name);
        if (modules_.isBuiltIn(name))
            state.builtIn.insert(name);
    };
    for (const auto &layer : upperLayers())
        look(layer.module);
    look(ipoibModule);
    for (const auto &alias : readAliases(roots_))
        for (const auto &module : modules_.forDevice(alias)) {
            state.hardware.insert(module);
            if (!isEthernetAlias(alias))
                state.adapters.insert(module);
        }
    for (const auto &adapter : adapterDrivers()) {
        look(adapter.driver);
        look(adapter.rdma);
    }
}

std::vector<Stale> LinuxSystem::stale()
{
    std::vector<Stale> found;
    for (const auto module : ownModules()) {
        const std::string name(module);
        const auto loaded = readBuild(roots_, name);
        const auto installed = loaded ? modules_.installed(name) : std::nullopt;
        if (installed && installed->build != *loaded)
            found.push_back({name, *loaded, *installed});
    }
    return found;
}

// A driver that has none of it says so.
void LinuxSystem::readQueues(Interface &interface) const
{
    if (const auto rings = ethtool_.rings(interface.name))
        interface.rings = *rings;
    if (const auto queues = ethtool_.queues(interface.name))
        interface.queues = *queues;
    if (const auto moderation = ethtool_.moderation(interface.name))
        interface.moderation = *moderation;
}

io::Result<void> LinuxSystem::setMtu(const Step &step)
{
    const auto link = netlink::findLink(socket_, step.target);
    if (!link)
        return std::unexpected(link.error());
    return netlink::setMtu(socket_, *link, static_cast<unsigned>(std::stoul(step.value)));
}

io::Result<void> LinuxSystem::addChild(const Step &step)
{
    // A child made through sysfs has a mode file of its own, one made over
    // netlink need not have.
    if (step.arguments.empty()) {
        const std::string path = roots_.sys + "/class/net/" + step.target + "/create_child";
        auto written = io::writeFile(path, "0x" + step.value + "\n");
        if (written || written.error().code != ENOENT)
            return written;
    }
    const auto parent = netlink::findLink(socket_, step.target);
    if (!parent)
        return std::unexpected(parent.error());
    const auto pkey = static_cast<std::uint16_t>(std::stoul(step.value, nullptr, 16));
    return netlink::addIpoibChild(socket_, *parent, childName(step), pkey);
}

io::Result<void> LinuxSystem::describe(const Step &step) const
{
    const std::string path = roots_.sys + "/class/infiniband/" + step.target + "/node_desc";
    if (const auto written = io::writeFile(path, step.value); !written)
        return written;
    if (io::readLine(path) != step.value)
        return io::fail(EIO, path);
    return {};
}

io::Result<void> LinuxSystem::execute(const Step &step)
{
    switch (step.kind) {
    case StepKind::loadModule:
        return modules_.load(step.target, step.arguments);
    case StepKind::unloadModule:
        return modules_.unload(step.target);
    case StepKind::setOwnQueues:
        return writeOwnQueues(roots_, step.value);
    case StepKind::describeNode:
        return describe(step);
    case StepKind::addChild:
        return addChild(step);
    case StepKind::setMode:
    case StepKind::tryMode:
        return ib::setMode(roots_.sys, step.target, step.value);
    case StepKind::setMtu:
        return setMtu(step);
    case StepKind::setUmcast:
        return io::writeFile(roots_.sys + "/class/net/" + step.target + "/umcast", step.value);
    case StepKind::setRings:
        return ethtool_.setRings(step.target, ringsIn(step));
    case StepKind::setQueues:
        return ethtool_.setQueues(step.target, static_cast<std::uint32_t>(std::stoul(step.value)));
    case StepKind::setModeration:
        return ethtool_.setModeration(step.target, moderationIn(step));
    case StepKind::keepSettings:
        return keepSettings(step);
    case StepKind::raiseSysctl:
        return io::writeFile(sysctlPath(roots_, step.target), step.value);
    case StepKind::startHa:
        return startHa(ha_);
    case StepKind::reloadHa:
        return reloadHa(ha_, step.arguments);
    case StepKind::stopHa:
        return stopHa(ha_);
    case StepKind::startBond:
        return io::runChecked({"ib-bond", "--bond-name", step.target, "--bond-ip", step.value,
                               "--slaves", fmt::format("{}", fmt::join(step.arguments, ","))});
    case StepKind::stopBond:
        return io::runChecked({"ib-bond", "--stop", "--bond-name", step.target});
    }
    return io::fail(EINVAL, "unknown step");
}

} // namespace openipoib::openib
