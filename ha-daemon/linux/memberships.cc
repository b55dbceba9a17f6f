// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "ha-daemon/linux/memberships.hpp"

#include "io/file.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <set>
#include <vector>

namespace openipoib::ha
{

namespace
{

constexpr std::size_t fileBytes = 4 << 20;

std::vector<std::string_view> words(std::string_view line)
{
    std::vector<std::string_view> out;
    while (!line.empty()) {
        const auto from = line.find_first_not_of(" \t:");
        if (from == std::string_view::npos)
            break;
        line.remove_prefix(from);
        const auto to = std::min(line.find_first_of(" \t:"), line.size());
        out.push_back(line.substr(0, to));
        line.remove_prefix(to);
    }
    return out;
}

template <typename T> bool number(std::string_view text, T &out, int base = 10)
{
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
    return error == std::errc{} && at == text.data() + text.size();
}

template <typename F> void eachLine(std::string_view text, F &&each)
{
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        each(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

bool isAutomatic6(const io::Bytes &group)
{
    static const io::Bytes allNodes{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    static const io::Bytes solicited{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF};
    return group == allNodes || group[1] <= 1 ||
           std::equal(solicited.begin(), solicited.end(), group.begin());
}

// Without IPv6 there is no igmp6, and nobody who has joined.
io::Result<std::string> table(const std::string &path)
{
    auto text = io::readFile(path, fileBytes);
    if (!text && text.error().code == ENOENT)
        return std::string();
    return text;
}

io::UniqueFd join(const Membership &membership)
{
    const auto &[index, group] = membership;
    const int family = group.size() == 4 ? AF_INET : AF_INET6;
    io::UniqueFd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    int done = -1;
    if (family == AF_INET) {
        ip_mreqn request{};
        std::memcpy(&request.imr_multiaddr, group.data(), group.size());
        request.imr_ifindex = index;
        done = ::setsockopt(fd.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
    } else {
        ipv6_mreq request{};
        std::memcpy(&request.ipv6mr_multiaddr, group.data(), group.size());
        request.ipv6mr_interface = static_cast<unsigned>(index);
        done = ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &request, sizeof request);
    }
    // One that cannot be joined now is tried again at the next look.
    return done < 0 ? io::UniqueFd() : std::move(fd);
}

} // namespace

// An interface's line begins at its start, those of its groups are indented:
//   4       ib0       :     2      V3
//                   010000E0     1 0:00000000               0
Joined readIgmp(std::string_view text)
{
    Joined joined;
    int index = 0;
    eachLine(text, [&](std::string_view line) {
        const auto parts = words(line);
        if (parts.size() < 2)
            return;
        if (line.front() != ' ' && line.front() != '\t') {
            if (!number(parts[0], index))
                index = 0;
            return;
        }
        std::uint32_t group = 0;
        unsigned users = 0;
        if (!index || !number(parts[0], group, 16) || !number(parts[1], users))
            return;
        // The file shows the bytes as a number of this machine.
        io::Bytes bytes(sizeof group);
        std::memcpy(bytes.data(), &group, sizeof group);
        if (bytes != io::Bytes{224, 0, 0, 1})
            joined[{index, bytes}] = users;
    });
    return joined;
}

// 4    ib0             ff020000000000000000000000000001     1 0000000C 0
Joined readIgmp6(std::string_view text)
{
    Joined joined;
    eachLine(text, [&](std::string_view line) {
        const auto parts = words(line);
        int index = 0;
        unsigned users = 0;
        if (parts.size() < 4 || parts[2].size() != 32 || !number(parts[0], index) ||
            !number(parts[3], users))
            return;
        io::Bytes group;
        for (std::size_t at = 0; at < 32; at += 2) {
            std::uint8_t byte = 0;
            if (!number(parts[2].substr(at, 2), byte, 16))
                return;
            group.push_back(byte);
        }
        if (!isAutomatic6(group))
            joined[{index, group}] = users;
    });
    return joined;
}

io::Result<Joined> readJoined(const std::string &folder)
{
    const auto four = table(folder + "/igmp");
    if (!four)
        return std::unexpected(four.error());
    const auto six = table(folder + "/igmp6");
    if (!six)
        return std::unexpected(six.error());
    Joined joined = readIgmp(*four);
    joined.merge(readIgmp6(*six));
    return joined;
}

void Memberships::mirror(const Joined &joined, int first, int second)
{
    std::set<io::Bytes> wanted;
    for (const auto &[membership, users] : joined) {
        const bool ours = membership.first == first || membership.first == second;
        if (ours && users > (own_.contains(membership) ? 1U : 0U))
            wanted.insert(membership.second);
    }
    const auto isGone = [&](int index) { return index && index != first && index != second; };
    if (isGone(interfaces_.first) || isGone(interfaces_.second))
        std::ranges::set_difference(wanted_, wanted, std::inserter(kept_, kept_.end()));
    wanted.insert(kept_.begin(), kept_.end());
    wanted_ = wanted;
    interfaces_ = {first, second};
    std::erase_if(own_, [&](const auto &one) {
        const auto &[index, group] = one.first;
        return (index != first && index != second) || !wanted.contains(group);
    });
    for (const auto &group : wanted)
        for (const int index : {first, second}) {
            const Membership membership{index, group};
            if (!index || joined.contains(membership) || own_.contains(membership))
                continue;
            if (auto fd = join(membership))
                own_.emplace(membership, std::move(fd));
        }
}

} // namespace openipoib::ha
