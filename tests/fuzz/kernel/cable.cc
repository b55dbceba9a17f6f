// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "cable.hpp"

#include "guard.hpp"

#include <algorithm>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::size_t macSize = 6, ethernetSize = 14;
constexpr std::uint16_t window = 128;

} // namespace

Cable::Cable(std::unique_ptr<Plug> plug) : plug_(std::move(plug)), mac_(plug_->mac())
{
    peerMac_.fill(0xFF);
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
    plug_->send(whole);
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

void Cable::heard(io::View frame)
{
    const auto header = link::Header::parse(frame.subspan(ethernetSize));
    if (!header)
        return;
    std::copy_n(frame.begin() + macSize, macSize, peerMac_.begin());
    peer_ = header->session;
    heardOf_ = header->peer;
    if (header->type != link::FrameType::data)
        return;
    if (header->seq == expected_)
        ++expected_;
    promise(forbidden_.empty() || std::ranges::search(frame, forbidden_).empty(),
            "a packet was received that was in no frame as it was checked");
}

void Cable::receive()
{
    for (io::View frame; !(frame = plug_->receive()).empty();)
        heard(frame);
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
    const std::span<std::uint8_t> frame = plug_->sent(framesAgo);
    offset = ethernetSize + offset % longest;
    if (offset + 1 >= frame.size())
        return;
    frame[offset] = static_cast<std::uint8_t>(value >> 8);
    frame[offset + 1] = static_cast<std::uint8_t>(value);
}

} // namespace openipoib::kfuzz
