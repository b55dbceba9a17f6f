// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "node/pma.hpp"

#include "ib/mad.hpp"

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

constexpr std::uint16_t classPortInfo = 0x01;
constexpr std::uint8_t allPorts = 0xFF;
constexpr std::size_t dataAt = IB_PC_DATA_OFFS;
constexpr std::size_t methodAt = 3;
// Capabilities: AllPortSelect, extended width, PortXmitWait.
constexpr std::uint32_t capabilities = 0x0100 | 0x0200 | 0x1000;
constexpr std::uint32_t responseTime = 18;
constexpr std::uint64_t unitOfData = 4;

struct Field {
    Counter counter;
    MAD_FIELDS field;
    unsigned bits;
    unsigned select; // bit of CounterSelect; 16: of CounterSelect2
};

constexpr std::array<Field, 17> classicFields{
    {{Counter::symbolError, IB_PC_ERR_SYM_F, 16, 0},
     {Counter::linkRecovery, IB_PC_LINK_RECOVERS_F, 8, 1},
     {Counter::linkDowned, IB_PC_LINK_DOWNED_F, 8, 2},
     {Counter::rcvErrors, IB_PC_ERR_RCV_F, 16, 3},
     {Counter::rcvRemotePhysical, IB_PC_ERR_PHYSRCV_F, 16, 4},
     {Counter::rcvSwitchRelay, IB_PC_ERR_SWITCH_REL_F, 16, 5},
     {Counter::xmitDiscards, IB_PC_XMT_DISCARDS_F, 16, 6},
     {Counter::xmitConstraint, IB_PC_ERR_XMTCONSTR_F, 8, 7},
     {Counter::rcvConstraint, IB_PC_ERR_RCVCONSTR_F, 8, 8},
     {Counter::localIntegrity, IB_PC_ERR_LOCALINTEG_F, 4, 9},
     {Counter::bufferOverrun, IB_PC_ERR_EXCESS_OVR_F, 4, 10},
     {Counter::vl15Dropped, IB_PC_VL15_DROPPED_F, 16, 11},
     {Counter::xmitData, IB_PC_XMT_BYTES_F, 32, 12},
     {Counter::rcvData, IB_PC_RCV_BYTES_F, 32, 13},
     {Counter::xmitPackets, IB_PC_XMT_PKTS_F, 32, 14},
     {Counter::rcvPackets, IB_PC_RCV_PKTS_F, 32, 15},
     {Counter::xmitWait, IB_PC_XMT_WAIT_F, 32, 16}}};

constexpr std::array<Field, 8> extendedFields{
    {{Counter::xmitData, IB_PC_EXT_XMT_BYTES_F, 64, 0},
     {Counter::rcvData, IB_PC_EXT_RCV_BYTES_F, 64, 1},
     {Counter::xmitPackets, IB_PC_EXT_XMT_PKTS_F, 64, 2},
     {Counter::rcvPackets, IB_PC_EXT_RCV_PKTS_F, 64, 3},
     {Counter::unicastXmit, IB_PC_EXT_XMT_UPKTS_F, 64, 4},
     {Counter::unicastRcv, IB_PC_EXT_RCV_UPKTS_F, 64, 5},
     {Counter::multicastXmit, IB_PC_EXT_XMT_MPKTS_F, 64, 6},
     {Counter::multicastRcv, IB_PC_EXT_RCV_MPKTS_F, 64, 7}}};

std::uint64_t unit(Counter counter)
{
    return counter == Counter::xmitData || counter == Counter::rcvData ? unitOfData : 1;
}

std::uint64_t most(const Field &field)
{
    return field.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << field.bits) - 1;
}

std::uint64_t readField(io::View data, const Field &field)
{
    return field.bits == 64 ? getField64(data, field.field) : getField(data, field.field);
}

void writeField(std::span<std::uint8_t> data, const Field &field, std::uint64_t value)
{
    if (field.bits == 64)
        setField64(data, field.field, value);
    else
        setField(data, field.field, static_cast<std::uint32_t>(value));
}

void writeClassPortInfo(std::span<std::uint8_t> data)
{
    std::ranges::fill(data, std::uint8_t{0});
    setField(data, IB_CPI_BASEVER_F, 1);
    setField(data, IB_CPI_CLASSVER_F, 1);
    setField(data, IB_CPI_CAPMASK_F, capabilities);
    setField(data, IB_CPI_RESP_TIME_VALUE_F, responseTime);
}

} // namespace

std::vector<unsigned> Pma::selectedPorts(unsigned select) const
{
    std::vector<unsigned> ports;
    for (unsigned port = 0; port < bases_.size(); ++port)
        if ((select == allPorts ? port != 0 : port == select) && find_(port) != nullptr)
            ports.push_back(port);
    return ports;
}

// All ports together are their sum.
MadStatus Pma::counters(std::span<std::uint8_t> mad, bool isSet, bool isExtended)
{
    const auto data = mad.subspan(dataAt);
    const std::span<const Field> fields =
        isExtended ? std::span<const Field>(extendedFields) : std::span<const Field>(classicFields);
    const unsigned select = data[1];
    const auto ports = selectedPorts(select);
    if (ports.empty())
        return MadStatus::badField;
    const std::uint32_t which = getField(data, IB_PC_COUNTER_SELECT_F);
    const std::uint32_t more = isExtended ? 0 : data[18] & 1U;
    const io::Bytes wanted(data.begin(), data.end());
    std::ranges::fill(data, std::uint8_t{0});
    data[1] = static_cast<std::uint8_t>(select);
    setField(data, IB_PC_COUNTER_SELECT_F, which);
    if (!isExtended)
        data[18] = static_cast<std::uint8_t>(more);
    for (const Field &field : fields) {
        std::uint64_t sum = 0;
        for (const unsigned port : ports) {
            auto &bases = isExtended ? bases_[port].extended : bases_[port].classic;
            auto &base = bases[static_cast<std::size_t>(field.counter)];
            const std::uint64_t value = find_(port)->get(field.counter) / unit(field.counter);
            if (isSet && ((which | more << 16) >> field.select & 1) != 0)
                base = value - readField(wanted, field);
            sum += value - base;
        }
        writeField(data, field, std::min(sum, most(field)));
    }
    return MadStatus::ok;
}

void Pma::answer(std::span<std::uint8_t> mad)
{
    const auto header = ib::Mad::parse(mad);
    const bool isSet = header->method == ib::Method::set;
    MadStatus status = MadStatus::badAttribute;
    if (header->baseVersion != 1 || header->classVersion != 1) {
        status = MadStatus::badVersion;
    } else if (header->attribute == classPortInfo) {
        status = isSet ? MadStatus::badMethod : MadStatus::ok;
        if (!isSet)
            writeClassPortInfo(mad.subspan(dataAt));
    } else if (header->attribute == IB_GSI_PORT_COUNTERS ||
               header->attribute == IB_GSI_PORT_COUNTERS_EXT) {
        status = counters(mad, isSet, header->attribute == IB_GSI_PORT_COUNTERS_EXT);
    }
    mad[methodAt] = static_cast<std::uint8_t>(ib::Method::getResp);
    setField(mad, IB_MAD_STATUS_F, static_cast<std::uint32_t>(status));
}

} // namespace openipoib::fabric
