// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "core/fault.hpp"

#include <algorithm>
#include <iterator>

namespace openipoib::fabric
{

namespace
{

constexpr std::uint32_t gsiQpn = 1;
constexpr std::uint64_t million = 1'000'000;
// The upper three bits of an opcode name the transport service.
constexpr unsigned serviceShift = 5;
constexpr unsigned serviceRc = 0;
constexpr unsigned serviceUd = 3;

} // namespace

PacketKind kindOf(io::View packet)
{
    const auto headers = PacketHeaders::parse(packet);
    if (!headers || headers->isRaw)
        return PacketKind::other;
    if (headers->lrh.vl == vl15)
        return PacketKind::smp;
    const unsigned service = packet[headers->bthAt] >> serviceShift;
    if (service == serviceUd)
        return headers->qpn <= gsiQpn ? PacketKind::gmp : PacketKind::ud;
    return service == serviceRc ? PacketKind::rc : PacketKind::other;
}

const Fault &Faults::add(Fault fault)
{
    static_cast<void>(remove([&fault](const Fault &other) {
        return other.kind == fault.kind && other.at == fault.at && other.packets == fault.packets &&
               other.nodes == fault.nodes;
    }));
    fault.id = ++lastId_;
    touchPackets_ |= isOfPackets(fault.kind);
    return faults_.emplace_back(std::move(fault));
}

std::vector<Fault> Faults::remove(const std::function<bool(const Fault &)> &matches)
{
    const auto removed = std::ranges::stable_partition(
        faults_, [&matches](const Fault &fault) { return !matches(fault); });
    std::vector<Fault> result(removed.begin(), removed.end());
    faults_.erase(removed.begin(), removed.end());
    touchPackets_ =
        std::ranges::any_of(faults_, [](const Fault &fault) { return isOfPackets(fault.kind); });
    return result;
}

Time Faults::deadline() const
{
    Time result = Time::max();
    for (const Fault &fault : faults_)
        result = std::min(result, fault.until);
    return result;
}

bool Faults::has(FaultKind kind, PortRef at) const
{
    return std::ranges::any_of(
        faults_, [&](const Fault &fault) { return fault.kind == kind && fault.at == at; });
}

bool Faults::isCut(std::size_t node, std::size_t other) const
{
    return std::ranges::any_of(faults_, [&](const Fault &fault) {
        return fault.kind == FaultKind::cut &&
               fault.nodes.contains(node) != fault.nodes.contains(other);
    });
}

Faults::Verdict Faults::judge(PortRef port, std::optional<PortRef> peer, PacketKind kind,
                              const Random &random) const
{
    Verdict verdict;
    for (const Fault &fault : faults_) {
        if ((fault.at != port && fault.at != peer) ||
            !fault.packets[static_cast<std::size_t>(kind)])
            continue;
        const bool isHit = isOfChance(fault.kind) && random() % million < fault.perMillion;
        verdict.isDropped |= isHit && fault.kind == FaultKind::drop;
        verdict.isDuplicated |= isHit && fault.kind == FaultKind::duplicate;
        verdict.isCorrupted |= isHit && fault.kind == FaultKind::corrupt;
        verdict.isOvertaken |= isHit && fault.kind == FaultKind::reorder;
        verdict.delay += fault.delay;
        if (fault.kind == FaultKind::rate)
            verdict.bitsPerSecond = verdict.bitsPerSecond == 0
                                        ? fault.bitsPerSecond
                                        : std::min(verdict.bitsPerSecond, fault.bitsPerSecond);
    }
    return verdict;
}

} // namespace openipoib::fabric
