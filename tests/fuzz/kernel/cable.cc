// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "cable.hpp"

#include "guard.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::size_t slotSize = 16384, slots = 64, blockSize = 65536;
constexpr std::size_t dataAt = 32; // in a slot: after its header
constexpr std::size_t macSize = 6, ethernetSize = 14;
constexpr std::uint16_t window = 128;

// protocol: what it receives; 0: nothing
io::UniqueFd socketOn(const std::string &netdev, std::uint16_t protocol)
{
    io::UniqueFd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(if_nametoindex(netdev.c_str()));
    need(fd && bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0,
         "a packet socket");
    return fd;
}

std::uint8_t *ringOf(int fd)
{
    const int version = TPACKET_V2, lossy = 1;
    tpacket_req request{blockSize, slots * slotSize / blockSize, slotSize, slots};
    need(setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) == 0 &&
             setsockopt(fd, SOL_PACKET, PACKET_LOSS, &lossy, sizeof(lossy)) == 0 &&
             setsockopt(fd, SOL_PACKET, PACKET_TX_RING, &request, sizeof(request)) == 0,
         "a ring to send from");
    void *memory = mmap(nullptr, slots * slotSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need(memory != MAP_FAILED, "memory of the ring");
    return static_cast<std::uint8_t *>(memory);
}

} // namespace

Cable::Cable(const std::string &netdev)
    : ring_(socketOn(netdev, 0)), plain_(socketOn(netdev, link::ethertype)),
      memory_(ringOf(ring_.get()))
{
    ifreq request{};
    netdev.copy(request.ifr_name, sizeof(request.ifr_name) - 1);
    need(ioctl(plain_.get(), SIOCGIFHWADDR, &request) == 0, "the address of the cable's end");
    std::memcpy(mac_.data(), request.ifr_hwaddr.sa_data, macSize);
    peerMac_.fill(0xFF);
}

tpacket2_hdr *Cable::slot(std::size_t i) const
{
    return reinterpret_cast<tpacket2_hdr *>(memory_ + i % slots * slotSize);
}

bool Cable::sendByRing(io::View whole)
{
    tpacket2_hdr *to = slot(current_);
    const std::uint32_t status = __atomic_load_n(&to->tp_status, __ATOMIC_ACQUIRE);
    if (whole.size() > slotSize - dataAt ||
        (status != TP_STATUS_AVAILABLE && status != TP_STATUS_WRONG_FORMAT))
        return false;
    std::memcpy(reinterpret_cast<std::uint8_t *>(to) + dataAt, whole.data(), whole.size());
    to->tp_len = static_cast<std::uint32_t>(whole.size());
    __atomic_store_n(&to->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
    ++current_;
    ::send(ring_.get(), nullptr, 0, MSG_DONTWAIT);
    return true;
}

void Cable::send(io::View frame, bool fromStranger)
{
    io::Bytes whole(peerMac_.begin(), peerMac_.end());
    whole.insert(whole.end(), mac_.begin(), mac_.end());
    if (fromStranger)
        whole.back() ^= 0x55;
    io::append<2>(whole, link::ethertype);
    io::append(whole, frame);
    whole.resize(std::max<std::size_t>(whole.size(), 60));
    if (!sendByRing(whole))
        ::send(plain_.get(), whole.data(), whole.size(), MSG_DONTWAIT);
}

link::Header Cable::header(link::FrameType type) const
{
    link::Header made;
    made.type = type;
    made.session = session_;
    made.peer = peer_;
    made.seq = next_;
    made.ack = expected_;
    made.window = window;
    return made;
}

void Cable::sendData(io::View packets, std::uint8_t count)
{
    link::Header made = header(link::FrameType::data);
    made.count = count;
    made.flags = link::flagAckRequest;
    advance();
    send(made.frame(packets));
}

void Cable::sendAck(std::uint32_t ack, std::uint16_t gap, std::uint16_t edge)
{
    link::Header made = header(link::FrameType::ack);
    made.ack = ack;
    made.gap = gap;
    made.window = edge;
    send(made.frame({}));
}

void Cable::hello(std::uint32_t peer, std::uint8_t state, std::uint32_t longestFrame)
{
    link::Header made = header(link::FrameType::hello);
    made.peer = peer;
    io::Bytes payload{state, 1};
    io::append<2>(payload, 20000); // milliseconds of silence
    io::append<4>(payload, longestFrame);
    io::append<8>(payload, 0x0200'00FF'FE00'0002);
    io::append<4>(payload, 0);
    send(made.frame(payload));
}

void Cable::receive()
{
    std::array<std::uint8_t, ethernetSize + 65536> buffer;
    for (ssize_t size; (size = recv(plain_.get(), buffer.data(), buffer.size(), 0)) > 0;) {
        const io::View frame{buffer.data(), static_cast<std::size_t>(size)};
        // What was sent from here is seen here as well.
        if (frame.size() < ethernetSize ||
            std::equal(mac_.begin(), mac_.end() - 1, frame.begin() + macSize))
            continue;
        const auto heard = link::Header::parse(frame.subspan(ethernetSize));
        if (!heard)
            continue;
        std::copy_n(frame.begin() + macSize, macSize, peerMac_.begin());
        peer_ = heard->session;
        heardOf_ = heard->peer;
        if (heard->type == link::FrameType::data && heard->seq == expected_)
            ++expected_;
    }
}

bool Cable::train()
{
    receive();
    ++session_;
    next_ = 0;
    expected_ = 0;
    heardOf_ = 0;
    for (unsigned i = 0; i < 100; ++i) {
        if (i % 20 == 0)
            hello(0, 0);
        receive();
        if (heardOf_ == session_) {
            expected_ = 0;
            hello(peer_, 2);
            return true;
        }
        usleep(i < 10 ? 200 : 5000);
    }
    return false;
}

void Cable::scribble(std::size_t framesAgo, std::size_t offset, std::uint16_t value)
{
    if (current_ == 0)
        return;
    const std::size_t which = current_ - 1 - std::min(framesAgo, current_ - 1);
    std::uint8_t *frame = reinterpret_cast<std::uint8_t *>(slot(which)) + dataAt + ethernetSize;
    offset %= longest;
    frame[offset] = static_cast<std::uint8_t>(value >> 8);
    frame[offset + 1] = static_cast<std::uint8_t>(value);
}

} // namespace openipoib::kfuzz
