// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/plan.hpp"

#include "bonding/refusals.hpp"

#include <algorithm>
#include <set>

namespace openipoib::bonding
{

namespace
{

constexpr unsigned maxDatagramMtu = 4092;
constexpr unsigned maxConnectedMtu = 65520;

const char *modeName(bool connected)
{
    return connected ? "connected" : "datagram";
}

Step plain(StepKind kind, const std::string &target)
{
    Step step;
    step.kind = kind;
    step.target = target;
    return step;
}

Step withValue(StepKind kind, const std::string &target, std::string value)
{
    Step step = plain(kind, target);
    step.value = std::move(value);
    return step;
}

Step withMtu(const std::string &target, unsigned mtu)
{
    Step step = plain(StepKind::setMtu, target);
    step.mtu = mtu;
    return step;
}

Step withAddress(StepKind kind, const std::string &target, const netlink::Address &address)
{
    Step step = plain(kind, target);
    step.address = address;
    return step;
}

Step withRecord(const std::string &bond, Record record)
{
    Step step = plain(record.empty() ? StepKind::dropRecord : StepKind::keepRecord, bond);
    step.record = std::move(record);
    return step;
}

Step withOptions(StepKind kind, const std::string &bond, const Bond &settings, unsigned mtu)
{
    Step step = withValue(kind, bond, settings.mode);
    step.options = settings.options;
    step.mtu = mtu;
    return step;
}

Before beforeOf(const Interface &interface)
{
    return {interface.up, interface.mtu, interface.connected, interface.master,
            interface.addresses};
}

bool sameAddress(const netlink::Address &a, const netlink::Address &b)
{
    return a.local == b.local && a.prefix == b.prefix && a.peer == b.peer;
}

bool hasAddress(const Interface &interface, const netlink::Address &address)
{
    return std::ranges::any_of(interface.addresses,
                               [&](const auto &one) { return sameAddress(one, address); });
}

Options optionsFor(const Request &request, const Options &now)
{
    Options wanted = now;
    if (request.miimon) {
        wanted.miimon = *request.miimon;
        wanted.arpInterval = 0;
        wanted.arpTargets.clear();
    }
    if (request.arpInterval) {
        wanted.miimon = 0;
        wanted.arpInterval = *request.arpInterval;
        wanted.arpTargets = request.arpTargets;
        std::ranges::sort(wanted.arpTargets);
    }
    wanted.primary = request.primary.value_or(now.primary);
    wanted.primaryReselect = request.primaryReselect.value_or(now.primaryReselect);
    wanted.notifications = request.notifications.value_or(now.notifications);
    return wanted;
}

class UpPlanner
{
  public:
    UpPlanner(const Request &request, const State &state)
        : request_(request), state_(state), bond_(state.interface(request.bond))
    {
        if (bond_ && isUnused(state, request.bond)) {
            replaced_ = bond_;
            bond_ = nullptr;
        }
    }

    Plan plan()
    {
        plan_.refusals = refusals(request_, state_);
        if (!plan_.refusals.empty())
            return std::move(plan_);
        choose();
        if (!state_.driver)
            add(plain(StepKind::loadDriver, {}), {});
        keep();
        create();
        for (const auto &slave : request_.slaves)
            if (!isIn(slave))
                take(slave, *state_.interface(slave));
        complete();
        return std::move(plan_);
    }

  private:
    void add(Step step, std::vector<Step> undo)
    {
        plan_.changes.push_back({std::move(step), std::move(undo)});
    }
    [[nodiscard]] bool isIn(const std::string &slave) const
    {
        return bond_ && state_.interface(slave)->master == request_.bond;
    }

    void choose();
    void keep();
    void create();
    void take(const std::string &name, const Interface &slave);
    void prepare(const std::string &name, const Interface &slave);
    void complete();

    const Request &request_;
    const State &state_;
    const Interface *bond_;               // nullptr: to be created
    const Interface *replaced_ = nullptr; // an unused bond of the name
    std::optional<bool> connected_;       // nullopt: leave modes alone
    unsigned mtu_ = 0;
    Plan plan_;
};

// Mode and MTU of all slaves: those of the bond that is there, or those of the
// primary or first slave. Connected mode means its largest MTU, unless one that
// only connected mode can have was chosen before.
void UpPlanner::choose()
{
    const auto inside = bond_ ? state_.slavesOf(request_.bond) : std::vector<std::string>();
    const std::string first = !inside.empty() ? inside.front()
                              : request_.primary && !request_.primary->empty()
                                  ? *request_.primary
                                  : request_.slaves.front();
    connected_ = state_.interface(first)->connected;
    if (bond_ && !inside.empty()) {
        mtu_ = bond_->mtu;
        return;
    }
    unsigned smallest = maxConnectedMtu;
    unsigned chosen = 0;
    for (const auto &name : request_.slaves) {
        const Interface &slave = *state_.interface(name);
        smallest = std::min(smallest, slave.mtu);
        if (slave.connected.value_or(false) && slave.mtu > maxDatagramMtu)
            chosen = std::max(chosen, slave.mtu);
    }
    if (connected_.value_or(false))
        mtu_ = chosen ? chosen : maxConnectedMtu;
    else
        mtu_ = connected_ ? std::min(smallest, maxDatagramMtu) : smallest;
}

// A slave that came back has nothing of what it had when it was first taken.
void UpPlanner::keep()
{
    const Record *old = state_.record(request_.bond);
    Record record = old ? *old : Record();
    for (const auto &name : request_.slaves) {
        const Interface &slave = *state_.interface(name);
        if (isIn(name))
            continue;
        const auto [entry, isNew] = record.try_emplace(name, beforeOf(slave));
        if (isNew)
            continue;
        if (!slave.addresses.empty())
            entry->second.addresses = slave.addresses;
        if (!slave.master.empty())
            entry->second.master = slave.master;
    }
    if (old ? record != *old : !record.empty())
        add(withRecord(request_.bond, record), {withRecord(request_.bond, old ? *old : Record())});
}

void UpPlanner::create()
{
    if (bond_)
        return;
    if (replaced_)
        add(plain(StepKind::deleteBond, request_.bond),
            {withOptions(StepKind::createBond, request_.bond, *replaced_->bond, replaced_->mtu)});
    Bond wanted;
    wanted.options = optionsFor(request_, {});
    add(withOptions(StepKind::createBond, request_.bond, wanted, mtu_),
        {plain(StepKind::deleteBond, request_.bond)});
}

// Mode and MTU. With the mode the MTU changes, so that both are undone at once.
void UpPlanner::prepare(const std::string &name, const Interface &slave)
{
    const bool switches = connected_ && slave.connected && *connected_ != *slave.connected;
    if (switches)
        add(withValue(StepKind::setMode, name, modeName(*connected_)),
            {withValue(StepKind::setMode, name, modeName(*slave.connected)),
             withMtu(name, slave.mtu)});
    if (switches)
        add(withMtu(name, mtu_), {});
    else if (slave.mtu != mtu_)
        add(withMtu(name, mtu_), {withMtu(name, slave.mtu)});
}

void UpPlanner::take(const std::string &name, const Interface &slave)
{
    if (!slave.master.empty())
        add(withValue(StepKind::release, name, slave.master),
            {withValue(StepKind::enslave, name, slave.master)});
    // The last one first: the kernel removes others of a network with its first.
    for (auto address = slave.addresses.rbegin(); address != slave.addresses.rend(); ++address)
        add(withAddress(StepKind::removeAddress, name, *address),
            {withAddress(StepKind::addAddress, name, *address)});
    // What is released is down.
    if (slave.up && slave.master.empty())
        add(plain(StepKind::setDown, name), {plain(StepKind::setUp, name)});
    prepare(name, slave);
    add(withValue(StepKind::enslave, name, request_.bond),
        {withValue(StepKind::release, name, request_.bond)});
}

void UpPlanner::complete()
{
    if (bond_) {
        const Bond &now = *bond_->bond;
        Bond wanted{now.mode, optionsFor(request_, now.options), {}, {}};
        if (wanted.options != now.options)
            add(withOptions(StepKind::setBond, request_.bond, wanted, 0),
                {withOptions(StepKind::setBond, request_.bond, now, 0)});
    }
    if (!bond_ || !bond_->up)
        add(plain(StepKind::setUp, request_.bond), {plain(StepKind::setDown, request_.bond)});
    for (const auto &address : request_.addresses)
        if (!bond_ || !hasAddress(*bond_, address))
            add(withAddress(StepKind::addAddress, request_.bond, address),
                {withAddress(StepKind::removeAddress, request_.bond, address)});
}

class DownPlanner
{
  public:
    DownPlanner(const std::string &bond, const State &state) : bond_(bond), state_(state) {}

    Plan plan()
    {
        const Interface *interface = state_.interface(bond_);
        const Record *record = state_.record(bond_);
        if (interface && interface->bond) {
            const auto ours = ourBonds(state_);
            if (std::ranges::find(ours, bond_) == ours.end()) {
                plan_.refusals.push_back(bond_ + " is not a bond of IPoIB interfaces");
                return std::move(plan_);
            }
            add(plain(StepKind::deleteBond, bond_));
            for (const auto &slave : state_.slavesOf(bond_))
                if (!record || !record->contains(slave))
                    plan_.notes.push_back(slave + " was not taken by ib-bond and is left down");
        }
        if (!record)
            return std::move(plan_);
        for (const auto &[name, before] : *record)
            giveBack(name, before);
        add(plain(StepKind::dropRecord, bond_));
        return std::move(plan_);
    }

  private:
    void add(Step step) { plan_.changes.push_back({std::move(step), {}}); }
    void giveBack(const std::string &name, const Before &before);

    const std::string &bond_;
    const State &state_;
    Plan plan_;
};

void DownPlanner::giveBack(const std::string &name, const Before &before)
{
    const Interface *slave = state_.interface(name);
    if (!slave) {
        plan_.notes.push_back(name + " is not there and is not given back");
        return;
    }
    const bool wasIn = slave->master == bond_;
    if (!slave->master.empty() && !wasIn) {
        plan_.notes.push_back(name + " is in " + slave->master + " by now and is left there");
        return;
    }
    bool isUp = slave->up && !wasIn; // a slave that is released is down
    const bool switches =
        before.connected && slave->connected && *before.connected != *slave->connected;
    if (switches)
        add(withValue(StepKind::setMode, name, modeName(*before.connected)));
    // A slave that is released gets the MTU that it came with, and it may have been
    // away and come back with another one.
    if (switches || wasIn || slave->mtu != before.mtu)
        add(withMtu(name, before.mtu));
    const Interface *master = before.master.empty() ? nullptr : state_.interface(before.master);
    if (master && master->bond) {
        if (isUp)
            add(plain(StepKind::setDown, name));
        add(withValue(StepKind::enslave, name, before.master));
        isUp = true;
    }
    if (before.up && !isUp)
        add(plain(StepKind::setUp, name));
    for (const auto &address : before.addresses)
        if (!hasAddress(*slave, address))
            add(withAddress(StepKind::addAddress, name, address));
}

} // namespace

Plan planUp(const Request &request, const State &state)
{
    return UpPlanner(request, state).plan();
}

Plan planDown(const std::string &bond, const State &state)
{
    return DownPlanner(bond, state).plan();
}

std::vector<std::string> ourBonds(const State &state)
{
    std::set<std::string> names;
    for (const auto &[name, record] : state.records)
        names.insert(name);
    for (const auto &[name, interface] : state.interfaces)
        if (interface.infiniband && state.interface(interface.master) &&
            state.interface(interface.master)->bond)
            names.insert(interface.master);
    return {names.begin(), names.end()};
}

} // namespace openipoib::bonding
