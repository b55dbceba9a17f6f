// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "node/sma.hpp"

#include "node/node.hpp"

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t methodAt = 3;
constexpr std::size_t hopCountAt = 7;
constexpr std::size_t mkeyAt = 24;
constexpr std::size_t drSlidAt = 32;
constexpr std::size_t returnPathAt = 192;
constexpr std::size_t dataAt = IB_SMP_DATA_OFFS;
constexpr std::uint8_t methodTrapRepress = 7;
constexpr std::uint16_t attributeNotice = 2;
constexpr unsigned trapTimes = 10; // a trap is sent, unless repressed
constexpr std::size_t pkeysPerBlock = 32;
constexpr std::size_t guidsPerBlock = 8;
constexpr std::uint32_t switchLifetime = 18; // 4.096 us * 2^18: 1 s

// Notice types, and where its fields are in the attribute.
constexpr std::uint8_t typeUrgent = 1;
constexpr std::uint8_t typeSecurity = 2;
constexpr std::uint8_t isGeneric = 0x80;
constexpr std::size_t noticeDetails = 10;
// Trap 256: of a directed route, whose way back is longer than the notice has room for.
constexpr std::uint8_t isDirected = 0x80;
constexpr std::uint8_t isCut = 0x40;
constexpr std::size_t mostNoticeHops = 29;

void put16(std::span<std::uint8_t> out, std::size_t at, std::uint64_t value)
{
    out[at] = static_cast<std::uint8_t>(value >> 8);
    out[at + 1] = static_cast<std::uint8_t>(value);
}

MadStatus readOnly(bool isSet)
{
    return isSet ? MadStatus::badAttribute : MadStatus::ok;
}

} // namespace

Sma::Sma(Node &node) : node_(node)
{
    Attribute &info = node.switchInfo_;
    setField(info, IB_SW_LINEAR_FDB_CAP_F, LinearTable::capacity);
    setField(info, IB_SW_MCAST_FDB_CAP_F, MulticastTable::capacity);
    setField(info, IB_SW_LIFE_TIME_F, switchLifetime);
    setField(info, IB_SW_PARTITION_ENFORCE_CAP_F, Port::pkeyCapacity);
    for (const auto field : {IB_SW_PARTITION_ENF_INB_F, IB_SW_PARTITION_ENF_OUTB_F,
                             IB_SW_FILTER_RAW_INB_F, IB_SW_FILTER_RAW_OUTB_F})
        setField(info, field, 1);
}

Port &Sma::identity(std::uint8_t entry)
{
    return node_.ports_[node_.identityPort(entry)];
}

const Port &Sma::trapPort() const
{
    return node_.ports_[node_.identityPort(1)];
}

bool Sma::answer(std::span<std::uint8_t> mad, const Origin &from, Time now)
{
    const auto header = ib::Mad::parse(mad);
    if (mad[methodAt] == methodTrapRepress) {
        bool isHidden = false;
        if (header->baseVersion == 1 && header->classVersion == 1 &&
            checkMkey(mad, from, isHidden, now))
            repress(mad);
        return false;
    }
    // Anything else but a request is nobody's to answer.
    if (header->method != ib::Method::get && header->method != ib::Method::set)
        return false;
    MadStatus status = MadStatus::badVersion;
    if (header->baseVersion == 1 && header->classVersion == 1) {
        bool isHidden = false;
        if (!checkMkey(mad, from, isHidden, now))
            return false;
        Attribute data;
        std::ranges::copy(mad.subspan(dataAt, data.size()), data.begin());
        status = access({.attribute = header->attribute,
                         .modifier = header->modifier,
                         .isSet = header->method == ib::Method::set,
                         .entry = from.port,
                         .now = now},
                        data);
        if (isHidden && header->attribute == IB_ATTR_PORT_INFO)
            setField64(data, IB_PORT_MKEY_F, 0);
        if (status == MadStatus::ok)
            std::ranges::copy(data, mad.begin() + dataAt);
    }
    mad[methodAt] = static_cast<std::uint8_t>(ib::Method::getResp);
    if (header->mgmtClass == ib::MgmtClass::subnDirected)
        setField(mad, IB_DRSMP_STATUS_F, static_cast<std::uint32_t>(status));
    else
        setField(mad, IB_MAD_STATUS_F, static_cast<std::uint32_t>(status));
    return true;
}

// IBA volume 1, 14.2.4. isHidden: the answer must not tell the key.
bool Sma::checkMkey(io::View mad, const Origin &from, bool &isHidden, Time now)
{
    Port &port = identity(from.port);
    const std::uint64_t key = port.info64(IB_PORT_MKEY_F);
    if (key == 0 || io::read<8>(mad, mkeyAt) == key) {
        if (key != 0)
            leaseEnd_.reset();
        return true;
    }
    const std::uint32_t protection = port.info(IB_PORT_MKEY_PROT_BITS_F);
    const bool isGet = mad[methodAt] == static_cast<std::uint8_t>(ib::Method::get);
    if (isGet && protection < 2) {
        isHidden = protection == 1;
        return true;
    }
    const std::uint32_t lease = port.info(IB_PORT_MKEY_LEASE_F);
    if (lease != 0 && !leaseEnd_) {
        leaseEnd_ = now + std::chrono::seconds(lease);
        leasePort_ = node_.identityPort(from.port);
    }
    port.countViolation(IB_PORT_MKEY_VIOL_F);
    // OpenSM represses with the key that the trap had, none: one trap would lead to another.
    if (mad[methodAt] != methodTrapRepress)
        badMkey(mad, from.lid, now);
    return false;
}

void Sma::onTime(Time now)
{
    if (!leaseEnd_ || now < *leaseEnd_)
        return;
    leaseEnd_.reset();
    node_.ports_[leasePort_].setInfo(IB_PORT_MKEY_PROT_BITS_F, 0);
}

MadStatus Sma::access(const Request &request, Attribute &data)
{
    switch (request.attribute) {
    case IB_ATTR_NODE_INFO:
        nodeInfo(request, data);
        return readOnly(request.isSet);
    case IB_ATTR_NODE_DESC:
        nodeDescription(data);
        return readOnly(request.isSet);
    case IB_ATTR_PORT_INFO:
        return portInfo(request, data);
    case IB_ATTR_MLNX_EXT_PORT_INFO:
        return extendedPortInfo(request, data);
    case IB_ATTR_PKEY_TBL:
        return pkeyTable(request, data);
    case IB_ATTR_GUID_INFO:
        return guidInfo(request, data);
    case IB_ATTR_SLVL_TABLE:
        return slToVl(request, data);
    case IB_ATTR_VL_ARBITRATION:
        return vlArbitration(request, data);
    default:
        return node_.isSwitch() ? switchAccess(request, data) : MadStatus::badAttribute;
    }
}

MadStatus Sma::switchAccess(const Request &request, Attribute &data)
{
    bool isDone = false;
    switch (request.attribute) {
    case IB_ATTR_SWITCH_INFO:
        return switchInfo(request, data);
    case IB_ATTR_LINEARFORWTBL:
        isDone = (!request.isSet || node_.linear_.set(request.modifier, data)) &&
                 node_.linear_.get(request.modifier, data);
        break;
    case IB_ATTR_MULTICASTFORWTBL:
        isDone = (!request.isSet || node_.multicast_.set(request.modifier, data)) &&
                 node_.multicast_.get(request.modifier, data);
        break;
    default:
        return MadStatus::badAttribute;
    }
    return isDone ? MadStatus::ok : MadStatus::badField;
}

void Sma::nodeInfo(const Request &request, Attribute &data) const
{
    const TopologyNode &node = node_.description_;
    data.fill(0);
    setField(data, IB_NODE_BASE_VERS_F, 1);
    setField(data, IB_NODE_CLASS_VERS_F, 1);
    setField(data, IB_NODE_TYPE_F, static_cast<std::uint32_t>(node.kind));
    setField(data, IB_NODE_NPORTS_F, node_.portCount());
    setField64(data, IB_NODE_SYSTEM_GUID_F, node.systemGuid);
    setField64(data, IB_NODE_GUID_F, node.guid);
    setField64(data, IB_NODE_PORT_GUID_F, node.portGuid(request.entry));
    setField(data, IB_NODE_PARTITION_CAP_F, Port::pkeyCapacity);
    setField(data, IB_NODE_DEVID_F, node.device);
    setField(data, IB_NODE_LOCAL_PORT_F, request.entry);
    setField(data, IB_NODE_VENDORID_F, node.vendor);
}

void Sma::nodeDescription(Attribute &data) const
{
    data.fill(0);
    const auto &name = node_.description_.name;
    std::copy_n(name.begin(), std::min(name.size(), data.size()), data.begin());
}

MadStatus Sma::switchInfo(const Request &request, Attribute &data)
{
    Attribute &info = node_.switchInfo_;
    if (request.isSet) {
        if (getField(data, IB_SW_LINEAR_FDB_TOP_F) >= LinearTable::capacity)
            return MadStatus::badField;
        for (const auto field : {IB_SW_LINEAR_FDB_TOP_F, IB_SW_DEF_PORT_F, IB_SW_DEF_MCAST_PRIM_F,
                                 IB_SW_DEF_MCAST_NOT_PRIM_F, IB_SW_LIFE_TIME_F})
            setField(info, field, getField(data, field));
        if (getField(data, IB_SW_STATE_CHANGE_F) != 0) // written as one to clear it
            setField(info, IB_SW_STATE_CHANGE_F, 0);
    }
    data = info;
    return MadStatus::ok;
}

Port *Sma::find(std::uint32_t number, const Request &request)
{
    if (!node_.isSwitch() && number == 0)
        number = request.entry;
    return number < node_.ports_.size() ? &node_.ports_[number] : nullptr;
}

MadStatus Sma::portInfo(const Request &request, Attribute &data)
{
    Port *port = find(request.modifier & 0xFF, request);
    if (port == nullptr)
        return MadStatus::badField;
    if (request.isSet) {
        const Port::SetResult result = port->setPortInfo(data);
        if (!result.isValid)
            return MadStatus::badField;
        if (result.phys != PhysState::noChange)
            node_.listener_.physWanted(port->identity().number, result.phys);
        node_.updatePeer(port->identity().number, result.mustRejoin, request.now);
    }
    data = port->portInfo();
    setField(data, IB_PORT_LOCAL_PORT_F, request.entry);
    return MadStatus::ok;
}

// Of a vendor's, which tells FDR10 from QDR.
MadStatus Sma::extendedPortInfo(const Request &request, Attribute &data)
{
    const Port *port = find(request.modifier & 0xFF, request);
    if (port == nullptr || port->isManagement())
        return MadStatus::badField;
    const bool isFdr10 = port->identity().speed == Speed::fdr10;
    data.fill(0);
    for (const auto field :
         {IB_MLNX_EXT_PORT_LINK_SPEED_SUPPORTED_F, IB_MLNX_EXT_PORT_LINK_SPEED_ENABLED_F,
          IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F})
        setField(data, field, isFdr10 ? 1 : 0);
    return MadStatus::ok;
}

MadStatus Sma::pkeyTable(const Request &request, Attribute &data)
{
    Port *port = find(node_.isSwitch() ? request.modifier >> 16 : 0, request);
    const std::size_t start = (request.modifier & 0xFFFF) * pkeysPerBlock;
    if (port == nullptr || start >= port->pkeys.size())
        return MadStatus::badField;
    for (std::size_t i = 0; i < pkeysPerBlock; ++i) {
        std::uint16_t &key = port->pkeys[start + i];
        if (request.isSet)
            key = static_cast<std::uint16_t>(io::read<2>(data, 2 * i));
        put16(data, 2 * i, key);
    }
    return MadStatus::ok;
}

MadStatus Sma::guidInfo(const Request &request, Attribute &data)
{
    Port &port = identity(request.entry);
    if (request.modifier >= port.guids.size() / guidsPerBlock)
        return MadStatus::badField;
    for (std::size_t i = 0; i < guidsPerBlock; ++i) {
        if (request.isSet && i != 0) // the first is the port's own
            port.guids[i] = io::read<8>(data, 8 * i);
        for (std::size_t byte = 0; byte < 8; ++byte)
            data[8 * i + byte] = static_cast<std::uint8_t>(port.guids[i] >> (56 - 8 * byte));
    }
    return MadStatus::ok;
}

// Modifier of a switch: input port in bits 8 to 15, output port below.
MadStatus Sma::slToVl(const Request &request, Attribute &data)
{
    const bool isSwitch = node_.isSwitch();
    Port *out = find(isSwitch ? request.modifier & 0xFF : request.entry, request);
    const std::uint32_t in = isSwitch ? request.modifier >> 8 & 0xFF : 0;
    if (out == nullptr || in >= node_.ports_.size())
        return MadStatus::badField;
    Port::SlMap map{};
    if (request.isSet) {
        for (std::size_t sl = 0; sl < map.size(); ++sl)
            map[sl] = data[sl / 2] >> (sl % 2 == 0 ? 4 : 0) & 0xF;
        out->setSlToVl(static_cast<std::uint8_t>(in), map);
    }
    data.fill(0);
    for (std::uint8_t sl = 0; sl < 16; ++sl)
        data[sl / 2] |= static_cast<std::uint8_t>(out->slToVl(static_cast<std::uint8_t>(in), sl)
                                                  << (sl % 2 == 0 ? 4 : 0));
    return MadStatus::ok;
}

// Modifier: block 1 to 4 in the upper half, port of a switch in the lower.
MadStatus Sma::vlArbitration(const Request &request, Attribute &data)
{
    Port *port = find(node_.isSwitch() ? request.modifier & 0xFF : 0, request);
    const std::uint32_t block = request.modifier >> 16;
    if (port == nullptr || block == 0 || block > port->vlArbitration.size())
        return MadStatus::badField;
    if (request.isSet)
        port->vlArbitration[block - 1] = data;
    data = port->vlArbitration[block - 1];
    return MadStatus::ok;
}

bool Sma::hasManager() const
{
    return trapPort().lid() != 0 && trapPort().info(IB_PORT_SMLID_F) != 0;
}

// No more often than PortInfo:SubnetTimeOut allows, see nextTrap().
Sma::Trap *Sma::begin(Slot slot, std::uint8_t type, std::uint16_t number, Time now)
{
    const Port &port = trapPort();
    Trap &trap = traps_[static_cast<std::size_t>(slot)];
    const bool isNew = trap.left == 0;
    if ((!isNew && slot != Slot::change) || !hasManager())
        return nullptr;
    trap.mad.clear();
    ib::Mad{.method = ib::Method::trap, .transaction = ++transaction_, .attribute = attributeNotice}
        .appendTo(trap.mad);
    trap.left = trapTimes;
    trap.at = isNew ? std::max(trap.at, now) : trap.at;
    const std::span<std::uint8_t> data = std::span(trap.mad).subspan(dataAt);
    data[0] = isGeneric | type;
    data[3] = static_cast<std::uint8_t>(node_.description_.kind);
    put16(data, 4, number);
    put16(data, 6, port.lid());
    return &trap;
}

// One that is being repeated becomes a new one: what the SM has read since it
// heard the old one may be out of date.
void Sma::portChanged(Time now)
{
    if (!node_.isSwitch())
        return;
    setField(node_.switchInfo_, IB_SW_STATE_CHANGE_F, 1);
    if (Trap *trap = begin(Slot::change, typeUrgent, 128, now))
        put16(trap->mad, dataAt + noticeDetails, trapPort().lid());
}

void Sma::linkTrouble(std::uint8_t port, LinkTrouble trouble, Time now)
{
    if (!node_.isSwitch() || !hasManager())
        return;
    troubles_[static_cast<std::size_t>(trouble)].set(port);
    reportTrouble(now);
}

// A port at a time: the notice names one.
void Sma::reportTrouble(Time now)
{
    for (std::size_t kind = 0; kind < troubles_.size(); ++kind) {
        auto &ports = troubles_[kind];
        std::uint8_t port = 1;
        while (port <= node_.portCount() && !ports[port])
            ++port;
        if (port > node_.portCount())
            continue;
        constexpr std::uint16_t firstNumber = 129;
        Trap *trap = begin(static_cast<Slot>(kind), typeUrgent,
                           static_cast<std::uint16_t>(firstNumber + kind), now);
        if (trap == nullptr)
            continue;
        ports.reset(port);
        const auto details = std::span(trap->mad).subspan(dataAt + noticeDetails);
        put16(details, 2, trapPort().lid());
        details[4] = port;
    }
}

// Says who did it: by LID, or by the way back of a directed route. That is in the notice as in
// the MAD, where it begins with the second octet.
void Sma::badMkey(io::View mad, std::uint16_t lid, Time now)
{
    Trap *trap = begin(Slot::mkey, typeSecurity, 256, now);
    if (trap == nullptr)
        return;
    const auto details = std::span(trap->mad).subspan(dataAt + noticeDetails);
    put16(details, 2, lid);
    details[6] = mad[methodAt];
    std::ranges::copy(mad.subspan(16, 2), details.begin() + 8);  // attribute
    std::ranges::copy(mad.subspan(20, 4), details.begin() + 10); // modifier
    std::ranges::copy(mad.subspan(mkeyAt, 8), details.begin() + 14);
    if (ib::Mad::parse(mad)->mgmtClass != ib::MgmtClass::subnDirected)
        return;
    const std::size_t hops = std::min<std::size_t>(mad[hopCountAt], mostNoticeHops);
    put16(details, 4, io::read<2>(mad, drSlidAt));
    details[23] =
        static_cast<std::uint8_t>(isDirected | (hops != mad[hopCountAt] ? isCut : 0) | hops);
    std::ranges::copy(mad.subspan(returnPathAt, hops + 1), details.begin() + 24);
}

void Sma::badPkey(std::uint8_t port, io::View packet, const PacketHeaders &headers, Time now)
{
    Trap *trap = begin(Slot::pkey, typeSecurity, 259, now);
    if (trap == nullptr)
        return;
    const auto details = std::span(trap->mad).subspan(dataAt + noticeDetails);
    details[1] = 0x03; // LIDs and P_Key are valid
    put16(details, 2, headers.lrh.slid);
    put16(details, 4, headers.lrh.dlid);
    put16(details, 6, headers.pkey);
    details[8] = static_cast<std::uint8_t>(headers.lrh.sl << 4);
    std::ranges::copy(packet.subspan(headers.bthAt + 5, 3), details.begin() + 13); // QP2
    put16(details, 48, trapPort().lid());
    details[50] = port;
}

void Sma::repress(io::View mad)
{
    for (Trap &trap : traps_)
        if (trap.left != 0 &&
            std::ranges::equal(mad.subspan(8, 8), io::View(trap.mad).subspan(8, 8)))
            trap.left = 0;
}

std::optional<io::Bytes> Sma::nextTrap(Time now)
{
    reportTrouble(now);
    for (Trap &trap : traps_) {
        if (trap.left == 0 || now < trap.at)
            continue;
        --trap.left;
        trap.at = now + std::chrono::nanoseconds(std::int64_t{4096}
                                                 << trapPort().info(IB_PORT_SUBN_TIMEOUT_F));
        return trap.mad;
    }
    return std::nullopt;
}

Time Sma::deadline() const
{
    Time result = leaseEnd_.value_or(Time::max());
    for (const Trap &trap : traps_)
        if (trap.left != 0)
            result = std::min(result, trap.at);
    for (std::size_t kind = 0; kind < troubles_.size(); ++kind)
        if (troubles_[kind].any() && hasManager()) // the next port's turn
            result = std::min(result, traps_[kind].at);
    return result;
}

} // namespace openipoib::fabric
