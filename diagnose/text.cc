// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "diagnose/text.hpp"

#include "conf/diagnostic.hpp"
#include "diagnose/hardware.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>

namespace openipoib::diagnose
{

std::string addressText(io::View address)
{
    std::array<char, INET6_ADDRSTRLEN> out{};
    const int family = address.size() == sizeof(in_addr) ? AF_INET : AF_INET6;
    if ((family == AF_INET6 && address.size() != sizeof(in6_addr)) ||
        !::inet_ntop(family, address.data(), out.data(), out.size()))
        return "?";
    return out.data();
}

std::string gidText(io::View gid)
{
    return gid.size() == sizeof(in6_addr) ? addressText(gid) : "?";
}

std::uint64_t guidOf(io::View gid)
{
    return gid.size() == sizeof(ib::Gid) ? io::read<8>(gid, prefixBytes) : 0;
}

io::Bytes gidIn(const std::string &text)
{
    io::Bytes bytes;
    for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
        std::uint8_t byte = 0;
        const auto [stop, error] =
            std::from_chars(text.data() + at, text.data() + at + 2, byte, 16);
        if (error != std::errc{} || stop != text.data() + at + 2)
            return {};
        bytes.push_back(byte);
    }
    return bytes.size() == sizeof(in6_addr) ? bytes : io::Bytes{};
}

std::string descriptionText(std::string_view octets)
{
    constexpr std::size_t longest = 256; // of 64 octets, each "\\xff"
    return conf::printable(octets.substr(0, octets.find('\0')), longest);
}

std::string pkeyText(std::uint16_t pkey)
{
    return fmt::format("0x{:04x}", pkey);
}

std::string errorText(int code)
{
    return std::generic_category().message(code);
}

unsigned mtuOf(std::uint8_t code)
{
    constexpr std::uint8_t least = 1, most = 5;
    return code >= least && code <= most ? 128U << code : 0;
}

unsigned ipMtuOf(std::uint8_t code)
{
    constexpr unsigned headerBytes = 4;
    const unsigned mtu = mtuOf(code);
    return mtu > headerBytes ? mtu - headerBytes : 0;
}

unsigned rateOf(std::uint8_t code)
{
    // As sysfs names links of these rates: from 14 Gb/s on they carry a little more.
    constexpr std::array<unsigned, 26> nominal{
        0,      0,      2500,  10000,  30000,  5000,   20000,   40000,   60000,
        80000,  120000, 14000, 56000,  112000, 168000, 25000,   100000,  200000,
        300000, 28000,  50000, 400000, 600000, 800000, 1200000, 1600000,
    };
    return code < nominal.size() ? nominal.at(code) : 0;
}

unsigned rateIn(const std::string &text)
{
    double gbit = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), gbit);
    constexpr double most = 1e6;
    return error == std::errc{} && gbit > 0 && gbit < most ? static_cast<unsigned>(gbit * 1000) : 0;
}

std::string rateText(unsigned mbit)
{
    return mbit % 1000 ? fmt::format("{:.1f} Gb/s", mbit / 1000.0)
                       : fmt::format("{} Gb/s", mbit / 1000);
}

} // namespace openipoib::diagnose
