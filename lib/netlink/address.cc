// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "netlink/address.hpp"

#include "netlink/attributes.hpp"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace openipoib::netlink
{

namespace
{

std::uint8_t bitsOf(std::uint8_t family)
{
    return family == AF_INET ? 32 : 128;
}

// IFA_PROTO, since Linux 5.18, which not all headers have
constexpr int addressProtocol = 11;

// What names the address
void putNumbers(Message &out, const Address &address)
{
    ifaddrmsg fixed{};
    fixed.ifa_family = address.family;
    fixed.ifa_prefixlen = address.prefix;
    fixed.ifa_scope = address.scope;
    fixed.ifa_index = static_cast<unsigned>(address.index);
    out.header(fixed);
    out.put(IFA_LOCAL, io::View(address.local));
    // Of a point-to-point link the other end, else the address itself
    out.put(IFA_ADDRESS, io::View(address.peer.empty() ? address.local : address.peer));
}

void putAll(Message &out, const Address &address)
{
    putNumbers(out, address);
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
    if (!address.others.empty())
        out.append(address.others);
}

template <typename T> void read(io::View value, T &into)
{
    if (value.size() >= sizeof into)
        std::memcpy(&into, value.data(), sizeof into);
}

// All but IFA_ADDRESS, which goes to @end
void takeAttribute(int type, io::View value, Address &address, io::Bytes &end)
{
    if (type == IFA_ADDRESS) {
        end.assign(value.begin(), value.end());
    } else if (type == IFA_LOCAL) {
        address.local.assign(value.begin(), value.end());
    } else if (type == IFA_BROADCAST) {
        address.broadcast.assign(value.begin(), value.end());
    } else if (type == IFA_LABEL) {
        address.label.assign(value.begin(), std::ranges::find(value, 0));
    } else if (type == IFA_FLAGS) {
        read(value, address.flags);
    } else if (type == IFA_RT_PRIORITY) {
        read(value, address.metric);
    } else if (type == addressProtocol) {
        read(value, address.protocol);
    } else if (type == IFA_CACHEINFO) {
        ifa_cacheinfo times{};
        times.ifa_prefered = times.ifa_valid = UINT32_MAX;
        read(value, times);
        address.valid = times.ifa_valid;
        address.preferred = times.ifa_prefered;
    } else {
        // The header stands before it.
        address.others.insert(address.others.end(), value.data() - NLA_HDRLEN,
                              value.data() + value.size());
        address.others.resize(NLA_ALIGN(address.others.size()));
    }
}

std::string numberText(std::uint8_t family, const io::Bytes &number)
{
    std::array<char, INET6_ADDRSTRLEN> out{};
    if (number.size() != bitsOf(family) / 8U ||
        !::inet_ntop(family, number.data(), out.data(), out.size()))
        return "?";
    return out.data();
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

std::optional<Address> decodeAddress(io::View payload)
{
    ifaddrmsg fixed{};
    if (payload.size() < sizeof fixed)
        return std::nullopt;
    std::memcpy(&fixed, payload.data(), sizeof fixed);
    if (fixed.ifa_family != AF_INET && fixed.ifa_family != AF_INET6)
        return std::nullopt;
    Address address;
    address.index = static_cast<int>(fixed.ifa_index);
    address.family = fixed.ifa_family;
    address.prefix = fixed.ifa_prefixlen;
    address.scope = fixed.ifa_scope;
    address.flags = fixed.ifa_flags;
    io::Bytes end;
    eachAttribute(payload.subspan(sizeof fixed),
                  [&](int type, io::View value) { takeAttribute(type, value, address, end); });
    // Of a point-to-point link IFA_ADDRESS is the other end.
    if (address.local.empty())
        address.local = end;
    if (end != address.local)
        address.peer = end;
    if (!address.isWhole())
        return std::nullopt;
    return address;
}

io::Bytes encodeAddress(const Address &address)
{
    Message out(RTM_NEWADDR, 0);
    putAll(out, address);
    if (!out.get())
        return {};
    const nlmsghdr *header = nlmsg_hdr(out.get());
    const auto *start = static_cast<const std::uint8_t *>(nlmsg_data(header));
    return {start, start + nlmsg_datalen(header)};
}

std::optional<Address> parseAddress(const nlmsghdr *answer)
{
    if (answer->nlmsg_type != RTM_NEWADDR)
        return std::nullopt;
    return decodeAddress({static_cast<const std::uint8_t *>(nlmsg_data(answer)),
                          static_cast<std::size_t>(nlmsg_datalen(answer))});
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
    Message out(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    putAll(out, address);
    return socket.request(out, "add " + address.text());
}

io::Result<void> removeAddress(Socket &socket, const Address &address)
{
    Message out(RTM_DELADDR, 0);
    putNumbers(out, address);
    return socket.request(out, "remove " + address.text());
}

} // namespace openipoib::netlink
