// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conf/openib/linux_mounts.hpp"

#include "io/unique_fd.hpp"
#include "netlink/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace openipoib::openib
{

namespace
{

// What is before @end, which goes from @text with it
std::string_view take(std::string_view &text, char end)
{
    const auto length = text.find(end);
    const auto taken = text.substr(0, length);
    text.remove_prefix(length == std::string_view::npos ? text.size() : length + 1);
    return taken;
}

// "addr" of "rw,addr=10.0.0.1": "10.0.0.1"
std::string option(std::string_view options, std::string_view name)
{
    while (!options.empty()) {
        auto one = take(options, ',');
        if (take(one, '=') == name)
            return std::string(one);
    }
    return {};
}

struct Peer {
    sockaddr_storage address{};
    socklen_t length = 0;
};

std::optional<Peer> parse(const std::string &text)
{
    // Connecting a datagram socket sends nothing; any port will do.
    constexpr std::uint16_t discard = 9;
    Peer peer;
    sockaddr_in four{};
    sockaddr_in6 six{};
    if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(discard);
        peer.length = sizeof four;
        std::memcpy(&peer.address, &four, sizeof four);
    } else if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(discard);
        peer.length = sizeof six;
        std::memcpy(&peer.address, &six, sizeof six);
    } else {
        return std::nullopt;
    }
    return peer;
}

// "": there is none of that index
std::string nameOf(unsigned index)
{
    std::array<char, IF_NAMESIZE> name{};
    return ::if_indextoname(index, name.data()) ? name.data() : std::string();
}

io::Bytes bytesOf(const sockaddr_storage &address)
{
    const auto *start = reinterpret_cast<const std::uint8_t *>(&address);
    if (address.ss_family == AF_INET) {
        start += offsetof(sockaddr_in, sin_addr);
        return {start, start + sizeof(in_addr)};
    }
    start += offsetof(sockaddr_in6, sin6_addr);
    return {start, start + sizeof(in6_addr)};
}

// Not by getifaddrs(), which has an address's label as the name of its interface.
std::string ownerOf(const sockaddr_storage &address)
{
    auto socket = netlink::Socket::open();
    if (!socket)
        return {};
    const auto all = netlink::addresses(*socket);
    if (!all)
        return {};
    const auto found = std::ranges::find(*all, bytesOf(address), &netlink::Address::local);
    return found == all->end() ? std::string() : nameOf(static_cast<unsigned>(found->index));
}

} // namespace

std::vector<std::string> mountsInUse(std::string_view mounts, const Towards &towards)
{
    std::vector<std::string> users;
    while (!mounts.empty()) {
        auto line = take(mounts, '\n');
        take(line, ' ');
        const auto where = take(line, ' ');
        take(line, ' ');
        const auto options = take(line, ' ');
        if (option(options, "proto") == "rdma") {
            users.push_back(fmt::format("{} is mounted over RDMA", where));
            continue;
        }
        const auto server = option(options, "addr");
        if (const auto name = server.empty() ? std::string() : towards(server); !name.empty())
            users.push_back(fmt::format("{} is mounted over {}, from {}", where, name, server));
    }
    return users;
}

std::string interfaceTowards(const std::string &address)
{
    // The kernel prints the zone of a mount's server as the interface's index.
    if (const auto zone = address.find('%'); zone != std::string::npos) {
        unsigned index = 0;
        std::from_chars(address.data() + zone + 1, address.data() + address.size(), index);
        return nameOf(index);
    }
    const auto peer = parse(address);
    if (!peer)
        return {};
    const io::UniqueFd socket(::socket(peer->address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&peer->address), peer->length) <
        0)
        return {};
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr *>(&own), &length) < 0)
        return {};
    return ownerOf(own);
}

} // namespace openipoib::openib
