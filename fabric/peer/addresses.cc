// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "peer/addresses.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace openipoib::fabric
{

namespace
{

constexpr std::size_t ipv4Size = 4;
constexpr std::size_t ipv6Size = 16;

struct Number {
    bool isIpv6;
    std::uint64_t prefix;
    std::uint64_t rest;
};

Number numberOf(io::View address)
{
    if (address.size() == ipv4Size)
        return {.isIpv6 = false, .prefix = 0, .rest = io::read<4>(address, 0)};
    return {.isIpv6 = true, .prefix = io::read<8>(address, 0), .rest = io::read<8>(address, 8)};
}

std::optional<io::Bytes> parseAddress(const std::string &text)
{
    const bool isIpv6 = text.find(':') != std::string::npos;
    io::Bytes bytes(isIpv6 ? ipv6Size : ipv4Size);
    if (inet_pton(isIpv6 ? AF_INET6 : AF_INET, text.c_str(), bytes.data()) != 1)
        return std::nullopt;
    return bytes;
}

bool isUnicast(io::View address)
{
    if (std::ranges::all_of(address, [](std::uint8_t byte) { return byte == 0; }))
        return false;
    constexpr std::uint8_t firstIpv4Multicast = 224;
    return address.front() < (address.size() == ipv4Size ? firstIpv4Multicast : 0xFF);
}

std::string textOf(const io::Bytes &address)
{
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(address.size() == ipv4Size ? AF_INET : AF_INET6, address.data(), text.data(),
              text.size());
    return text.data();
}

} // namespace

std::optional<AddressRange> AddressRange::parse(std::string_view text)
{
    const auto hyphen = text.find('-');
    const auto first = parseAddress(std::string(text.substr(0, hyphen)));
    const auto last = hyphen == std::string_view::npos
                          ? first
                          : parseAddress(std::string(text.substr(hyphen + 1)));
    if (!first || !last || !isUnicast(*first) || !isUnicast(*last))
        return std::nullopt;
    const Number from = numberOf(*first);
    const Number to = numberOf(*last);
    if (from.isIpv6 != to.isIpv6 || from.prefix != to.prefix || from.rest > to.rest)
        return std::nullopt;
    return AddressRange{
        .isIpv6 = from.isIpv6, .prefix = from.prefix, .first = from.rest, .last = to.rest};
}

io::Bytes AddressRange::address(std::uint64_t index) const
{
    io::Bytes out;
    if (!isIpv6) {
        io::append<4>(out, first + index);
        return out;
    }
    io::append<8>(out, prefix);
    io::append<8>(out, first + index);
    return out;
}

std::string AddressRange::text() const
{
    const std::string from = textOf(address(0));
    return first == last ? from : from + "-" + textOf(address(last - first));
}

std::uint64_t Addresses::count() const
{
    std::uint64_t sum = 0;
    for (const AddressRange &range : ranges_)
        sum += range.count();
    return sum;
}

std::optional<std::string> Addresses::refusal(const AddressRange &range) const
{
    std::uint64_t ipv6 = 0;
    for (const AddressRange &other : ranges_) {
        if (other.overlaps(range))
            return "it has some of these addresses already";
        ipv6 += other.isIpv6 ? other.count() : 0;
    }
    // Differences, since a range may have nearly 2^64 addresses.
    if (range.last - range.first >= most - count())
        return "more than " + std::to_string(most) + " addresses";
    if (range.isIpv6 && ipv6 + range.count() > mostIpv6)
        return "more than " + std::to_string(mostIpv6) + " IPv6 addresses";
    return std::nullopt;
}

std::optional<std::uint32_t> Addresses::qpn(io::View address) const
{
    const Number number = numberOf(address);
    std::uint64_t qpn = firstQpn;
    for (const AddressRange &range : ranges_) {
        if (range.isIpv6 == number.isIpv6 && range.prefix == number.prefix &&
            range.first <= number.rest && number.rest <= range.last)
            return static_cast<std::uint32_t>(qpn + number.rest - range.first);
        qpn += range.count();
    }
    return std::nullopt;
}

} // namespace openipoib::fabric
