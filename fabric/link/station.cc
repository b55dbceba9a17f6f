// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "link/station.hpp"

#include "ib/bth.hpp"
#include "ib/icrc.hpp"
#include "ib/lrh.hpp"

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

using namespace std::chrono_literals;
using link::FrameFault;
using link::FrameType;
using link::Header;
using link::Hello;
using link::HelloState;

constexpr std::chrono::milliseconds trainingInterval = 50ms;
constexpr int hellosPerTimeout = 4;
constexpr int stallTimeouts = 4;
constexpr std::uint32_t leastMaxFrame = 368;
constexpr std::uint16_t leastTimeout = 20;

} // namespace

void Station::enable(Time now)
{
    if (state_ == State::off)
        listen(now);
}

void Station::disable(Time now)
{
    if (state_ == State::off)
        return;
    restart(now); // the peer need not wait for its timeout
    state_ = State::off;
}

void Station::forget()
{
    if (state_ == State::up)
        ++counters_.down;
    peer_ = 0;
    output_.clear();
    counters_.rxLost += input_.size();
    input_.clear();
    sender_.begin(0);
    receiver_.begin();
}

void Station::restart(Time now)
{
    if (state_ == State::off)
        return;
    forget();
    listen(now);
}

void Station::limitFrame(std::uint32_t maxFrame, Time now)
{
    config_.maxFrame = maxFrame;
    if (isUp())
        ++counters_.restart;
    restart(now);
}

void Station::listen(Time now)
{
    const std::uint32_t old = session_;
    do
        session_ = random_();
    while (session_ == 0 || session_ == old);
    state_ = State::listen;
    sendHello(now);
}

// Validity, in the order of docs/sib-link.md, section 2.
void Station::onFrame(const io::MacAddress &source, io::View frame, Time now)
{
    if (state_ == State::off)
        return;
    const auto header = Header::parse(frame);
    if (!header) {
        ++(header.error() == FrameFault::version  ? counters_.rxVersion
           : header.error() == FrameFault::length ? counters_.rxLength
                                                  : counters_.rxCheck);
        return;
    }
    if (header->session == 0) {
        ++counters_.rxSession;
        return;
    }
    if (header->session == session_) {
        ++counters_.rxLoop;
        return;
    }
    const io::View payload = frame.subspan(Header::size, header->length - Header::size);
    switch (header->type) {
    case FrameType::hello:
        return onHello(source, *header, payload, now);
    case FrameType::data:
    case FrameType::ack:
        return onPairFrame(source, *header, payload, now);
    }
    ++counters_.rxType;
}

void Station::onHello(const io::MacAddress &source, const Header &header, io::View payload,
                      Time now)
{
    const auto hello = Hello::parse(payload);
    if (!hello || hello->maxFrame < leastMaxFrame || header.window == 0) {
        ++counters_.rxLength;
        return;
    }
    ++counters_.rxHello;
    if (peer_ != 0 && header.session == peer_) {
        if (isUp() && hello->maxFrame < hello_.maxFrame) { // packets may be too long by now
            ++counters_.restart;
            return restart(now);
        }
        peerMac_ = source;
        hello_ = *hello;
        return onPeerHello(header, *hello, now);
    }
    if (state_ != State::listen && source != peerMac_) {
        ++counters_.rxForeign;
        return;
    }
    if (header.peer != 0 && header.peer != session_) {
        ++counters_.rxSession;
        return;
    }
    if (state_ != State::listen)
        ++counters_.restart;
    if (state_ == State::up)
        restart(now);
    pair(source, header, *hello, now);
}

// The peer's session is known from now on.
void Station::pair(const io::MacAddress &source, const Header &header, const Hello &hello, Time now)
{
    peer_ = header.session;
    peerMac_ = source;
    hello_ = hello;
    heardAt_ = now;
    state_ = State::heard;
    sender_.begin(header.window);
    receiver_.begin();
    if (header.peer == session_)
        goUp(now);
    sendHello(now);
}

void Station::onPeerHello(const Header &header, const Hello &hello, Time now)
{
    const bool hearsUs = header.peer == session_;
    if (state_ == State::heard || hearsUs)
        heardAt_ = now;
    if (!hearsUs)
        return;
    const bool answer = state_ == State::heard || hello.state != HelloState::up;
    if (state_ == State::heard)
        goUp(now);
    if (answer)
        sendHello(now);
}

void Station::goUp(Time now)
{
    state_ = State::up;
    ++counters_.up;
    heardAt_ = now;
}

void Station::onPairFrame(const io::MacAddress &source, const Header &header, io::View payload,
                          Time now)
{
    if (peer_ == 0 || header.session != peer_ || header.peer != session_) {
        ++(peer_ != 0 && source != peerMac_ ? counters_.rxForeign : counters_.rxSession);
        return;
    }
    if (header.window == 0) {
        ++counters_.rxWindow;
        return;
    }
    heardAt_ = now;
    if (state_ == State::heard) {
        goUp(now);
        sendHello(now);
    }
    const bool isAck = header.type == FrameType::ack;
    if (isAck)
        ++counters_.rxAck;
    sendAgain(sender_.onAck(header.ack, header.window, isAck ? header.gap : 0,
                            isAck ? payload : io::View{}, now));
    if (!isAck)
        receiver_.onData(
            header.seq,
            {.payload = io::Bytes(payload.begin(), payload.end()), .count = header.count},
            (header.flags & link::flagAckRequest) != 0, now);
}

std::optional<io::Bytes> Station::takePacket(Time now)
{
    while (input_.empty()) {
        const auto data = isUp() ? receiver_.take(now) : std::nullopt;
        if (!data)
            return std::nullopt;
        split(*data);
    }
    io::Bytes packet = std::move(input_.front());
    input_.pop_front();
    return packet;
}

Time Station::waitingSince() const
{
    if (!input_.empty())
        return inputSince_;
    return isUp() ? receiver_.readySince() : Time::max();
}

// Packets by their LRH, as 1.1 says.
void Station::split(const Receiver::Data &data)
{
    constexpr std::size_t least = ib::Lrh::size + ib::Bth::size + ib::icrcSize;
    io::View payload = data.payload;
    unsigned count = 0;
    inputSince_ = data.readySince;
    for (; count < data.count; ++count) {
        const auto lrh = ib::Lrh::parse(payload);
        const std::size_t length = lrh ? std::size_t{lrh->words} * 4 : 0;
        if (length < least || length > payload.size())
            break;
        input_.emplace_back(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(length));
        payload = payload.subspan(length);
    }
    if (count != data.count || !payload.empty())
        ++counters_.rxMalformed;
}

void Station::onBatchEnd(Time now)
{
    if (isUp() && receiver_.isAckDue(true, now))
        sendAck(now);
}

void Station::onTime(Time now)
{
    if (state_ == State::off)
        return;
    const std::chrono::milliseconds timeout(config_.timeout);
    if (state_ != State::listen && now - heardAt_ >= timeout) {
        ++counters_.timeout;
        return restart(now);
    }
    if (isUp() && (sender_.isStalled(now, timeout * stallTimeouts) ||
                   receiver_.isStalled(now, timeout * stallTimeouts))) {
        ++counters_.stall;
        return restart(now);
    }
    if (now >= helloAt_)
        sendHello(now);
    if (!isUp())
        return;
    sendAgain(sender_.onTime(now));
    if (receiver_.isAckDue(false, now))
        sendAck(now);
}

Time Station::deadline() const
{
    if (state_ == State::off)
        return Time::max();
    Time result = helloAt_;
    if (state_ != State::listen)
        result = std::min(result, heardAt_ + std::chrono::milliseconds(config_.timeout));
    if (isUp())
        result = std::min({result, sender_.deadline(), receiver_.deadline()});
    return result;
}

std::size_t Station::maxPayload() const
{
    const std::size_t frame = std::min({config_.maxFrame, hello_.maxFrame, longestFrame});
    return frame > Header::size ? frame - Header::size : 0; // a device's MTU may be anything
}

void Station::send(io::View payload, std::uint8_t count, Time now)
{
    Header out = header(FrameType::data);
    out.count = count;
    out.flags = sender_.wantsAck() ? link::flagAckRequest : 0;
    auto frame = std::make_shared<const io::Bytes>(out.frame(payload));
    output_.push_back({peerMac_, frame});
    sender_.sent(std::move(frame), now);
    receiver_.acknowledged(false, now);
}

Header Station::header(FrameType type) const
{
    return {.type = type,
            .session = session_,
            .peer = peer_,
            .seq = sender_.next(),
            .ack = receiver_.next(),
            .window = linkWindow};
}

void Station::sendHello(Time now)
{
    const std::chrono::milliseconds own(config_.timeout / hellosPerTimeout);
    const std::chrono::milliseconds theirs(std::max(hello_.timeout, leastTimeout) /
                                           hellosPerTimeout);
    helloAt_ = now + (isUp() ? std::min(own, theirs) : std::min(own, trainingInterval));
    io::Bytes payload;
    Hello{.state = isUp()                   ? HelloState::up
                   : state_ == State::heard ? HelloState::heard
                                            : HelloState::listen,
          .port = config_.port,
          .timeout = config_.timeout,
          .maxFrame = config_.maxFrame,
          .guid = config_.guid}
        .appendTo(payload);
    output_.push_back(
        {broadcastMac, std::make_shared<const io::Bytes>(header(FrameType::hello).frame(payload))});
    ++counters_.txHello;
}

void Station::sendAck(Time now)
{
    Header out = header(FrameType::ack);
    out.gap = receiver_.gap();
    output_.push_back({peerMac_, std::make_shared<const io::Bytes>(
                                     out.frame(out.gap != 0 ? receiver_.held() : io::Bytes{}))});
    ++counters_.txAck;
    receiver_.acknowledged(out.gap != 0, now);
}

void Station::sendAgain(std::vector<Frame> frames)
{
    for (auto &frame : frames)
        output_.push_back({peerMac_, std::move(frame)});
}

} // namespace openipoib::fabric
