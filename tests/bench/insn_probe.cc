// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Traffic from this network namespace to another of the same host, by one thread that
// sends and receives: nothing else of it has to run.
//
// usage: insn-probe udp|tcp NETNS ADDRESS BYTES COUNT BATCHES [ADDRESSES]
//
// COUNT datagrams, or pieces of a TCP stream, of BYTES each, in each of BATCHES. Each is
// sent, then received. Around each batch there is a mark for insn-plugin. ADDRESS is
// NETNS's; datagrams go to so many ADDRESSES from it on in turn, all of them before the
// first batch. Prints "ready" before the first batch, and "batch" after each.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace
{

constexpr int failed = 1;
constexpr int usageError = 2;
constexpr std::uint16_t port = 9999;
constexpr std::size_t warmUp = 200; // datagrams or pieces at most, before the first batch

// nopl 0x544e4349(%rax): insn-plugin knows it.
void mark()
{
    asm volatile(".byte 0x0f, 0x1f, 0x80, 'I', 'C', 'N', 'T'" ::: "memory");
}

int complain(const char *what)
{
    std::perror(what);
    return failed;
}

struct Options {
    bool isTcp = false;
    std::string netns;
    sockaddr_in address{};
    std::size_t bytes = 0;
    std::size_t count = 0;
    std::size_t batches = 0;
    std::size_t addresses = 0; // none: the socket is connected to the one
};

std::optional<std::size_t> number(std::string_view text)
{
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value == 0)
        return std::nullopt;
    return value;
}

std::optional<Options> parse(int argc, char **argv)
{
    constexpr int words = 7;
    if (argc != words && argc != words + 1)
        return std::nullopt;
    Options out;
    const std::string_view kind = argv[1];
    const auto bytes = number(argv[4]);
    const auto count = number(argv[5]);
    const auto batches = number(argv[6]);
    const auto addresses = argc > words ? number(argv[words]) : 0;
    out.isTcp = kind == "tcp";
    out.netns = std::string("/run/netns/") + argv[2];
    out.address.sin_family = AF_INET;
    out.address.sin_port = htons(port);
    if ((!out.isTcp && kind != "udp") || !bytes || !count || !batches || !addresses ||
        (out.isTcp && *addresses != 0) || ::inet_pton(AF_INET, argv[3], &out.address.sin_addr) != 1)
        return std::nullopt;
    out.bytes = *bytes;
    out.count = *count;
    out.batches = *batches;
    out.addresses = *addresses;
    return out;
}

struct Ends {
    int here = -1;
    int there = -1;
};

// Two sockets, connected unless there are several addresses; here == -1 and errno if
// that fails.
Ends openEnds(const Options &options)
{
    const auto *address = reinterpret_cast<const sockaddr *>(&options.address);
    sockaddr_in any = options.address;
    if (options.addresses != 0)
        any.sin_addr.s_addr = htonl(INADDR_ANY);
    const int type = options.isTcp ? SOCK_STREAM : SOCK_DGRAM;
    const int on = 1;
    const timeval patience{.tv_sec = 5, .tv_usec = 0};
    const int here = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
    const int netns = ::open(options.netns.c_str(), O_RDONLY | O_CLOEXEC);
    if (here < 0 || netns < 0 || ::setns(netns, CLONE_NEWNET) < 0)
        return {};
    int there = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
    ::setsockopt(there, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (there < 0 || ::bind(there, reinterpret_cast<const sockaddr *>(&any), sizeof any) < 0 ||
        (options.isTcp && ::listen(there, 1) < 0) ||
        (options.addresses == 0 && ::connect(here, address, sizeof options.address) < 0))
        return {};
    if (options.isTcp) {
        there = ::accept4(there, nullptr, nullptr, SOCK_CLOEXEC);
        ::setsockopt(here, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    ::setsockopt(there, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return {.here = here, .there = there};
}

bool sendDatagram(const Ends &ends, std::vector<char> &buffer)
{
    return ::send(ends.here, buffer.data(), buffer.size(), 0) == std::ssize(buffer) &&
           ::recv(ends.there, buffer.data(), buffer.size(), 0) == std::ssize(buffer);
}

bool sendDatagramTo(const Ends &ends, const sockaddr_in &first, std::size_t step,
                    std::vector<char> &buffer)
{
    sockaddr_in to = first;
    to.sin_addr.s_addr = htonl(ntohl(first.sin_addr.s_addr) + static_cast<std::uint32_t>(step));
    return ::sendto(ends.here, buffer.data(), buffer.size(), 0,
                    reinterpret_cast<const sockaddr *>(&to), sizeof to) == std::ssize(buffer) &&
           ::recv(ends.there, buffer.data(), buffer.size(), 0) == std::ssize(buffer);
}

bool sendPiece(const Ends &ends, std::vector<char> &buffer)
{
    std::size_t sent = 0;
    std::size_t received = 0;
    while (received < buffer.size()) {
        if (sent < buffer.size())
            sent += static_cast<std::size_t>(std::max<ssize_t>(
                ::send(ends.here, buffer.data(), buffer.size() - sent, MSG_DONTWAIT), 0));
        const bool isAllSent = sent == buffer.size();
        const ssize_t got =
            ::recv(ends.there, buffer.data(), buffer.size(), isAllSent ? 0 : MSG_DONTWAIT);
        if (got > 0)
            received += static_cast<std::size_t>(got);
        else if (isAllSent)
            return false;
    }
    return true;
}

} // namespace

int main(int argc, char **argv)
{
    const auto options = parse(argc, argv);
    if (!options) {
        std::fputs("usage: insn-probe udp|tcp NETNS ADDRESS BYTES COUNT BATCHES [ADDRESSES]\n",
                   stderr);
        return usageError;
    }
    const Ends ends = openEnds(*options);
    if (ends.here < 0 || ends.there < 0)
        return complain("connect");
    std::vector<char> buffer(options->bytes);
    const auto send = [&](std::size_t number) {
        if (options->addresses != 0)
            return sendDatagramTo(ends, options->address, number % options->addresses, buffer);
        return options->isTcp ? sendPiece(ends, buffer) : sendDatagram(ends, buffer);
    };
    for (std::size_t i = 0; i < std::max(std::min(warmUp, options->count), options->addresses); ++i)
        if (!send(i))
            return complain("warm-up");
    std::puts("ready");
    for (std::size_t batch = 0; batch < options->batches; ++batch) {
        bool isWell = true;
        mark();
        for (std::size_t i = 0; isWell && i < options->count; ++i)
            isWell = send(i);
        mark();
        if (!isWell)
            return complain("transfer");
        std::puts("batch");
    }
    return 0;
}
