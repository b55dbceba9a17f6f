// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "wire/connected.hpp"

#include <algorithm>

namespace openipoib::wire
{

namespace
{

// Opcodes of the reliable and the unreliable connected service (IBA volume 1, table 38).
constexpr std::uint8_t connectedOpcodes = 0x40;
constexpr std::uint32_t firstPsns = 12;
constexpr std::uint32_t psnMask = 0xFF'FFFF;

ib::PacketBuilder builder(const Target &target, const Connected &what)
{
    return ib::PacketBuilder{}
        .lrh({.dlid = target.lid, .slid = target.ownLid})
        .bth({.opcode = what.opcode, .qpn = what.qpn, .acknowledge = true, .psn = what.psn})
        .payload(what.payload);
}

bool oneIn(std::mt19937_64 &random, std::uint64_t n)
{
    return random() % n == 0;
}

std::size_t payloadSize(std::mt19937_64 &random)
{
    constexpr std::size_t headers = 32;
    switch (random() % 4) {
    case 0:
        return random() % headers;
    case 1:
        return std::size_t{256} << random() % 5; // an MTU
    default:
        return random() % (4096 + headers);
    }
}

} // namespace

Shot connected(const Target &target, const Connected &what)
{
    return {.level = Shot::Level::packet, .bytes = builder(target, what).build()};
}

Shot fuzzed(const Target &target, std::span<const std::uint32_t> qpns, std::mt19937_64 &random)
{
    Connected what{.opcode = static_cast<std::uint8_t>(random() % connectedOpcodes),
                   .qpn = qpns[random() % qpns.size()],
                   .psn = static_cast<std::uint32_t>(random() % firstPsns),
                   .payload = io::Bytes(payloadSize(random))};
    std::ranges::generate(what.payload, [&random] { return static_cast<std::uint8_t>(random()); });
    if (oneIn(random, 16))
        what.opcode = static_cast<std::uint8_t>(random());
    if (oneIn(random, 4))
        what.psn = static_cast<std::uint32_t>(random()) & psnMask;
    auto packet = builder(target, what);
    if (oneIn(random, 16))
        packet.overridePad(static_cast<std::uint8_t>(random() % 4));
    if (oneIn(random, 16))
        packet.overrideWords(static_cast<std::uint16_t>(random() % 0x800));
    return {.level = Shot::Level::packet, .bytes = packet.build()};
}

} // namespace openipoib::wire
