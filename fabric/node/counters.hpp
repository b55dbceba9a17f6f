// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What a port counts: IBA's performance counters, and why packets were dropped.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace openipoib::fabric
{

// Never decrease; what perfquery clears is an offset of the PMA's.
enum class Counter : std::uint8_t {
    symbolError,
    linkRecovery,
    linkDowned,
    rcvErrors,
    rcvRemotePhysical,
    rcvSwitchRelay,
    xmitDiscards,
    xmitConstraint,
    rcvConstraint,
    localIntegrity,
    bufferOverrun,
    vl15Dropped,
    xmitData, // octets; the PMA reports units of four
    rcvData,
    xmitPackets,
    rcvPackets,
    xmitWait,
    unicastXmit,
    unicastRcv,
    multicastXmit,
    multicastRcv,
    duplicated, // not one of IBA's: came twice by a fault
    count
};

// Why a packet went no further, at the port where that was found out.
enum class Drop : std::uint8_t {
    malformed,    // headers or lengths that make no sense, or that the link in does not have
    corrupted,    // its CRC would be wrong
    state,        // the port is not in a state for it
    unknownLid,   // no entry in the forwarding table
    looping,      // it would leave where it came in
    virtualLane,  // no VL for its SL
    pkeyInbound,  // P_Key enforcement
    pkeyOutbound, //
    rawInbound,   // raw packets filtered
    rawOutbound,  //
    tooLong,      // more than the MTU of the port it was to leave by
    portDown,     // the port it was to leave by
    lifetime,     // at the head of a queue, or in the fabric, for too long
    noRoom,       // in a full queue, for what must not or can not wait
    management,   // a MAD that is not to be answered
    overflow,     // VL15 buffer
    fault,        // asked for
    stuck,        // so is this: at a switch that answers nothing
    underWay,     // late by a fault, or behind others of its frame, when the link went down
    count
};

inline constexpr std::array<std::pair<std::string_view, Counter>, 22> counterNames{
    {{"SymbolErrorCounter", Counter::symbolError},
     {"LinkErrorRecoveryCounter", Counter::linkRecovery},
     {"LinkDownedCounter", Counter::linkDowned},
     {"PortRcvErrors", Counter::rcvErrors},
     {"PortRcvRemotePhysicalErrors", Counter::rcvRemotePhysical},
     {"PortRcvSwitchRelayErrors", Counter::rcvSwitchRelay},
     {"PortXmitDiscards", Counter::xmitDiscards},
     {"PortXmitConstraintErrors", Counter::xmitConstraint},
     {"PortRcvConstraintErrors", Counter::rcvConstraint},
     {"LocalLinkIntegrityErrors", Counter::localIntegrity},
     {"ExcessiveBufferOverrunErrors", Counter::bufferOverrun},
     {"VL15Dropped", Counter::vl15Dropped},
     {"PortXmitData", Counter::xmitData},
     {"PortRcvData", Counter::rcvData},
     {"PortXmitPkts", Counter::xmitPackets},
     {"PortRcvPkts", Counter::rcvPackets},
     {"PortXmitWait", Counter::xmitWait},
     {"PortUnicastXmitPkts", Counter::unicastXmit},
     {"PortUnicastRcvPkts", Counter::unicastRcv},
     {"PortMulticastXmitPkts", Counter::multicastXmit},
     {"PortMulticastRcvPkts", Counter::multicastRcv},
     {"Duplicated", Counter::duplicated}}};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Drop::count)> dropNames{
    "malformed",    "corrupted",    "state",         "unknown_lid", "looping",
    "virtual_lane", "pkey_inbound", "pkey_outbound", "raw_inbound", "raw_outbound",
    "too_long",     "port_down",    "lifetime",      "no_room",     "management",
    "overflow",     "fault",        "stuck",         "under_way"};

class PortCounters
{
  public:
    void add(Counter counter, std::uint64_t amount = 1) { values_[index(counter)] += amount; }
    // Dropped packets, and the IBA counter that shows them.
    void add(Drop reason, std::uint64_t amount = 1)
    {
        drops_[static_cast<std::size_t>(reason)] += amount;
        if (const Counter shown = shownBy(reason); shown != Counter::count)
            add(shown, amount);
    }
    [[nodiscard]] std::uint64_t get(Counter counter) const { return values_[index(counter)]; }
    [[nodiscard]] std::uint64_t get(Drop reason) const
    {
        return drops_[static_cast<std::size_t>(reason)];
    }

  private:
    static std::size_t index(Counter counter) { return static_cast<std::size_t>(counter); }
    // IBA volume 1, 16.1.3.5.
    static Counter shownBy(Drop reason)
    {
        switch (reason) {
        case Drop::malformed:
        case Drop::corrupted:
            return Counter::rcvErrors;
        case Drop::unknownLid:
        case Drop::looping:
        case Drop::virtualLane:
            return Counter::rcvSwitchRelay;
        case Drop::pkeyInbound:
        case Drop::rawInbound:
            return Counter::rcvConstraint;
        case Drop::pkeyOutbound:
        case Drop::rawOutbound:
            return Counter::xmitConstraint;
        case Drop::tooLong:
        case Drop::portDown:
        case Drop::lifetime:
        case Drop::noRoom:
            return Counter::xmitDiscards;
        case Drop::overflow:
            return Counter::vl15Dropped;
        case Drop::state:
        case Drop::management:
        case Drop::fault:
        case Drop::stuck:
        case Drop::underWay:
        case Drop::count:
            break;
        }
        return Counter::count;
    }

    std::array<std::uint64_t, static_cast<std::size_t>(Counter::count)> values_{};
    std::array<std::uint64_t, static_cast<std::size_t>(Drop::count)> drops_{};
};

} // namespace openipoib::fabric
