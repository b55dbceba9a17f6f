// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "node/node.hpp"

#include "ib/packet_builder.hpp"
#include "node/sma.hpp"
#include "node/smp_route.hpp"
#include "peer/ipoib_peer.hpp"

#include <algorithm>
#include <utility>

namespace openipoib::fabric
{

namespace
{

constexpr std::uint8_t mostHops = 64; // a routing loop is longer than any path
// The longest extension headers in front of a full payload: RETH and immediate.
constexpr std::size_t extensionSize = 20;
constexpr std::uint32_t gsiQpn = 1;

} // namespace

Node::Node(const TopologyNode &description, NodeListener &listener)
    : description_(description), listener_(listener),
      pma_(static_cast<unsigned>(description.ports.size()),
           [this](unsigned port) -> const PortCounters * {
               return port < ports_.size() && (isSwitch() || port != 0) ? &ports_[port].counters
                                                                        : nullptr;
           })
{
    ports_.emplace_back(Port::Identity{.kind = description_.kind, .guid = description_.guid});
    for (const TopologyPort &port : description_.ports) {
        const auto number = static_cast<std::uint8_t>(ports_.size());
        ports_.emplace_back(Port::Identity{.number = number,
                                           .kind = description_.kind,
                                           .guid = description_.portGuid(number),
                                           .width = port.width,
                                           .speed = port.speed});
    }
    sma_ = std::make_unique<Sma>(*this);
    peers_.resize(ports_.size());
}

Node::~Node() = default;

void Node::linkUp(std::uint8_t port, Time now)
{
    ports_[port].linkUp();
    updatePeer(port, false, now);
    sma_->portChanged(now);
    sendTraps(now);
}

void Node::linkDown(std::uint8_t port, PhysState phys, Time now)
{
    const bool wasUp = ports_[port].phys() == PhysState::linkUp;
    ports_[port].linkDown(phys);
    flush(ports_[port]);
    updatePeer(port, false, now);
    if (!wasUp)
        return;
    sma_->portChanged(now);
    sendTraps(now);
}

void Node::receive(std::uint8_t port, Packet packet, Time now)
{
    Port &in = ports_[port];
    if (packet.isCorrupted) {
        in.counters.add(Drop::corrupted);
        return physicalError(port, now);
    }
    static_cast<void>(in.notePhysical(false));
    const auto headers = PacketHeaders::parse(packet.bytes);
    if (!headers)
        return in.counters.add(Drop::malformed);
    in.counters.add(Counter::rcvPackets);
    in.counters.add(Counter::rcvData, packet.bytes.size());
    in.counters.add(headers->isMulticast() ? Counter::multicastRcv : Counter::unicastRcv);
    if (++packet.hops > mostHops)
        return in.counters.add(Drop::lifetime);
    if (headers->lrh.vl == vl15)
        return receiveManagement(port, std::move(packet), *headers, now);
    receiveData(port, std::move(packet), *headers, now);
}

void Node::physicalError(std::uint8_t port, Time now)
{
    if (ports_[port].notePhysical(true))
        reportTrouble(port, LinkTrouble::integrity, now);
}

void Node::reportTrouble(std::uint8_t port, LinkTrouble trouble, Time now)
{
    sma_->linkTrouble(port, trouble, now);
    sendTraps(now);
}

void Node::cableError(std::uint8_t port, CableError error, Time now)
{
    Port &in = ports_[port];
    switch (error) {
    case CableError::broken:
        in.counters.add(Counter::rcvErrors);
        return physicalError(port, now);
    case CableError::overrun:
        in.counters.add(Counter::rcvErrors);
        if (in.noteOverrun(now))
            reportTrouble(port, LinkTrouble::overrun, now);
        return;
    case CableError::malformed:
        return in.counters.add(Drop::malformed);
    case CableError::silent:
        return reportTrouble(port, LinkTrouble::watchdog, now);
    }
}

void Node::receiveManagement(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now)
{
    Port &port = ports_[in];
    const auto mad = headers.mad(packet.bytes);
    if (headers.isRaw || headers.isMulticast() || headers.lrh.next == ib::LinkNext::grh || !mad)
        return port.counters.add(Drop::malformed);
    const auto header = ib::Mad::parse(*mad);
    const Port &identity = ports_[identityPort(in)];
    const bool isHere =
        headers.lrh.dlid == ib::permissiveLid || identity.isOwnLid(headers.lrh.dlid);
    if (!isHere)
        return forwardUnicast(in, std::move(packet), headers, now);
    if (isStuck_)
        return port.counters.add(Drop::stuck);
    if (headers.qpn != 0)
        return port.counters.add(Drop::malformed);
    if (header->mgmtClass == ib::MgmtClass::subnDirected)
        return receiveDirected(in, {mad->begin(), mad->end()}, headers.lrh, now);
    if (header->mgmtClass == ib::MgmtClass::subnLid && headers.lrh.dlid != ib::permissiveLid)
        return answerSmp(in, std::move(packet), headers, now);
    port.counters.add(Drop::management);
}

void Node::receiveDirected(std::uint8_t in, io::Bytes mad, const ib::Lrh &lrh, Time now)
{
    SmpEntry entry{.port = in, .ownLid = ports_[identityPort(in)].lid()};
    if (lrh.dlid != ib::permissiveLid)
        entry.source = lrh.slid;
    const SmpRoute route = routeSmp(mad, entry, portCount(), isSwitch());
    switch (route.to) {
    case SmpRoute::To::agent:
        return answerDirected(in, std::move(mad), lrh, route.lid, now);
    case SmpRoute::To::port:
        return sendSmp(route.port, mad, ib::permissiveLid, ib::permissiveLid, now);
    case SmpRoute::To::lid:
        return sendSmpByLid(in, mad, route.lid, now);
    case SmpRoute::To::manager: // there is no SM here
    case SmpRoute::To::discard:
        break;
    }
    ports_[in].counters.add(Drop::management);
}

void Node::answerDirected(std::uint8_t in, io::Bytes mad, const ib::Lrh &lrh, std::uint16_t lid,
                          Time now)
{
    if (!sma_->answer(mad, {.port = in, .lid = lrh.slid}, now))
        return ports_[in].counters.add(Drop::management);
    setField(mad, IB_DRSMP_DIRECTION_F, 1);
    const SmpRoute route = lid != 0 ? SmpRoute{.to = SmpRoute::To::lid, .lid = lid}
                                    : routeSmpResponse(mad, portCount());
    if (route.to == SmpRoute::To::port)
        sendSmp(route.port, mad, ib::permissiveLid, ib::permissiveLid, now);
    else if (route.to == SmpRoute::To::lid)
        sendSmpByLid(in, mad, route.lid, now);
    else
        ports_[in].counters.add(Drop::management);
    sendTraps(now); // what the request has done may be worth one
}

void Node::answerSmp(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now)
{
    const auto mad = headers.mad(packet.bytes);
    if (!sma_->answer(*mad, {.port = in, .lid = headers.lrh.slid}, now))
        return ports_[in].counters.add(Drop::management);
    sendSmpByLid(in, *mad, headers.lrh.slid, now);
    sendTraps(now);
}

std::optional<Drop> Node::checkInput(const Port &in, const PacketHeaders &headers) const
{
    if (!in.takesData())
        return Drop::state;
    if (!in.hasLane(headers.lrh.vl) || headers.payload > in.mtu() + extensionSize)
        return Drop::malformed;
    if (!isSwitch())
        return std::nullopt;
    if (headers.isRaw)
        return in.info(IB_PORT_FILTER_RAW_INB_F) != 0 ? std::optional(Drop::rawInbound)
                                                      : std::nullopt;
    if (in.info(IB_PORT_PART_EN_INB_F) != 0 && !in.allowsPkey(headers.pkey))
        return Drop::pkeyInbound;
    return std::nullopt;
}

void Node::receiveData(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now)
{
    Port &port = ports_[in];
    if (const auto drop = checkInput(port, headers)) {
        port.counters.add(*drop);
        if (*drop == Drop::pkeyInbound) {
            sma_->badPkey(in, packet.bytes, headers, now);
            sendTraps(now);
        }
        return;
    }
    const bool isOwn = ports_[identityPort(in)].isOwnLid(headers.lrh.dlid);
    if (peers_[in] != nullptr && (isOwn ? headers.qpn != gsiQpn : headers.isMulticast()))
        return giveToPeer(in, packet.bytes, headers, now);
    if (isOwn)
        return answerGmp(in, std::move(packet), headers, now);
    if (headers.isMulticast())
        return forwardMulticast(in, packet, headers, now);
    forwardUnicast(in, std::move(packet), headers, now);
}

// The Q_Key is one that only privileged users may send with.
std::optional<std::uint16_t> Node::checkKeys(std::uint8_t in, io::View packet,
                                             const PacketHeaders &headers)
{
    Port &identity = ports_[identityPort(in)];
    const auto deth = ib::Deth::parse(packet.subspan(headers.bthAt + ib::Bth::size));
    const auto pkey = identity.matchPkey(headers.pkey);
    if (pkey && deth->qkey == ib::gsiQkey)
        return pkey;
    identity.countViolation(pkey ? IB_PORT_QKEY_VIOL_F : IB_PORT_PKEY_VIOL_F);
    return std::nullopt;
}

// A MAD for a general service agent: performance management, or the SA's answer to a peer.
void Node::answerGmp(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now)
{
    Port &port = ports_[in];
    if (isStuck_)
        return port.counters.add(Drop::stuck);
    const auto mad = headers.mad(packet.bytes);
    const auto pkey =
        mad && headers.qpn == gsiQpn ? checkKeys(in, packet.bytes, headers) : std::nullopt;
    if (!pkey)
        return port.counters.add(Drop::management);
    const auto header = ib::Mad::parse(*mad);
    if (peers_[in] != nullptr && header->mgmtClass == ib::MgmtClass::subnAdm)
        return giveToPeer(in, packet.bytes, headers, now);
    const bool isRequest = header->method == ib::Method::get || header->method == ib::Method::set;
    if (!isRequest || header->mgmtClass != ib::MgmtClass::perf)
        return port.counters.add(Drop::management);
    pma_.answer(*mad);
    const auto deth =
        ib::Deth::parse(io::View(packet.bytes).subspan(headers.bthAt + ib::Bth::size));
    Packet answer{
        ib::PacketBuilder{}
            .lrh({.sl = headers.lrh.sl, .dlid = headers.lrh.slid, .slid = headers.lrh.dlid})
            .bth({.pkey = *pkey, .qpn = deth->sourceQpn})
            .deth({.qkey = ib::gsiQkey, .sourceQpn = gsiQpn})
            .payload(*mad)
            .build()};
    const auto outgoing = PacketHeaders::parse(answer.bytes);
    const InputLane asker{.port = in, .vl = headers.lrh.vl};
    if (isSwitch())
        forwardUnicast(0, std::move(answer), *outgoing, now, asker);
    else
        output(0, in, std::move(answer), *outgoing, now, asker);
}

void Node::forwardUnicast(std::uint8_t in, Packet packet, const PacketHeaders &headers, Time now,
                          std::optional<InputLane> from)
{
    Port &port = ports_[in];
    if (!isSwitch())
        return port.counters.add(Drop::unknownLid);
    const auto top = static_cast<std::uint16_t>(getField(switchInfo_, IB_SW_LINEAR_FDB_TOP_F));
    const std::uint8_t out = linear_.port(headers.lrh.dlid, top);
    if (out == 0 || out > portCount())
        return port.counters.add(Drop::unknownLid);
    if (out == in)
        return port.counters.add(Drop::looping);
    output(in, out, std::move(packet), headers, now, from);
}

void Node::forwardMulticast(std::uint8_t in, const Packet &packet, const PacketHeaders &headers,
                            Time now)
{
    if (!isSwitch())
        return;
    auto ports = multicast_.ports(headers.lrh.dlid);
    if (ports.none()) { // IBA volume 1, 18.2.4.3.3
        const std::uint32_t primary = getField(switchInfo_, IB_SW_DEF_MCAST_PRIM_F);
        const std::uint32_t out =
            in == primary ? getField(switchInfo_, IB_SW_DEF_MCAST_NOT_PRIM_F) : primary;
        if (out == 0 || out > portCount() || out == in)
            return ports_[in].counters.add(Drop::unknownLid);
        ports.set(out);
    }
    for (std::uint8_t out = 1; out <= portCount(); ++out)
        if (ports[out] && out != in)
            output(in, out, packet, headers, now);
}

std::optional<Drop> Node::checkOutput(std::uint8_t in, const Port &out,
                                      const PacketHeaders &headers) const
{
    if (headers.lrh.vl == vl15)
        return out.phys() == PhysState::linkUp ? std::nullopt : std::optional(Drop::portDown);
    if (!out.sendsData())
        return Drop::portDown;
    if (headers.payload > out.mtu() + extensionSize)
        return Drop::tooLong;
    if (in == 0)
        return std::nullopt;
    if (headers.isRaw)
        return out.info(IB_PORT_FILTER_RAW_OUTB_F) != 0 ? std::optional(Drop::rawOutbound)
                                                        : std::nullopt;
    if (out.info(IB_PORT_PART_EN_OUTB_F) != 0 && !out.allowsPkey(headers.pkey))
        return Drop::pkeyOutbound;
    return std::nullopt;
}

void Node::output(std::uint8_t in, std::uint8_t out, Packet packet, const PacketHeaders &headers,
                  Time now, std::optional<InputLane> from)
{
    Port &port = ports_[out];
    if (const auto drop = checkOutput(in, port, headers))
        return port.counters.add(*drop);
    const InputLane waiting = from.value_or(InputLane{.port = in, .vl = headers.lrh.vl});
    if (headers.lrh.vl == vl15)
        return enqueue(waiting, port, vl15, std::move(packet), now);
    const std::uint8_t vl = port.slToVl(isSwitch() ? in : 0, headers.lrh.sl);
    if (!port.hasLane(vl))
        return ports_[isSwitch() ? in : out].counters.add(Drop::virtualLane);
    packet.setVl(vl);
    enqueue(waiting, port, vl, std::move(packet), now);
}

void Node::sendSmp(std::uint8_t out, io::View mad, std::uint16_t source, std::uint16_t destination,
                   Time now)
{
    Packet packet{ib::PacketBuilder{}
                      .lrh({.vl = vl15, .dlid = destination, .slid = source})
                      .bth({})
                      .deth({})
                      .payload(mad)
                      .build()};
    const auto headers = PacketHeaders::parse(packet.bytes);
    output(0, out, std::move(packet), *headers, now);
}

// in: where the request came in, by which an adapter answers.
void Node::sendSmpByLid(std::uint8_t in, io::View mad, std::uint16_t destination, Time now)
{
    const std::uint16_t source = ports_[identityPort(in)].lid();
    if (!isSwitch())
        return sendSmp(in, mad, source, destination, now);
    const auto top = static_cast<std::uint16_t>(getField(switchInfo_, IB_SW_LINEAR_FDB_TOP_F));
    const std::uint8_t out = linear_.port(destination, top);
    if (out == 0 || out > portCount())
        return ports_[0].counters.add(Drop::unknownLid);
    sendSmp(out, mad, source, destination, now);
}

void Node::sendTraps(Time now)
{
    const std::uint8_t from = isSwitch() ? 0 : 1;
    while (const auto mad = sma_->nextTrap(now))
        if (!isStuck_)
            sendSmpByLid(from, *mad, static_cast<std::uint16_t>(ports_[from].info(IB_PORT_SMLID_F)),
                         now);
}

void Node::onTime(Time now)
{
    for (Port &port : ports_)
        for (std::uint8_t vl = 0; vl < dataLanes && port.queues.waiting().any(); ++vl) {
            dropLate(port, vl, now);
            endHold(port, vl, now);
        }
    for (std::uint8_t port = 1; port <= portCount(); ++port)
        if (peers_[port] != nullptr) {
            peers_[port]->onTime(now);
            sendFromPeer(port, now);
        }
    sma_->onTime(now);
    sendTraps(now);
}

Time Node::deadline() const
{
    Time result = sma_->deadline();
    for (const Port &port : ports_)
        result = std::min(result, queuesDeadline(port));
    for (const IpoibPeer *peer : peers_)
        if (peer != nullptr)
            result = std::min(result, peer->deadline());
    return result;
}

void Node::setPeer(std::uint8_t port, IpoibPeer *peer, Time now)
{
    peers_[port] = peer;
    updatePeer(port, false, now);
}

void Node::updatePeer(std::uint8_t port, bool mustRejoin, Time now)
{
    if (peers_[port] == nullptr)
        return;
    const Port &at = ports_[port];
    peers_[port]->onPort({.isActive = at.state() == PortState::active,
                          .lid = at.lid(),
                          .smLid = static_cast<std::uint16_t>(at.info(IB_PORT_SMLID_F)),
                          .smSl = static_cast<std::uint8_t>(at.info(IB_PORT_SMSL_F)),
                          .gid = ib::makeGid(at.info64(IB_PORT_GID_PREFIX_F), at.guids[0])},
                         mustRejoin, now);
    sendFromPeer(port, now);
}

void Node::giveToPeer(std::uint8_t port, io::View packet, const PacketHeaders &headers, Time now)
{
    peers_[port]->receive(packet, headers, now);
    sendFromPeer(port, now, headers.lrh.vl);
}

// The port's own input waits for its output: the peer sends nothing but answers.
void Node::sendFromPeer(std::uint8_t port, Time now, std::uint8_t vl)
{
    for (auto &bytes : peers_[port]->takeOutput()) {
        auto headers = PacketHeaders::parse(bytes);
        headers->lrh.vl = vl;
        if (isStuck_ && headers->qpn == gsiQpn)
            continue;
        output(port, port, {.bytes = std::move(bytes)}, *headers, now);
    }
}

} // namespace openipoib::fabric
