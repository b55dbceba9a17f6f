// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "node/port.hpp"

#include <algorithm>
#include <initializer_list>

namespace openipoib::fabric
{

namespace
{

constexpr std::uint64_t defaultPrefix = 0xFE80'0000'0000'0000;
constexpr std::uint8_t mtu4096 = 5;
constexpr std::uint8_t responseTime = 16;    // 4.096 us * 2^16: 0.27 s
constexpr std::uint8_t subnetTimeout = 18;   //
constexpr std::uint8_t headLifeForever = 20; // and more
constexpr std::uint8_t all = 0xFF;
// What takes the place of IBA's period of flow control updates.
constexpr std::chrono::milliseconds overrunPeriod{20};

// CapabilityMask: traps, SL mapping, system image GUID, extended speeds, and
// for a channel adapter client reregistration.
constexpr std::uint32_t capTrap = 1U << 3;
constexpr std::uint32_t capSlMapping = 1U << 6;
constexpr std::uint32_t capSystemGuid = 1U << 11;
constexpr std::uint32_t capExtendedSpeeds = 1U << 14;
constexpr std::uint32_t capReregister = 1U << 25;

// The bit of a width or speed, and that of all up to it.
struct Rate {
    std::uint8_t supported;
    std::uint8_t active;
};

Rate widthRate(std::uint8_t lanes)
{
    switch (lanes) {
    case 1:
        return {1, 1};
    case 8:
        return {1 | 2 | 4, 4};
    case 12:
        return {1 | 2 | 8, 8};
    default:
        return {1 | 2, 2};
    }
}

// Classic speeds: 1 SDR, 2 DDR, 4 QDR; faster ones report QDR here.
Rate speedRate(Speed speed)
{
    switch (speed) {
    case Speed::sdr:
        return {1, 1};
    case Speed::ddr:
        return {3, 2};
    default:
        return {7, 4};
    }
}

// Extended speeds: 1 FDR, 2 EDR, 4 HDR, 8 NDR; 0 below.
Rate extendedRate(Speed speed)
{
    switch (speed) {
    case Speed::fdr:
        return {1, 1};
    case Speed::edr:
        return {3, 2};
    case Speed::hdr:
        return {7, 4};
    case Speed::ndr:
        return {15, 8};
    default:
        return {0, 0};
    }
}

} // namespace

Port::Port(const Identity &identity) : pkeys(pkeyCapacity), identity_(identity)
{
    const Rate width = widthRate(identity.width);
    const Rate speed = speedRate(identity.speed);
    const Rate extended = extendedRate(identity.speed);
    std::uint32_t caps = capSlMapping | capSystemGuid | (extended.active ? capExtendedSpeeds : 0);
    if (identity.kind == NodeKind::channelAdapter)
        caps |= capReregister | capTrap;
    else if (identity.number == 0)
        caps |= capTrap;
    for (const auto &[field, value] : std::initializer_list<std::pair<MAD_FIELDS, std::uint32_t>>{
             {IB_PORT_CAPMASK_F, caps},
             {IB_PORT_LOCAL_PORT_F, identity.number},
             {IB_PORT_LINK_WIDTH_ENABLED_F, width.supported},
             {IB_PORT_LINK_WIDTH_SUPPORTED_F, width.supported},
             {IB_PORT_LINK_WIDTH_ACTIVE_F, width.active},
             {IB_PORT_LINK_SPEED_SUPPORTED_F, speed.supported},
             {IB_PORT_LINK_SPEED_ENABLED_F, speed.supported},
             {IB_PORT_LINK_SPEED_ACTIVE_F, speed.active},
             {IB_PORT_LINK_SPEED_EXT_SUPPORTED_F, extended.supported},
             {IB_PORT_LINK_SPEED_EXT_ENABLED_F, extended.supported},
             {IB_PORT_LINK_SPEED_EXT_ACTIVE_F, extended.active},
             {IB_PORT_LINK_DOWN_DEF_F, static_cast<std::uint32_t>(PhysState::polling)},
             {IB_PORT_NEIGHBOR_MTU_F, mtu4096},
             {IB_PORT_MTU_CAP_F, mtu4096},
             {IB_PORT_VL_CAP_F, dataLanesCode},
             {IB_PORT_OPER_VLS_F, dataLanesCode},
             {IB_PORT_VL_ARBITRATION_HIGH_CAP_F, 8},
             {IB_PORT_VL_ARBITRATION_LOW_CAP_F, 8},
             {IB_PORT_HOQ_LIFE_F, headLifeForever},
             {IB_PORT_GUID_CAP_F, 8},
             {IB_PORT_SUBN_TIMEOUT_F, subnetTimeout},
             {IB_PORT_RESP_TIME_VAL_F, responseTime}})
        setField(info_, field, value);
    setField64(info_, IB_PORT_GID_PREFIX_F, defaultPrefix);
    guids[0] = identity.guid;
    if (hasIdentity())
        pkeys[0] = ib::defaultPkey;
    if (isManagement()) { // it has no cable
        state_ = PortState::active;
        phys_ = PhysState::linkUp;
    }
    refresh();
}

Attribute Port::portInfo() const
{
    Attribute out = info_;
    setField(out, IB_PORT_STATE_F, static_cast<std::uint32_t>(state_));
    setField(out, IB_PORT_PHYS_STATE_F, static_cast<std::uint32_t>(phys_));
    return out;
}

void Port::limitMtu(std::uint8_t code)
{
    setField(info_, IB_PORT_MTU_CAP_F, code);
    setField(info_, IB_PORT_NEIGHBOR_MTU_F,
             std::min<std::uint32_t>(info(IB_PORT_NEIGHBOR_MTU_F), code));
    refresh();
}

void Port::linkUp()
{
    state_ = PortState::init;
    phys_ = PhysState::linkUp;
}

void Port::linkDown(PhysState phys)
{
    if (phys_ == PhysState::linkUp)
        counters.add(Counter::linkDowned);
    state_ = PortState::down;
    phys_ = phys;
}

void Port::refresh()
{
    lid_ = static_cast<std::uint16_t>(info(IB_PORT_LID_F));
    lmc_ = static_cast<std::uint8_t>(info(IB_PORT_LMC_F));
    mtu_ = std::size_t{128} << info(IB_PORT_NEIGHBOR_MTU_F);
    lanes_ = 1U << (info(IB_PORT_OPER_VLS_F) - 1);
}

bool Port::allowsPkey(std::uint16_t pkey) const
{
    // Membership is checked at the ends: the SM copies a host's table, limited
    // keys included, into the port of the switch that it hangs on.
    return std::ranges::any_of(pkeys, [pkey](std::uint16_t entry) {
        return (entry & 0x7FFF) != 0 && ((entry ^ pkey) & 0x7FFF) == 0;
    });
}

std::optional<std::uint16_t> Port::matchPkey(std::uint16_t pkey) const
{
    for (const std::uint16_t entry : pkeys)
        if ((entry & 0x7FFF) != 0 && ((entry ^ pkey) & 0x7FFF) == 0 &&
            ((entry | pkey) & 0x8000) != 0)
            return entry;
    return std::nullopt;
}

std::optional<std::chrono::nanoseconds> Port::headLife() const
{
    const std::uint32_t code = info(IB_PORT_HOQ_LIFE_F);
    if (code >= headLifeForever)
        return std::nullopt;
    return std::chrono::nanoseconds(std::int64_t{4096} << code);
}

void Port::countViolation(MAD_FIELDS field)
{
    const std::uint32_t count = info(field);
    if (count < 0xFFFF)
        setField(info_, field, count + 1);
}

bool Port::notePhysical(bool isBroken)
{
    if (!isBroken) {
        physicalErrors_ -= physicalErrors_ == 0 ? 0 : 1;
        return false;
    }
    counters.add(Counter::symbolError);
    if (++physicalErrors_ <= info(IB_PORT_LOCAL_PHYS_ERR_F))
        return false;
    physicalErrors_ = 0;
    counters.add(Counter::localIntegrity);
    return true;
}

bool Port::noteOverrun(Time now)
{
    const auto since = now - overrunAt_;
    if (overrunPeriods_ != 0 && since < overrunPeriod)
        return false;
    overrunPeriods_ = since < 2 * overrunPeriod ? overrunPeriods_ + 1 : 1;
    overrunAt_ = now;
    if (overrunPeriods_ <= info(IB_PORT_OVERRUN_ERR_F))
        return false;
    overrunPeriods_ = 0;
    counters.add(Counter::bufferOverrun);
    return true;
}

// The state machine of IBA volume 1, 7.2.7, as far as the SM may drive it.
bool Port::isStateValid(const Attribute &wanted) const
{
    const auto state = static_cast<PortState>(getField(wanted, IB_PORT_STATE_F));
    const auto phys = static_cast<PhysState>(getField(wanted, IB_PORT_PHYS_STATE_F));
    if (phys != PhysState::noChange && phys != PhysState::polling && phys != PhysState::disabled)
        return false;
    if (phys != PhysState::noChange && state != PortState::noChange && state != PortState::down)
        return false;
    switch (state) {
    case PortState::noChange:
    case PortState::down:
        return true;
    case PortState::armed:
        return state_ == PortState::init || state_ == PortState::armed;
    case PortState::active:
        return state_ == PortState::armed || state_ == PortState::active;
    case PortState::init:
        break;
    }
    return false;
}

bool Port::isValid(const Attribute &wanted) const
{
    const auto field = [&wanted](MAD_FIELDS name) { return getField(wanted, name); };
    const std::uint32_t mtu = field(IB_PORT_NEIGHBOR_MTU_F);
    const std::uint32_t speed = field(IB_PORT_LINK_SPEED_ENABLED_F);
    const std::uint32_t width = field(IB_PORT_LINK_WIDTH_ENABLED_F);
    if (hasIdentity()) {
        const std::uint32_t lid = field(IB_PORT_LID_F);
        const std::uint32_t mask = (1U << field(IB_PORT_LMC_F)) - 1;
        if (lid == 0 || (lid & mask) != 0 || lid + mask >= ib::firstMulticastLid ||
            field(IB_PORT_SMLID_F) >= ib::firstMulticastLid)
            return false;
        if (isManagement() && mask != 0) // base switch port 0 has one LID
            return false;
    }
    if (isManagement())
        return true; // the rest is about a cable
    if (!isStateValid(wanted) || mtu < 1 || mtu > info(IB_PORT_MTU_CAP_F))
        return false;
    if (width != all && (width & ~info(IB_PORT_LINK_WIDTH_SUPPORTED_F)) != 0)
        return false;
    if (speed != 0 && speed != 15 &&
        ((speed & 1) == 0 || (speed & ~info(IB_PORT_LINK_SPEED_SUPPORTED_F)) != 0))
        return false;
    return field(IB_PORT_OPER_VLS_F) <= info(IB_PORT_VL_CAP_F);
}

void Port::copyIdentity(const Attribute &wanted)
{
    for (const auto field : {IB_PORT_MKEY_F, IB_PORT_GID_PREFIX_F})
        setField64(info_, field, getField64(wanted, field));
    for (const auto field :
         {IB_PORT_LID_F, IB_PORT_SMLID_F, IB_PORT_LMC_F, IB_PORT_SMSL_F, IB_PORT_MKEY_LEASE_F,
          IB_PORT_MKEY_PROT_BITS_F, IB_PORT_SUBN_TIMEOUT_F})
        setField(info_, field, getField(wanted, field));
    for (const auto field : {IB_PORT_MKEY_VIOL_F, IB_PORT_PKEY_VIOL_F, IB_PORT_QKEY_VIOL_F})
        if (getField(wanted, field) == 0)
            setField(info_, field, 0);
}

void Port::copyLink(const Attribute &wanted)
{
    for (const auto field :
         {IB_PORT_NEIGHBOR_MTU_F, IB_PORT_VL_HIGH_LIMIT_F, IB_PORT_VL_STALL_COUNT_F,
          IB_PORT_HOQ_LIFE_F, IB_PORT_PART_EN_INB_F, IB_PORT_PART_EN_OUTB_F,
          IB_PORT_FILTER_RAW_INB_F, IB_PORT_FILTER_RAW_OUTB_F, IB_PORT_LOCAL_PHYS_ERR_F,
          IB_PORT_OVERRUN_ERR_F})
        setField(info_, field, getField(wanted, field));
    // Zero means no change.
    if (const auto lanes = getField(wanted, IB_PORT_OPER_VLS_F); lanes != 0)
        setField(info_, IB_PORT_OPER_VLS_F, lanes);
    if (const auto width = getField(wanted, IB_PORT_LINK_WIDTH_ENABLED_F); width != 0)
        setField(info_, IB_PORT_LINK_WIDTH_ENABLED_F, width & info(IB_PORT_LINK_WIDTH_SUPPORTED_F));
    if (const auto speed = getField(wanted, IB_PORT_LINK_SPEED_ENABLED_F); speed != 0)
        setField(info_, IB_PORT_LINK_SPEED_ENABLED_F, speed & info(IB_PORT_LINK_SPEED_SUPPORTED_F));
}

// The attribute is checked as a whole before any of it is done.
Port::SetResult Port::setPortInfo(const Attribute &wanted)
{
    if (!isValid(wanted))
        return {};
    SetResult result{.isValid = true};
    if (hasIdentity()) {
        copyIdentity(wanted);
        result.mustRejoin = getField(wanted, IB_PORT_CLIENT_REREG_F) != 0;
    }
    if (!isManagement()) {
        copyLink(wanted);
        const auto state = static_cast<PortState>(getField(wanted, IB_PORT_STATE_F));
        result.phys = static_cast<PhysState>(getField(wanted, IB_PORT_PHYS_STATE_F));
        if (state == PortState::down && result.phys == PhysState::noChange)
            result.phys = PhysState::polling;
        if (result.phys == PhysState::noChange && state != PortState::noChange) {
            result.stateChanged = state_ != state;
            state_ = state;
        }
    }
    refresh();
    return result;
}

} // namespace openipoib::fabric
