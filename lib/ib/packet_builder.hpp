// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Builds one InfiniBand packet, right by default and wrong on request:
//
//   const io::Bytes good = PacketBuilder{}
//       .lrh({.dlid = 2, .slid = 1})
//       .bth({.qpn = 0x42})
//       .deth({.qkey = 0xb1b, .sourceQpn = 0x43})
//       .ipoib({.type = IpoibHeader::ipv4})
//       .payload(bytes)
//       .build();
//
// build() fills in what depends on other parts: LNH, packet length, pad
// count and pad bytes, GRH payload length, ICRC. The override*() calls
// replace one such value by a wrong one; the ICRC is computed after them, so
// that a packet is wrong in the intended way only.
#pragma once

#include "ib/bth.hpp"
#include "ib/deth.hpp"
#include "ib/grh.hpp"
#include "ib/ipoib.hpp"
#include "ib/lrh.hpp"
#include "io/bytes.hpp"

#include <cstdint>
#include <optional>

namespace openipoib::ib
{

class PacketBuilder
{
  public:
    PacketBuilder &lrh(const Lrh &header);
    PacketBuilder &grh(const Grh &header);
    PacketBuilder &bth(const Bth &header);
    PacketBuilder &deth(const Deth &header);
    PacketBuilder &ipoib(const IpoibHeader &header);
    // Append to the payload, after the IPoIB header if there is one.
    PacketBuilder &payload(io::View bytes);

    // Wrong values, in place of those that build() works out.
    PacketBuilder &overrideNext(LinkNext next);
    PacketBuilder &overrideWords(std::uint16_t words);
    PacketBuilder &overridePad(std::uint8_t pad);
    PacketBuilder &overrideGrhLength(std::uint16_t length);
    PacketBuilder &overrideIcrc(std::uint32_t icrc);
    // Cut the finished packet, ICRC and all, to this many bytes.
    PacketBuilder &truncate(std::size_t bytes);

    [[nodiscard]] io::Bytes build() const;

  private:
    Lrh lrh_{};
    std::optional<Grh> grh_;
    std::optional<Bth> bth_;
    std::optional<Deth> deth_;
    std::optional<IpoibHeader> ipoib_;
    io::Bytes payload_;
    std::optional<LinkNext> next_;
    std::optional<std::uint16_t> words_;
    std::optional<std::uint8_t> pad_;
    std::optional<std::uint16_t> grhLength_;
    std::optional<std::uint32_t> icrc_;
    std::optional<std::size_t> truncate_;
};

} // namespace openipoib::ib
