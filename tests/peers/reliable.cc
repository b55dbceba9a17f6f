// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "peers/reliable.hpp"

namespace openipoib::peers
{

namespace
{

using namespace std::chrono_literals;

constexpr std::uint32_t psnMask = 0xFF'FFFF;
constexpr auto timeout = 500ms;
// Longer than any receiver asks for that means to have buffers soon.
constexpr auto noBuffer = 5ms;

// a before b, modulo 2^24
bool before(std::uint32_t a, std::uint32_t b)
{
    return ((a - b) & psnMask) > psnMask / 2;
}

} // namespace

Receiver::Outcome Receiver::receive(const ib::Bth &bth, io::View payload)
{
    const Acknowledgement good{.psn = (next_ - 1) & psnMask, .messages = messages_};
    if (before(bth.psn, next_))
        return {.message = {}, .answer = good};
    if (bth.psn != next_) {
        if (isBehind_)
            return {};
        isBehind_ = true;
        return {.message = {},
                .answer = Acknowledgement{.psn = next_,
                                          .syndrome = Acknowledgement::outOfSequence,
                                          .messages = messages_}};
    }
    isBehind_ = false;
    const auto opcode = static_cast<ib::Opcode>(bth.opcode);
    const bool begins = opcode == ib::Opcode::rcSendFirst || opcode == ib::Opcode::rcSendOnly;
    const bool ends = opcode == ib::Opcode::rcSendLast || opcode == ib::Opcode::rcSendOnly;
    if (begins == isInside_ || (begins ? 0 : message_.size()) + payload.size() > longest)
        return {.message = {},
                .answer = Acknowledgement{.psn = next_,
                                          .syndrome = Acknowledgement::invalidRequest,
                                          .messages = messages_}};
    next_ = (next_ + 1) & psnMask;
    if (begins)
        message_.clear();
    io::append(message_, payload);
    isInside_ = !ends;
    if (ends)
        messages_ = (messages_ + 1) & psnMask;
    const Acknowledgement answer{.psn = bth.psn, .messages = messages_};
    return {.message = ends ? std::optional(message_) : std::nullopt,
            .answer = bth.acknowledge ? std::optional(answer) : std::nullopt};
}

void Sender::acknowledge(const Acknowledgement &answer, Time now)
{
    const std::uint32_t at = (answer.psn - first_) & psnMask;
    if (at >= sent_) // of no packet that is on its way
        return;
    const std::uint32_t done = answer.isAck() ? at + 1 : at;
    messages_.erase(messages_.begin(), messages_.begin() + done);
    first_ = (first_ + done) & psnMask;
    sent_ -= done;
    again_ = now + timeout;
    tries_ = 0;
    if (!answer.isAck())
        again_ = now + noBuffer;
}

std::vector<Sender::Packet> Sender::due(Time now)
{
    if (sent_ != 0 && now >= again_) {
        sent_ = 0;
        ++tries_;
    }
    if (sent_ == 0)
        again_ = now + timeout;
    std::vector<Packet> packets;
    for (; sent_ < messages_.size(); ++sent_)
        packets.push_back({.psn = static_cast<std::uint32_t>((first_ + sent_) & psnMask),
                           .payload = messages_[sent_]});
    return packets;
}

} // namespace openipoib::peers
