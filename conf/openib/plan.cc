// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/plan.hpp"

#include "conf/openib/kept.hpp"
#include "conf/openib/restore.hpp"
#include "conf/openib/stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace openipoib::openib
{

namespace
{

// Limits that a connection of 65520 bytes a packet can fill.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 5> sysctls{{
    {"net.core.netdev_max_backlog", 10000},
    {"net.core.optmem_max", 1 << 20},
    {"net.core.rmem_max", 16 << 20},
    {"net.core.wmem_max", 16 << 20},
    {"net.core.somaxconn", 4096},
}};

// As the parameter of ib_ipoib has it
std::string ownQueuesText(const conf::Settings &settings)
{
    return fmt::format("{}", fmt::join(*settings.ownQueues, ","));
}

// "own_queues=mlx5_0" among the options that ib_ipoib is loaded with; it is the only one.
std::set<std::string> givenOwnQueues(const Step &load)
{
    if (load.arguments.empty())
        return {};
    return ownQueuesIn(
        std::string_view(load.arguments.front()).substr(ownQueuesParameter.size() + 1));
}

// With ib_ipoib go its interfaces.
void predictModule(const Step &step, State &state)
{
    const bool isIpoib = step.target == ipoibModule;
    if (step.kind == StepKind::loadModule) {
        state.modules.try_emplace(step.target);
        if (isIpoib)
            state.ownQueues = givenOwnQueues(step);
        return;
    }
    state.modules.erase(step.target);
    for (auto &[name, module] : state.modules)
        std::erase(module.holders, step.target);
    if (isIpoib) {
        state.interfaces.clear();
        state.ownQueues.reset();
    }
}

class Planner
{
  public:
    Planner(const conf::Settings &settings, const State &state, const Failed &failed)
        : settings_(settings), state_(state), failed_(failed)
    {
    }

    Plan start();
    Plan apply(const std::string &device);
    Plan stop();

  private:
    void add(Step step)
    {
        if (!failed_.contains(step) && std::ranges::find(plan_.steps, step) == plan_.steps.end())
            plan_.steps.push_back(std::move(step));
    }
    void addAll(const std::vector<Step> &steps)
    {
        for (const auto &step : steps)
            add(step);
    }
    [[nodiscard]] bool done() const { return !plan_.steps.empty(); }

    void load(std::string_view module, std::vector<std::string> options = {});
    void ownQueues();
    void stillAccelerated(const std::string &only);
    void adapterModules();
    void upperModules();
    void describe(const std::string &only);
    // What is to be given back to an interface; one that has been there all the time has it
    [[nodiscard]] const Interface *keptOf(const Interface &interface) const;
    void keptChildren(const std::string &only);
    void children(const std::string &only);
    void modes(const std::string &only);
    void mode(const Interface &interface);
    void mtus(const std::string &only);
    [[nodiscard]] std::optional<unsigned> wantedMtu(const Interface &interface) const;
    void mtu(const Interface &interface);
    void queues(const std::string &only);
    void limits();
    void highAvailability();
    void bonds(const std::string &only);
    void bond(const conf::Bond &bond);
    void devices(const std::string &only);

    const conf::Settings &settings_;
    const State &state_;
    const Failed &failed_;
    Plan plan_;
};

void Planner::load(std::string_view module, std::vector<std::string> options)
{
    if (!state_.has(module))
        add({StepKind::loadModule, std::string(module), {}, std::move(options)});
}

// Before anything else is loaded: an HCA's interfaces are made as soon as its driver is there.
void Planner::ownQueues()
{
    if (!settings_.ownQueues || !state_.has(ipoibModule))
        return;
    const std::set<std::string> wanted(settings_.ownQueues->begin(), settings_.ownQueues->end());
    if (state_.ownQueues && *state_.ownQueues != wanted)
        add({StepKind::setOwnQueues, std::string(ipoibModule), ownQueuesText(settings_), {}});
    else if (!state_.ownQueues && !wanted.empty())
        plan_.problems.push_back(fmt::format(
            "IPOIB_OWN_QUEUES has no effect: the {0} that is loaded has no parameter {1}; install "
            "openipoib's and load it (modinfo -n {0} tells which one is), or remove the key",
            ipoibModule, ownQueuesParameter));
}

// What is accelerated has no connected mode. Children are as their parents.
void Planner::stillAccelerated(const std::string &only)
{
    if (!state_.ownQueues)
        return;
    for (const auto &interface : state_.interfaces)
        if (interface.parent.empty() && !interface.takesConnections &&
            settings_.wantsOwnQueues(interface.hca, interface.port) &&
            (only.empty() || only == interface.name))
            plan_.problems.push_back(fmt::format(
                "{} has no connected mode yet: IPOIB_OWN_QUEUES counts for it when {} or {} is "
                "loaded again",
                interface.name, interface.hca, ipoibModule));
}

void Planner::adapterModules()
{
    for (const auto &adapter : adapterDrivers()) {
        if (!state_.hardware.contains(adapter.driver) || !settings_.loads(adapter.key, true))
            continue;
        load(adapter.driver);
        if (adapter.rdma != adapter.driver)
            load(adapter.rdma);
    }
}

// A module that nobody has asked for by name is only loaded if it is there.
void Planner::upperModules()
{
    for (const auto &layer : upperLayers()) {
        const bool asked = settings_.load.contains(layer.key);
        if (settings_.loads(layer.key, layer.byDefault) &&
            (asked || state_.available.contains(layer.module)))
            load(layer.module);
    }
    if (settings_.ipoib)
        load(ipoibModule, ipoibOptions(settings_));
}

void Planner::describe(const std::string &only)
{
    if (!settings_.nodeDescription)
        return;
    unsigned number = 0;
    for (const auto &hca : state_.hcas) {
        const auto wanted = fmt::format("{} HCA-{}", *settings_.nodeDescription, ++number);
        if (hca.description != wanted && (only.empty() || only == hca.name))
            add({StepKind::describeNode, hca.name, wanted, {}});
    }
}

const Interface *Planner::keptOf(const Interface &interface) const
{
    const Interface *kept = state_.wasKept(interface.name);
    return kept && kept->index != interface.index ? kept : nullptr;
}

// A child that is missing below a parent that is not was deleted, unless the parent is a
// new one.
void Planner::keptChildren(const std::string &only)
{
    for (const auto &child : state_.kept) {
        const Interface *parent = state_.interface(child.parent);
        if (!parent || !keptOf(*parent) || state_.interface(child.name) ||
            (!only.empty() && only != child.parent))
            continue;
        Step step{StepKind::addChild, child.parent, fmt::format("{:04x}", child.pkey), {}};
        if (childName(step) != child.name)
            step.arguments = {child.name};
        add(std::move(step));
    }
}

void Planner::children(const std::string &only)
{
    for (const auto &[parent, pkeys] : settings_.childrenOf) {
        if (!only.empty() && only != parent)
            continue;
        if (!state_.interface(parent)) {
            plan_.problems.push_back(fmt::format(
                "no children of {0}: there is no interface {0} (IPOIB_CHILDREN_{0})", parent));
            continue;
        }
        for (const auto pkey : pkeys) {
            const bool there =
                std::ranges::any_of(state_.interfaces, [&](const Interface &interface) {
                    return interface.parent == parent && interface.pkey == pkey;
                });
            const auto digits = fmt::format("{:04x}", pkey);
            if (!there && !state_.interface(fmt::format("{}.{}", parent, digits)))
                add({StepKind::addChild, parent, digits, {}});
        }
    }
}

void Planner::mode(const Interface &interface)
{
    const auto wanted = settings_.modeFor(interface.name);
    if (!wanted) {
        if (const Interface *kept = keptOf(interface))
            addAll(restoreMode(*kept, interface));
        return;
    }
    const bool connected = *wanted != conf::Mode::datagram;
    if (interface.connected.value_or(false) == connected)
        return;
    add({*wanted == conf::Mode::automatic ? StepKind::tryMode : StepKind::setMode,
         interface.name,
         connected ? "connected" : "datagram",
         {}});
}

void Planner::modes(const std::string &only)
{
    for (const auto &interface : state_.interfaces)
        if (only.empty() || only == interface.name)
            mode(interface);
}

// In connected mode the wanted MTU, or the largest when the mode was asked for.
// In datagram mode an MTU that only connected mode can have is none.
std::optional<unsigned> Planner::wantedMtu(const Interface &interface) const
{
    if (const auto asked = settings_.mtuFor(interface.name))
        return asked;
    const auto mode = settings_.modeFor(interface.name);
    if (interface.connected.value_or(false) && mode && *mode != conf::Mode::datagram)
        return conf::maxConnectedMtu;
    const Interface *kept = keptOf(interface);
    return kept ? ownMtu(*kept) : std::nullopt;
}

void Planner::mtu(const Interface &interface)
{
    const auto wanted = wantedMtu(interface);
    const bool connected = interface.connected.value_or(false);
    if (!wanted || *wanted == interface.mtu || (!connected && *wanted > conf::maxDatagramMtu))
        return;
    add({StepKind::setMtu, interface.name, std::to_string(*wanted), {}});
}

void Planner::mtus(const std::string &only)
{
    for (const auto &interface : state_.interfaces)
        if (only.empty() || only == interface.name)
            mtu(interface);
}

void Planner::queues(const std::string &only)
{
    for (const auto &interface : state_.interfaces)
        if (const Interface *kept = keptOf(interface);
            kept && (only.empty() || only == interface.name))
            addAll(restoreQueues(*kept, interface));
}

void Planner::limits()
{
    if (!settings_.runSysctl)
        return;
    for (const auto &[name, value] : sysctls) {
        const auto now = state_.sysctls.find(name);
        if (now != state_.sysctls.end() && now->second < value)
            add({StepKind::raiseSysctl, std::string(name), std::to_string(value), {}});
    }
}

void Planner::highAvailability()
{
    if (!settings_.ha) {
        if (state_.haRunning)
            add({StepKind::stopHa, {}, {}, {}});
        return;
    }
    // It takes up a pair that is not complete as soon as it is.
    std::vector<std::string> all;
    std::vector<std::string> complete;
    for (const auto &one : settings_.ha->pairs) {
        const std::string pair = fmt::format("{}+{}", one.primary, one.secondary());
        all.push_back(pair);
        const auto names = one.interfaces();
        const auto there = std::ranges::count_if(
            names, [this](const std::string &name) { return state_.interface(name) != nullptr; });
        for (const auto &name : names)
            if (!state_.interface(name))
                plan_.problems.push_back(
                    fmt::format("{} is {}highly available: there is no interface {}", pair,
                                there < 2 ? "not " : "less ", name));
        if (there >= 2)
            complete.push_back(pair);
    }
    if (state_.haRunning) {
        if (!state_.haWrong.empty())
            plan_.problems.push_back("it is not known which pairs ipoib-ha keeps: " +
                                     state_.haWrong);
        if (!state_.haKeeps(all))
            add({StepKind::reloadHa, {}, {}, all});
        return;
    }
    if (!complete.empty()) {
        add({StepKind::startHa, {}, {}, complete});
        return;
    }
    // Today's names are those of the bus, such as ibp59s0.
    std::vector<std::string> ports;
    for (const auto &one : state_.interfaces)
        if (one.parent.empty())
            ports.push_back(one.name);
    plan_.problems.push_back(
        "ipoib-ha is not started: no pair is complete" +
        (ports.size() < 2 ? std::string()
                          : fmt::format("; PRIMARY_IPOIB_DEV and SECONDARY_IPOIB_DEV may name {}",
                                        fmt::join(ports, ", "))));
}

void Planner::bond(const conf::Bond &bond)
{
    std::vector<std::string> there;
    for (const auto &slave : bond.slaves) {
        if (state_.interface(slave))
            there.push_back(slave);
        else
            plan_.problems.push_back(
                fmt::format("{} lacks a slave: there is no interface {}", bond.name, slave));
    }
    const auto existing = state_.bonds.find(bond.name);
    const bool complete =
        existing != state_.bonds.end() && std::ranges::all_of(there, [&](const auto &slave) {
            return existing->second.contains(slave);
        });
    if (!there.empty() && !complete)
        add({StepKind::startBond, bond.name, fmt::format("{}", fmt::join(bond.addresses, ",")),
             there});
}

void Planner::bonds(const std::string &only)
{
    for (const auto &one : settings_.bonds)
        if (only.empty() || std::ranges::find(one.slaves, only) != one.slaves.end())
            bond(one);
}

// From below to above: a slave's mode and MTU are settled before its bond.
void Planner::devices(const std::string &only)
{
    stillAccelerated(only);
    if (describe(only); done())
        return;
    if (keptChildren(only); done())
        return;
    if (children(only); done())
        return;
    if (modes(only); done())
        return;
    if (mtus(only); done())
        return;
    if (queues(only); done())
        return;
    const bool inHa = settings_.ha &&
                      std::ranges::any_of(settings_.ha->pairs,
                                          [&](const conf::HaPair &pair) { return pair.has(only); });
    if (only.empty() || inHa)
        highAvailability();
    if (!done())
        bonds(only);
}

Plan Planner::start()
{
    if (ownQueues(); done())
        return std::move(plan_);
    if (adapterModules(); done())
        return std::move(plan_);
    if (upperModules(); done())
        return std::move(plan_);
    devices({});
    if (!done())
        limits();
    return std::move(plan_);
}

Plan Planner::apply(const std::string &device)
{
    const bool known = device.empty() || state_.interface(device) ||
                       std::ranges::find(state_.hcas, device, &Hca::name) != state_.hcas.end();
    if (device.empty())
        ownQueues();
    if (done())
        return std::move(plan_);
    if (known)
        devices(device);
    else
        plan_.problems.push_back(
            fmt::format("there is no IPoIB interface or adapter '{}'", device));
    return std::move(plan_);
}

// One module at a time: who uses which is read again after each.
Plan Planner::stop()
{
    if (state_.haRunning)
        add({StepKind::stopHa, {}, {}, {}});
    for (const auto &one : settings_.bonds)
        if (state_.bonds.contains(one.name))
            add({StepKind::stopBond, one.name, {}, {}});
    if (done())
        return std::move(plan_);
    for (const auto name : unloadOrder()) {
        const auto module = state_.modules.find(name);
        if (module == state_.modules.end())
            continue;
        const bool used = module->second.references > 0 || !module->second.holders.empty();
        if (used && staysWhenUsed(name))
            continue;
        add({StepKind::unloadModule, std::string(name), {}, {}});
        if (done())
            break;
    }
    return std::move(plan_);
}

} // namespace

bool State::haKeeps(const std::vector<std::string> &pairs) const
{
    return !haPairs || (haPairs->size() == pairs.size() &&
                        std::ranges::all_of(*haPairs, [&](const std::string &kept) {
                            return kept.empty() || std::ranges::find(pairs, kept) != pairs.end();
                        }));
}

Plan planStart(const conf::Settings &settings, const State &state, const Failed &failed)
{
    return Planner(settings, state, failed).start();
}

Plan planApply(const conf::Settings &settings, const State &state, const Failed &failed,
               const std::string &device)
{
    return Planner(settings, state, failed).apply(device);
}

Plan planStop(const conf::Settings &settings, const State &state, const Failed &failed)
{
    return Planner(settings, state, failed).stop();
}

Plan planKeep(const State &state, const Failed &failed)
{
    const Step step = keepStep(worthKeeping(state));
    if (failed.contains(step) || (state.keptWrong.empty() && step.value == keptText(state.kept)))
        return {};
    return {.steps = {step}, .problems = {}};
}

std::vector<std::string> ipoibOptions(const conf::Settings &settings)
{
    if (!settings.ownQueues)
        return {};
    return {fmt::format("{}={}", ownQueuesParameter, ownQueuesText(settings))};
}

std::vector<std::string> refusals(const conf::Settings &settings, const State &state)
{
    std::vector<std::string> why = state.users;
    if (!settings.allowStop)
        why.insert(why.begin(), "openib.conf says ALLOW_STOP=no");
    return why;
}

std::vector<std::string_view> sysctlNames()
{
    std::vector<std::string_view> names;
    names.reserve(sysctls.size());
    for (const auto &[name, value] : sysctls)
        names.push_back(name);
    return names;
}

void predict(const Step &step, State &state)
{
    const auto interface = std::ranges::find(state.interfaces, step.target, &Interface::name);
    const bool found = interface != state.interfaces.end();
    switch (step.kind) {
    case StepKind::loadModule:
    case StepKind::unloadModule:
        predictModule(step, state);
        break;
    case StepKind::setOwnQueues:
        state.ownQueues = ownQueuesIn(step.value);
        break;
    case StepKind::describeNode:
        for (auto &hca : state.hcas)
            if (hca.name == step.target)
                hca.description = step.value;
        break;
    case StepKind::addChild:
        if (found) {
            Interface child = *interface;
            child.name = childName(step);
            child.index = 0;
            child.parent = step.target;
            child.pkey = static_cast<std::uint16_t>(std::stoul(step.value, nullptr, 16));
            state.interfaces.push_back(std::move(child));
        }
        break;
    case StepKind::setMode:
    case StepKind::tryMode:
        if (found)
            interface->connected = step.value == "connected";
        break;
    case StepKind::setMtu:
        if (found)
            interface->mtu = static_cast<unsigned>(std::stoul(step.value));
        break;
    case StepKind::setUmcast:
    case StepKind::setRings:
    case StepKind::setQueues:
    case StepKind::setModeration:
        if (found)
            predictRestored(step, *interface);
        break;
    case StepKind::keepSettings:
        state.kept = readKept(step.value).value_or(Kept());
        state.keptWrong.clear();
        break;
    case StepKind::raiseSysctl:
        state.sysctls[step.target] = std::stoull(step.value);
        break;
    case StepKind::startHa:
    case StepKind::stopHa:
        state.haRunning = step.kind == StepKind::startHa;
        break;
    case StepKind::reloadHa:
        state.haPairs = step.arguments;
        break;
    case StepKind::startBond:
        state.bonds[step.target].insert(step.arguments.begin(), step.arguments.end());
        break;
    case StepKind::stopBond:
        state.bonds.erase(step.target);
        break;
    }
}

} // namespace openipoib::openib
