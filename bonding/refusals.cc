// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "bonding/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace openipoib::bonding
{

namespace
{

class Judge
{
  public:
    Judge(const Request &request, const State &state) : request_(request), state_(state) {}

    std::vector<std::string> judge()
    {
        if (request_.mode != activeBackup)
            refuse(fmt::format("mode {}: IPoIB interfaces can only be in active-backup bonds, "
                               "because a hardware address of InfiniBand belongs to its port and "
                               "cannot be given to a second slave",
                               request_.mode));
        bond();
        for (const auto &name : request_.slaves)
            slave(name);
        partitions();
        addresses();
        return std::move(why_);
    }

  private:
    void refuse(std::string reason) { why_.push_back(std::move(reason)); }
    [[nodiscard]] bool isAsked(const std::string &slave) const
    {
        return std::ranges::find(request_.slaves, slave) != request_.slaves.end();
    }

    void bond();
    void slave(const std::string &name);
    void partitions();
    void addresses();

    const Request &request_;
    const State &state_;
    std::vector<std::string> why_;
};

void Judge::bond()
{
    const std::string &name = request_.bond;
    const Interface *bond = state_.interface(name);
    if (!bond || isUnused(state_, name))
        return;
    if (!bond->bond) {
        refuse(fmt::format("{} is there already, and is no bond", name));
        return;
    }
    if (bond->bond->mode != activeBackup)
        refuse(fmt::format("{} is there already, with mode {}; remove it first", name,
                           bond->bond->mode));
    for (const auto &other : state_.slavesOf(name))
        if (!state_.interface(other)->infiniband)
            refuse(fmt::format("{} is a bond of {}, which is no IPoIB interface", name, other));
        else if (!isAsked(other))
            refuse(fmt::format("{} is there already, with {}; name {} too, or remove {} first",
                               name, other, other, name));
}

void Judge::slave(const std::string &name)
{
    const Interface *slave = state_.interface(name);
    if (!slave) {
        refuse(fmt::format("there is no interface {}", name));
        return;
    }
    if (slave->bond) {
        refuse(fmt::format("{} is a bond itself", name));
        return;
    }
    if (!slave->infiniband) {
        refuse(fmt::format("{} is no IPoIB interface; a bond has one kind of slaves", name));
        return;
    }
    if (slave->master == request_.bond || request_.take)
        return;
    if (!slave->master.empty())
        refuse(fmt::format("{} is in {}; --take takes it from there", name, slave->master));
    for (const auto &address : slave->addresses)
        refuse(fmt::format("{} has the address {}; --take removes it until the bond ends", name,
                           address.text()));
}

// Whether a member is full or limited makes no difference to who can be reached.
void Judge::partitions()
{
    const std::string *first = nullptr;
    std::uint16_t pkey = 0;
    for (const auto &name : request_.slaves) {
        const Interface *slave = state_.interface(name);
        if (!slave || !slave->infiniband)
            continue;
        if (!first) {
            first = &name;
            pkey = slave->pkey;
        } else if ((slave->pkey & 0x7FFF) != (pkey & 0x7FFF)) {
            refuse(fmt::format("{} and {} are in different partitions (P_Key 0x{:04x} and "
                               "0x{:04x}): after a failover nobody would be reached",
                               *first, name, pkey, slave->pkey));
        }
    }
}

void Judge::addresses()
{
    for (const auto &wanted : request_.addresses)
        for (const auto &[name, interface] : state_.interfaces) {
            if (name == request_.bond || isAsked(name))
                continue;
            for (const auto &there : interface.addresses)
                if (there.local == wanted.local)
                    refuse(fmt::format("{} is an address of {}", wanted.text(), name));
        }
}

} // namespace

std::vector<std::string> refusals(const Request &request, const State &state)
{
    return Judge(request, state).judge();
}

bool isUnused(const State &state, const std::string &bond)
{
    const Interface *interface = state.interface(bond);
    return interface && interface->bond && !interface->up && interface->addresses.empty() &&
           state.slavesOf(bond).empty();
}

} // namespace openipoib::bonding
