// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "fleet/subnet_manager.hpp"

#include "fleet/put.hpp"
#include "ib/gid.hpp"
#include "ib/mad.hpp"
#include "ib/packet_builder.hpp"
#include "ib/sma.hpp"

namespace openipoib::fleet
{

namespace
{

using namespace std::chrono_literals;

constexpr auto sendAgain = 500ms;
constexpr std::uint16_t portInfo = 0x15;
constexpr std::uint16_t directionBit = 0x8000;
constexpr std::uint16_t oneHop = 0x0101; // hop pointer and count, at the other end
constexpr std::size_t directedLidsAt = 32;
constexpr std::size_t dataAt = 64;
constexpr std::size_t initialPathAt = 128;
constexpr std::uint8_t vl15 = 15;
constexpr std::uint8_t mtu4096 = 5;
constexpr std::uint8_t reregister = 0x80;
constexpr std::uint8_t subnetTimeout = 18;

} // namespace

void SubnetManager::begin()
{
    step_ = Step::arm;
    sendAt_ = {};
}

void SubnetManager::takeOver()
{
    ++lid_;
    step_ = Step::announce;
    ++transaction_;
    sendAt_ = {};
}

// IBA volume 1, section 14.2.5.6. Zeroes change nothing.
io::Bytes SubnetManager::setPortInfo() const
{
    ib::PortState state{};
    if (step_ == Step::arm)
        state = ib::PortState::armed;
    if (step_ == Step::activate)
        state = ib::PortState::active;
    io::Bytes mad;
    ib::Mad{.mgmtClass = ib::MgmtClass::subnDirected,
            .method = ib::Method::set,
            .classSpecific = oneHop,
            .transaction = transaction_,
            .attribute = portInfo,
            .modifier = 1}
        .appendTo(mad);
    put<2>(mad, directedLidsAt, ib::permissiveLid);
    put<2>(mad, directedLidsAt + 2, ib::permissiveLid);
    put<1>(mad, initialPathAt + 1, 1);
    put<8>(mad, dataAt + 8, ib::defaultPrefix);
    put<2>(mad, dataAt + 16, portLid);
    put<2>(mad, dataAt + 18, lid_);
    put<1>(mad, dataAt + 32, static_cast<std::uint8_t>(state));
    put<1>(mad, dataAt + 36, mtu4096 << 4);
    put<1>(mad, dataAt + 43, 1 << 4); // VL0 alone
    put<1>(mad, dataAt + 51, subnetTimeout | (step_ == Step::announce ? reregister : 0));
    return mad;
}

std::optional<io::Bytes> SubnetManager::due(Time now)
{
    if (step_ == Step::idle || step_ == Step::done || now < sendAt_)
        return std::nullopt;
    sendAt_ = now + sendAgain;
    return ib::PacketBuilder{}
        .lrh({.vl = vl15, .dlid = ib::permissiveLid, .slid = ib::permissiveLid})
        .bth({.qpn = 0})
        .deth({.qkey = 0, .sourceQpn = 0})
        .payload(setPortInfo())
        .build();
}

void SubnetManager::receive(io::View in)
{
    const auto mad = ib::Mad::parse(in);
    if (!mad || mad->method != ib::Method::getResp || mad->transaction != transaction_ ||
        (mad->status & ~directionBit) != 0)
        return;
    ++transaction_;
    sendAt_ = {};
    step_ = step_ == Step::arm ? Step::activate : Step::done;
}

} // namespace openipoib::fleet
