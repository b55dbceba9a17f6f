// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "udp/address.hpp"

#include <charconv>

namespace openipoib::fabric
{

std::optional<UdpEnd> UdpEnd::parse(std::string_view text)
{
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    auto host = text.substr(0, colon);
    const auto digits = text.substr(colon + 1);
    UdpEnd result;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), result.port);
    if (error != std::errc{} || end != digits.end())
        return std::nullopt;
    const bool isBracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
    if (isBracketed)
        host = host.substr(1, host.size() - 2);
    // An IPv6 address without brackets could end with the port, or with a part of itself.
    if (isBracketed != host.contains(':') || host.find_first_of("[]= \t\n") != host.npos)
        return std::nullopt;
    result.host = host;
    return result;
}

std::expected<UdpEnds, std::string> UdpEnds::parse(std::string_view text)
{
    const auto equals = text.find('=');
    const auto here = text.substr(0, equals);
    const std::optional<UdpEnd> local = here.empty() ? UdpEnd{} : UdpEnd::parse(here);
    if (!local)
        return std::unexpected("expected udp:[LOCAL]:PORT, with an IPv6 address in brackets");
    UdpEnds result{.local = *local, .remote = {}};
    if (equals == std::string_view::npos) {
        if (local->port == 0)
            return std::unexpected("expected a port, or =REMOTE:PORT");
        return result;
    }
    result.remote = UdpEnd::parse(text.substr(equals + 1));
    if (!result.remote || result.remote->host.empty() || result.remote->port == 0)
        return std::unexpected("expected =REMOTE:PORT, with an IPv6 address in brackets");
    return result;
}

} // namespace openipoib::fabric
