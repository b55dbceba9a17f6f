// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/address.hpp"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <array>
#include <charconv>

namespace openipoib::netlink
{

namespace
{

std::uint8_t bitsOf(std::uint8_t family)
{
    return family == AF_INET ? 32 : 128;
}

io::Bytes bytes(const nlattr *attribute)
{
    if (!attribute)
        return {};
    const auto *start = static_cast<const std::uint8_t *>(nla_data(attribute));
    return {start, start + nla_len(attribute)};
}

// IFA_PROTO, since Linux 5.18, which not all headers have
constexpr int addressProtocol = 11;

using Table = std::array<nlattr *, addressProtocol + 1>;

Message message(int type, int flags, const Address &address)
{
    Message out(type, flags);
    ifaddrmsg fixed{};
    fixed.ifa_family = address.family;
    fixed.ifa_prefixlen = address.prefix;
    fixed.ifa_scope = address.scope;
    fixed.ifa_index = static_cast<unsigned>(address.index);
    out.header(fixed);
    out.put(IFA_LOCAL, io::View(address.local));
    // Of a point-to-point link the other end, else the address itself
    out.put(IFA_ADDRESS, io::View(address.peer.empty() ? address.local : address.peer));
    return out;
}

std::string numberText(std::uint8_t family, const io::Bytes &number)
{
    std::array<char, INET6_ADDRSTRLEN> out{};
    if (number.size() != bitsOf(family) / 8U ||
        !::inet_ntop(family, number.data(), out.data(), out.size()))
        return "?";
    return out.data();
}

void parseAttributes(const Table &table, Address &address)
{
    if (table[IFA_FLAGS] && nla_len(table[IFA_FLAGS]) >= 4)
        address.flags = nla_get_u32(table[IFA_FLAGS]);
    if (table[IFA_RT_PRIORITY] && nla_len(table[IFA_RT_PRIORITY]) >= 4)
        address.metric = nla_get_u32(table[IFA_RT_PRIORITY]);
    if (table[addressProtocol] && nla_len(table[addressProtocol]) >= 1)
        address.protocol = nla_get_u8(table[addressProtocol]);
    for (const auto c : bytes(table[IFA_LABEL]))
        if (c)
            address.label += static_cast<char>(c);
    ifa_cacheinfo times{};
    if (table[IFA_CACHEINFO] && nla_len(table[IFA_CACHEINFO]) >= static_cast<int>(sizeof times)) {
        nla_memcpy(&times, table[IFA_CACHEINFO], sizeof times);
        address.valid = times.ifa_valid;
        address.preferred = times.ifa_prefered;
    }
}

} // namespace

std::string Address::text() const
{
    std::string out = numberText(family, local);
    if (!peer.empty())
        out += " peer " + numberText(family, peer);
    return out + "/" + std::to_string(prefix);
}

bool Address::isWhole() const
{
    const std::size_t size = bitsOf(family) / 8U;
    const auto isNumber = [size](const io::Bytes &one) {
        return one.empty() || one.size() == size;
    };
    return local.size() == size && isNumber(peer) && isNumber(broadcast) &&
           prefix <= bitsOf(family);
}

std::optional<Address> parseAddress(const std::string &text)
{
    const auto slash = text.find('/');
    const std::string number = text.substr(0, slash);
    Address address;
    std::array<std::uint8_t, 16> binary{};
    if (::inet_pton(AF_INET, number.c_str(), binary.data()) == 1)
        address.family = AF_INET;
    else if (::inet_pton(AF_INET6, number.c_str(), binary.data()) == 1)
        address.family = AF_INET6;
    else
        return std::nullopt;
    address.local.assign(binary.begin(), binary.begin() + bitsOf(address.family) / 8);
    address.prefix = bitsOf(address.family);
    if (slash != std::string::npos) {
        const char *stop = text.data() + text.size();
        const auto [at, error] = std::from_chars(text.data() + slash + 1, stop, address.prefix);
        if (error != std::errc{} || at != stop || address.prefix > bitsOf(address.family))
            return std::nullopt;
    }
    return address;
}

std::optional<Address> parseAddress(const nlmsghdr *answer)
{
    auto *header = const_cast<nlmsghdr *>(answer); // libnl reads only
    Table table{};
    if (header->nlmsg_type != RTM_NEWADDR ||
        nlmsg_parse(header, sizeof(ifaddrmsg), table.data(), addressProtocol, nullptr) < 0)
        return std::nullopt;
    const auto *fixed = static_cast<const ifaddrmsg *>(nlmsg_data(header));
    if (fixed->ifa_family != AF_INET && fixed->ifa_family != AF_INET6)
        return std::nullopt;
    Address address;
    address.index = static_cast<int>(fixed->ifa_index);
    address.family = fixed->ifa_family;
    address.prefix = fixed->ifa_prefixlen;
    address.scope = fixed->ifa_scope;
    address.flags = fixed->ifa_flags;
    // Of a point-to-point link IFA_ADDRESS is the other end.
    const io::Bytes end = bytes(table[IFA_ADDRESS]);
    address.local = table[IFA_LOCAL] ? bytes(table[IFA_LOCAL]) : end;
    if (end != address.local)
        address.peer = end;
    address.broadcast = bytes(table[IFA_BROADCAST]);
    if (!address.isWhole())
        return std::nullopt;
    parseAttributes(table, address);
    return address;
}

io::Result<std::vector<Address>> addresses(Socket &socket)
{
    std::vector<Address> all;
    Message request(RTM_GETADDR, 0);
    request.header(ifaddrmsg{});
    const auto done = socket.dump(
        request, "list of addresses",
        [&all](nlmsghdr *answer) {
            if (auto address = parseAddress(answer))
                all.push_back(std::move(*address));
        },
        [&all] { all.clear(); });
    if (!done)
        return std::unexpected(done.error());
    return all;
}

io::Result<void> addAddress(Socket &socket, const Address &address)
{
    Message out = message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, address);
    if (!address.broadcast.empty())
        out.put(IFA_BROADCAST, io::View(address.broadcast));
    if (address.metric)
        out.put(IFA_RT_PRIORITY, address.metric);
    if (address.protocol)
        out.put(addressProtocol, address.protocol);
    if (!address.label.empty())
        out.put(IFA_LABEL, address.label);
    if (address.flags)
        out.put(IFA_FLAGS, address.flags);
    ifa_cacheinfo times{};
    times.ifa_valid = address.valid;
    times.ifa_prefered = address.preferred;
    if (address.valid != UINT32_MAX || address.preferred != UINT32_MAX)
        out.put(IFA_CACHEINFO,
                io::View(reinterpret_cast<const std::uint8_t *>(&times), sizeof times));
    return socket.request(out, "add " + address.text());
}

io::Result<void> removeAddress(Socket &socket, const Address &address)
{
    return socket.request(message(RTM_DELADDR, 0, address), "remove " + address.text());
}

} // namespace openipoib::netlink
