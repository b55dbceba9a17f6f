// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "link/endpoint.hpp"

#include "ib/icrc.hpp"
#include "ib/lrh.hpp"

#include <algorithm>

namespace openipoib::link
{

namespace
{

using namespace std::chrono_literals;

constexpr auto trainingInterval = 50ms;
constexpr auto resendInterval = 40ms;
constexpr int hellosPerTimeout = 4;

// a before b, both modulo 2^32
bool before(std::uint32_t a, std::uint32_t b)
{
    return static_cast<std::int32_t>(a - b) < 0;
}

} // namespace

void Endpoint::onFrame(io::View frame, Time now)
{
    const auto header = Header::parse(frame);
    if (!header || header->session == 0 || header->session == config_.session)
        return;
    const io::View payload = frame.subspan(Header::size, header->length - Header::size);
    if (header->type == FrameType::hello) {
        if (const auto hello = Hello::parse(payload))
            onHello(*header, *hello, now);
        return;
    }
    if (peer_ == 0 || header->session != peer_ || header->peer != config_.session)
        return;
    heardAt_ = now;
    goUp();
    onAck(*header, now);
    if (header->type == FrameType::data)
        onData(*header, payload);
}

void Endpoint::onHello(const Header &header, const Hello &hello, Time now)
{
    if (header.session != peer_) {
        if (header.peer != 0 && header.peer != config_.session)
            return; // late frame of a past session
        if (state_ == HelloState::up)
            reset();
        peer_ = header.session;
        state_ = HelloState::heard;
        helloAt_ = now;
    }
    heardAt_ = now;
    if (state_ != HelloState::up)
        peerWindow_ = header.window;
    if (header.peer != config_.session)
        return;
    if (state_ == HelloState::heard || hello.state != HelloState::up)
        helloAt_ = now; // it waits for our echo
    goUp();
}

void Endpoint::goUp()
{
    if (state_ == HelloState::heard)
        state_ = HelloState::up;
}

// Forget the peer. The session number changes, so that it forgets us too.
void Endpoint::reset()
{
    if (state_ == HelloState::up)
        ++downs_;
    config_.session = config_.session + 1 == 0 ? 1 : config_.session + 1;
    state_ = HelloState::listen;
    peer_ = 0;
    peerWindow_ = 0;
    nextOut_ = firstUnacked_ = nextIn_ = 0;
    sent_.clear();
    held_.clear();
    ackDue_ = false;
    helloAt_ = {};
}

void Endpoint::onAck(const Header &header, Time now)
{
    if (before(header.ack, firstUnacked_) || before(nextOut_, header.ack))
        return;
    const std::uint32_t edge = header.ack + std::min(header.window, window);
    if (before(peerWindow_, edge))
        peerWindow_ = edge;
    for (; firstUnacked_ != header.ack; ++firstUnacked_) {
        sent_.pop_front();
        resendAt_ = now + resendInterval;
    }
    const auto missing = std::min<std::size_t>(header.gap, sent_.size());
    if (header.type == FrameType::ack)
        output_.insert(output_.end(), sent_.begin(),
                       sent_.begin() + static_cast<std::ptrdiff_t>(missing));
}

void Endpoint::onData(const Header &header, io::View payload)
{
    ackDue_ = true;
    const std::uint32_t ahead = header.seq - nextIn_;
    if (ahead >= window)
        return; // a duplicate, or nonsense
    held_.try_emplace(header.seq, payload.begin(), payload.end());
    for (auto next = held_.find(nextIn_); next != held_.end(); next = held_.find(nextIn_)) {
        deliver(next->second);
        held_.erase(next);
        ++nextIn_;
    }
}

// Split a payload into packets by their LRH; a length that cannot be right
// ends it.
void Endpoint::deliver(io::View payload)
{
    while (const auto lrh = ib::Lrh::parse(payload)) {
        const std::size_t length = std::size_t{lrh->words} * 4;
        if (length < ib::Lrh::size + ib::icrcSize || length > payload.size())
            return;
        input_.emplace_back(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(length));
        payload = payload.subspan(length);
    }
}

void Endpoint::onTime(Time now)
{
    if (state_ != HelloState::listen &&
        now - heardAt_ >= std::chrono::milliseconds(config_.timeout))
        reset();
    if (now >= helloAt_)
        sendHello(now);
    if (!sent_.empty() && now >= resendAt_) {
        output_.push_back(sent_.front());
        resendAt_ = now + resendInterval;
    }
    if (ackDue_)
        sendAck();
}

bool Endpoint::canSend() const
{
    return isUp() && sent_.size() < window && before(nextOut_, peerWindow_);
}

void Endpoint::sendFrame(io::View payload, std::uint8_t count, Time now)
{
    Header out = header(FrameType::data);
    out.count = count;
    out.flags = (sent_.size() + 1) % (window / 4) == 0 ? flagAckRequest : 0;
    if (sent_.empty())
        resendAt_ = now + resendInterval;
    sent_.push_back(out.frame(payload));
    output_.push_back(sent_.back());
    ++nextOut_;
    ackDue_ = false;
}

Header Endpoint::header(FrameType type) const
{
    return {.type = type,
            .session = config_.session,
            .peer = peer_,
            .seq = nextOut_,
            .ack = nextIn_,
            .window = window};
}

void Endpoint::sendHello(Time now)
{
    const auto interval = std::chrono::milliseconds(config_.timeout / hellosPerTimeout);
    helloAt_ =
        now + (isUp() ? interval : std::min<std::chrono::milliseconds>(trainingInterval, interval));
    io::Bytes payload;
    Hello{.state = state_,
          .port = 1,
          .timeout = config_.timeout,
          .maxFrame = config_.maxFrame,
          .guid = config_.guid}
        .appendTo(payload);
    output_.push_back(header(FrameType::hello).frame(payload));
}

void Endpoint::sendAck()
{
    Header out = header(FrameType::ack);
    if (!held_.empty()) {
        const auto ahead = [this](const auto &entry) { return entry.first - nextIn_; };
        out.gap = static_cast<std::uint16_t>(ahead(*std::ranges::min_element(held_, {}, ahead)));
    }
    output_.push_back(out.frame({}));
    ackDue_ = false;
}

} // namespace openipoib::link
