// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/fabric.hpp"

#include "diagnose/hardware.hpp"
#include "diagnose/text.hpp"
#include "ib/fields.hpp"
#include "ib/lrh.hpp"
#include "ib/smp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

namespace openipoib::diagnose
{

namespace
{

constexpr std::chrono::milliseconds nearPatience{300};
constexpr std::chrono::milliseconds fabricPatience{600};
constexpr std::uint8_t switchType = 2;
constexpr MadTarget directed{.lid = ib::permissiveLid, .qpn = 0};

// As sysfs calls them
constexpr std::array<std::pair<std::string_view, MAD_FIELDS>, 7> farCounters{{
    {"symbol_error", IB_PC_ERR_SYM_F},
    {"link_error_recovery", IB_PC_LINK_RECOVERS_F},
    {"link_downed", IB_PC_LINK_DOWNED_F},
    {"port_rcv_errors", IB_PC_ERR_RCV_F},
    {"local_link_integrity_errors", IB_PC_ERR_LOCALINTEG_F},
    {"excessive_buffer_overrun_errors", IB_PC_ERR_EXCESS_OVR_F},
    {"port_xmit_discards", IB_PC_XMT_DISCARDS_F},
}};

Answer answerOf(const io::Result<io::Bytes> &mad)
{
    if (!mad)
        return {.reply = mad.error().code == ETIMEDOUT ? Reply::silent : Reply::unasked};
    const std::uint16_t status = ib::smpStatus(*mad);
    return {.reply = status ? Reply::refused : Reply::answered, .status = status};
}

// What an answer holds behind its header; nullopt: none, or it refuses.
std::optional<io::Bytes> dataIn(const io::Result<io::Bytes> &mad, Answer *into = nullptr)
{
    const Answer answer = answerOf(mad);
    if (into)
        *into = answer;
    if (answer.reply != Reply::answered)
        return std::nullopt;
    return io::Bytes(mad->begin() + ib::smpDataAt, mad->end());
}

PortInfo portInfoIn(io::View data)
{
    const auto get = [&](MAD_FIELDS field) { return ib::getField(data, field); };
    return {.lid = get(IB_PORT_LID_F),
            .mkey = ib::getField64(data, IB_PORT_MKEY_F),
            .mkeyProtection = get(IB_PORT_MKEY_PROT_BITS_F),
            .widthEnabled = get(IB_PORT_LINK_WIDTH_ENABLED_F),
            .widthActive = get(IB_PORT_LINK_WIDTH_ACTIVE_F),
            .speedEnabled = get(IB_PORT_LINK_SPEED_ENABLED_F),
            .speedActive = get(IB_PORT_LINK_SPEED_ACTIVE_F),
            .lanes = get(IB_PORT_OPER_VLS_F)};
}

// Whether the answer may be another one a second later
bool mayChange(const Group &group)
{
    return group.isMissing() || group.asked.reply == Reply::silent ||
           group.asked.reply == Reply::unasked;
}

// ff02::1 in the partition and scope of a broadcast group
ib::Gid allNodesOf(const ib::Gid &broadcast)
{
    return ib::makeIpoibMgid(ib::ipoibIpv6, static_cast<std::uint16_t>(io::read<2>(broadcast, 4)),
                             1, broadcast[1] & 0xF);
}

} // namespace

MadTarget administrationOf(const Port &port)
{
    constexpr std::uint64_t wellKnownGuid = 0x0200'0000'0000'0002; // of whatever port the SA is at
    MadTarget target{.lid = static_cast<std::uint16_t>(port.smLid),
                     .sl = static_cast<std::uint8_t>(port.smSl)};
    if (const io::Bytes own = gidIn(port.shown.gid); port.needsGrh && !own.empty())
        target.gid = ib::makeGid(io::read<8>(own, 0), wellKnownGuid);
    return target;
}

Fabric::Fabric(Facts &facts)
{
    for (const auto &port : facts.ports) {
        auto opened = MadPort::open(port.hca, port.shown.number);
        if (opened)
            legs_.push_back({.index = static_cast<std::size_t>(&port - facts.ports.data()),
                             .port = std::move(*opened)});
        else
            facts.unseen.push_back({fmt::format("subnet manager and groups of {}", port.name()),
                                    opened.error().text()});
    }
}

std::optional<io::Bytes> Fabric::near(Leg &leg, const NearQuestion &question, Answer *answer)
{
    MadTarget target = directed;
    if (question.isFirst)
        target.sends = 1;
    const io::Bytes mad =
        ib::directedQuestion(question.attribute, question.modifier, question.route, ++transaction_);
    return dataIn(leg.port.ask(mad, target, nearPatience), answer);
}

std::optional<io::Bytes> Fabric::administration(Leg &leg, const Port &port,
                                                const Question &question, Answer &answer)
{
    constexpr unsigned turns = 3;
    constexpr std::chrono::milliseconds pause{100};
    answer = {};
    for (unsigned turn = 0; turn < turns && !leg.isMute; ++turn) {
        if (turn > 0)
            std::this_thread::sleep_for(pause);
        const auto mad =
            leg.port.ask(question(++transaction_), administrationOf(port), fabricPatience);
        answer = answerOf(mad);
        leg.isMute = answer.reply == Reply::silent;
        if (answer.reply == Reply::answered)
            return *mad;
        if (!answer.isBusy())
            break;
    }
    return std::nullopt;
}

void Fabric::askFarEnd(Leg &leg, Port &port)
{
    const std::array route{static_cast<std::uint8_t>(port.shown.number)};
    const auto node =
        near(leg, {.attribute = ib::SmpAttribute::nodeInfo, .route = route, .isFirst = true});
    if (!node)
        return;
    const auto number = static_cast<std::uint8_t>(ib::getField(*node, IB_NODE_LOCAL_PORT_F));
    const bool isSwitch = ib::getField(*node, IB_NODE_TYPE_F) == switchType;
    FarEnd &far = port.far.emplace();
    std::string name = isSwitch ? "a switch" : "a host";
    if (const auto words =
            near(leg, {.attribute = ib::SmpAttribute::nodeDescription, .route = route})) {
        const std::string octets(words->begin(), words->begin() + IB_SMP_DATA_SIZE);
        name = fmt::format("\"{}\"", descriptionText(octets));
    }
    far.description = fmt::format("{} port {}", name, number);
    if (const auto info = near(
            leg, {.attribute = ib::SmpAttribute::portInfo, .modifier = number, .route = route}))
        far.info = portInfoIn(*info);
    // A switch has its LID at port 0.
    const auto zero = isSwitch
                          ? near(leg, {.attribute = ib::SmpAttribute::portInfo, .route = route})
                          : std::nullopt;
    const unsigned lid = zero ? portInfoIn(*zero).lid : far.info ? far.info->lid : 0;
    // Enough to know whether a table of neighbours can hold all: no table of a large subnet need
    // come for that.
    if (const auto info =
            isSwitch ? near(leg, {.attribute = ib::SmpAttribute::switchInfo, .route = route})
                     : std::nullopt)
        port.lids = ib::getField(*info, IB_SW_LINEAR_FDB_TOP_F);
    leg.farLid = static_cast<std::uint16_t>(lid);
    leg.farPort = number;
}

void Fabric::sampleFarEnd(Leg &leg, FarEnd &far, Sample sample)
{
    if (leg.farLid == 0)
        return;
    io::Bytes mad;
    ib::Mad{.mgmtClass = ib::MgmtClass::perf,
            .transaction = ++transaction_,
            .attribute = IB_GSI_PORT_COUNTERS}
        .appendTo(mad);
    mad[IB_PC_DATA_OFFS + 1] = leg.farPort;
    const auto data = dataIn(leg.port.ask(mad, {.lid = leg.farLid}, fabricPatience));
    if (!data)
        return;
    auto &into = far.counters.at(sample);
    for (const auto &[name, field] : farCounters)
        into[std::string(name)] = ib::getField(*data, field);
}

// One that has a single lane need not have the table.
void Fabric::askLanes(Leg &leg, Port &port)
{
    const auto data = near(leg, {.attribute = ib::SmpAttribute::slToVl});
    if (!data)
        return;
    LaneTable &lanes = port.lanes.emplace();
    for (std::size_t level = 0; level < lanes.size(); ++level)
        lanes.at(level) = io::bits<std::uint8_t>((*data)[level / 2], level % 2 ? 0 : 4, 4);
}

void Fabric::askManager(Leg &leg, Port &port)
{
    Answer &answer = port.manager.administration;
    const auto start = std::chrono::steady_clock::now();
    (void)administration(
        leg, port, [](std::uint64_t id) { return ib::saRequest({.transaction = id}); }, answer);
    if (answer.reply != Reply::answered)
        return;
    port.manager.heard =
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
    if (port.smLid == port.shown.lid)
        port.manager.guid = guidOf(gidIn(port.shown.gid));
    else if (const auto info = dataIn(leg.port.ask(
                 ib::lidQuestion(ib::SmpAttribute::smInfo, 0, ++transaction_),
                 {.lid = static_cast<std::uint16_t>(port.smLid), .qpn = 0}, fabricPatience)))
        port.manager.guid = ib::getField64(*info, IB_SMINFO_GUID_F);
    askOwner(leg, port);
}

// A virtual function has the LID of its adapter's port, which the SA knows its GID by.
void Fabric::askOwner(Leg &leg, Port &port)
{
    Answer ignored;
    const auto lid = static_cast<std::uint16_t>(port.shown.lid);
    const io::Bytes own = gidIn(port.shown.gid);
    if (lid == 0 || own.empty())
        return;
    if (const auto owner = administration(
            leg, port, [&](std::uint64_t id) { return ib::NodeRecord::question(lid, id); },
            ignored))
        port.lidOwner = ib::NodeRecord::parse(*owner);
    if (!port.lidOwner || port.lidOwner->portGuid == guidOf(own) || port.pkeys.empty())
        return;
    port.lidOwner->description = descriptionText(port.lidOwner->description);
    ib::PathRecord wanted{.pkey = port.pkeys.front()};
    std::ranges::copy(own, wanted.dgid.begin());
    wanted.sgid = wanted.dgid;
    const auto path = administration(
        leg, port, [&](std::uint64_t id) { return wanted.question(id); }, ignored);
    if (const auto record = path ? ib::PathRecord::parse(*path) : std::nullopt)
        port.knownLid = record->dlid;
}

Group Fabric::askGroup(Leg &leg, const Port &port, const ib::Gid &mgid)
{
    Group group;
    const auto mad = administration(
        leg, port, [&](std::uint64_t id) { return ib::MemberRecord::question(mgid, id); },
        group.asked);
    if (!mad)
        return group;
    if (const auto answer = ib::MemberAnswer::parse(*mad))
        group.record = answer->record;
    return group;
}

void Fabric::ask(Facts &facts)
{
    for (auto &leg : legs_) {
        Port &port = facts.ports[leg.index];
        if (const auto info = near(leg,
                                   {.attribute = ib::SmpAttribute::portInfo,
                                    .modifier = port.shown.number,
                                    .isFirst = true},
                                   &port.asked))
            port.info = portInfoIn(*info);
        if (!port.isActive())
            continue;
        if (port.info)
            askLanes(leg, port);
        askFarEnd(leg, port);
        if (port.far)
            sampleFarEnd(leg, *port.far, Sample::before);
        if (port.smLid != 0)
            askSubnet(leg, port, facts);
    }
}

void Fabric::askSubnet(Leg &leg, Port &port, Facts &facts)
{
    askManager(leg, port);
    for (auto &interface : facts.interfaces) {
        const auto broadcast = interface.mgid();
        if (port.manager.administration.reply != Reply::answered || !broadcast ||
            facts.portOf(interface) != &port)
            continue;
        interface.broadcast = askGroup(leg, port, *broadcast);
        interface.allNodes = askGroup(leg, port, allNodesOf(*broadcast));
    }
}

void Fabric::askAgain(Facts &facts)
{
    for (auto &leg : legs_) {
        Port &port = facts.ports[leg.index];
        if (port.far)
            sampleFarEnd(leg, *port.far, Sample::after);
        leg.isMute = false;
        if (port.manager.administration.reply == Reply::silent)
            askSubnet(leg, port, facts);
        else if (port.manager.administration.reply == Reply::answered)
            askGroupsAgain(leg, port, facts);
        if (leg.isMute && port.manager.administration.reply == Reply::answered)
            facts.unseen.push_back({fmt::format("some groups of {}", port.name()),
                                    "the subnet manager has stopped answering"});
    }
}

void Fabric::askGroupsAgain(Leg &leg, const Port &port, Facts &facts)
{
    for (auto &interface : facts.interfaces) {
        const auto broadcast = interface.mgid();
        if (facts.portOf(interface) != &port || !broadcast)
            continue;
        if (mayChange(interface.broadcast))
            interface.broadcast = askGroup(leg, port, *broadcast);
        if (mayChange(interface.allNodes))
            interface.allNodes = askGroup(leg, port, allNodesOf(*broadcast));
    }
}

void Fabric::askPath(Facts &facts)
{
    Peer &peer = *facts.peer;
    const Interface *interface = facts.interface(peer.interface);
    const Port *port = interface ? facts.portOf(*interface) : nullptr;
    const io::View there = peer.neighbour ? gidOf(peer.neighbour->hardware) : io::View();
    if (!port || there.empty() || port->manager.administration.reply != Reply::answered)
        return;
    ib::PathRecord wanted{.pkey = interface->partition()};
    std::ranges::copy(there, wanted.dgid.begin());
    std::ranges::copy(interface->link.gid(), wanted.sgid.begin());
    for (auto &leg : legs_) {
        if (&facts.ports[leg.index] != port)
            continue;
        constexpr unsigned turns = 2;
        for (unsigned turn = 0; turn < turns; ++turn) {
            leg.isMute = false;
            if (const auto mad = administration(
                    leg, *port, [&](std::uint64_t id) { return wanted.question(id); },
                    peer.pathAsked))
                peer.path = ib::PathRecord::parse(*mad);
            if (peer.pathAsked.reply != Reply::silent)
                break;
        }
    }
}

} // namespace openipoib::diagnose
