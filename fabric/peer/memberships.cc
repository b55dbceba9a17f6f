// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "peer/memberships.hpp"

#include <algorithm>

namespace openipoib::fabric
{

Memberships::Memberships()
{
    groups_.emplace(broadcastMgid(), Group{});
}

ib::Gid Memberships::broadcastMgid()
{
    constexpr std::uint64_t everybody = 0xFFFF'FFFF;
    return ib::makeIpoibMgid(ib::ipoibIpv4, pkey, everybody);
}

void Memberships::want(const ib::Gid &mgid, Time now)
{
    const auto [group, isNew] = groups_.try_emplace(mgid);
    if (isNew)
        group->second.at = now;
    setDeadline();
}

void Memberships::joinAll(const ib::Gid &portGid, Time now)
{
    portGid_ = portGid;
    isOn_ = true;
    asked_ = 0;
    for (auto &[mgid, group] : groups_) {
        group.isCurrent = false;
        group.transaction = 0;
        group.at = now;
        group.wait = shortestWait;
    }
    setDeadline();
}

void Memberships::leaveAll()
{
    isOn_ = false;
    asked_ = 0;
    for (auto &[mgid, group] : groups_)
        group = Group{};
    setDeadline();
}

bool Memberships::mayAsk(const ib::Gid &mgid, const Group &group) const
{
    if (!isOn_ || group.isCurrent)
        return false;
    return group.transaction != 0 ||
           (asked_ < mostAsked && (broadcast() != nullptr || mgid == broadcastMgid()));
}

std::vector<io::Bytes> Memberships::requests(Time now)
{
    std::vector<io::Bytes> mads;
    const ib::MemberRecord *model = broadcast();
    for (auto &[mgid, group] : groups_) {
        if (group.at > now || !mayAsk(mgid, group))
            continue;
        asked_ += group.transaction == 0 ? 1 : 0;
        group.transaction = ++transaction_;
        group.at = now + group.wait;
        group.wait = std::min(group.wait * 2, longestWait);
        const bool isBroadcast = mgid == broadcastMgid();
        ib::MemberRecord wanted = isBroadcast ? ib::MemberRecord{.pkey = pkey} : *model;
        wanted.mgid = mgid;
        wanted.portGid = portGid_;
        mads.push_back(wanted.request(isBroadcast ? ib::MemberRecord::Wish::join
                                                  : ib::MemberRecord::Wish::joinOrCreate,
                                      group.transaction));
    }
    setDeadline();
    return mads;
}

bool Memberships::onAnswer(io::View mad)
{
    const auto answer = ib::MemberAnswer::parse(mad);
    if (!answer || answer->transaction == 0)
        return false;
    const auto found = std::ranges::find_if(groups_, [&](const auto &entry) {
        return entry.second.transaction == answer->transaction;
    });
    if (found == groups_.end() || (answer->record && answer->record->mgid != found->first))
        return false;
    Group &group = found->second;
    group.transaction = 0;
    --asked_;
    if (answer->record) {
        group.record = answer->record;
        group.isCurrent = true;
    }
    setDeadline();
    return true;
}

const ib::MemberRecord *Memberships::find(const ib::Gid &mgid) const
{
    const auto found = groups_.find(mgid);
    return found == groups_.end() || !found->second.record ? nullptr : &*found->second.record;
}

std::size_t Memberships::joined() const
{
    return static_cast<std::size_t>(std::ranges::count_if(
        groups_, [](const auto &entry) { return entry.second.record.has_value(); }));
}

void Memberships::setDeadline()
{
    deadline_ = Time::max();
    for (const auto &[mgid, group] : groups_)
        if (mayAsk(mgid, group))
            deadline_ = std::min(deadline_, group.at);
}

} // namespace openipoib::fabric
