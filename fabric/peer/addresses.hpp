// SPDX-License-Identifier: GPL-2.0-only OR MIT
// The IP addresses of an emulated peer: ranges of them, and the queue pair that each
// address has for itself.
#pragma once

#include "io/bytes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace openipoib::fabric
{

// Addresses that follow one another, of one family.
struct AddressRange {
    bool isIpv6 = false;
    std::uint64_t prefix = 0; // the upper 64 bits of an IPv6 address
    std::uint64_t first = 0;  // the others
    std::uint64_t last = 0;

    // "10.0.0.1", "fd00::1", or two of them with a hyphen between.
    [[nodiscard]] static std::optional<AddressRange> parse(std::string_view text);

    [[nodiscard]] std::uint64_t count() const { return last - first + 1; }
    // As many bytes as an address of the family has.
    [[nodiscard]] io::Bytes address(std::uint64_t index) const;
    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool overlaps(const AddressRange &other) const
    {
        return isIpv6 == other.isIpv6 && prefix == other.prefix && first <= other.last &&
               other.first <= last;
    }
};

class Addresses
{
  public:
    static constexpr std::uint32_t firstQpn = 0x100;
    static constexpr std::uint64_t most = 1U << 20;
    // Each wants a multicast group, and a fabric has some thousands of them.
    static constexpr std::uint64_t mostIpv6 = 1024;

    // Why a range cannot be added; nullopt if it can.
    [[nodiscard]] std::optional<std::string> refusal(const AddressRange &range) const;
    void add(const AddressRange &range) { ranges_.push_back(range); }

    // The queue pair of an address of 4 or 16 bytes; nullopt if it is none of these.
    [[nodiscard]] std::optional<std::uint32_t> qpn(io::View address) const;
    [[nodiscard]] const std::vector<AddressRange> &ranges() const { return ranges_; }
    [[nodiscard]] std::uint64_t count() const;

  private:
    std::vector<AddressRange> ranges_;
};

} // namespace openipoib::fabric
