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
    next_ = (next_ + 1) & psnMask;
    const auto opcode = static_cast<ib::Opcode>(bth.opcode);
    if (opcode == ib::Opcode::rcSendFirst || opcode == ib::Opcode::rcSendOnly)
        message_.clear();
    io::append(message_, payload);
    Outcome outcome;
    if (opcode == ib::Opcode::rcSendLast || opcode == ib::Opcode::rcSendOnly) {
        messages_ = (messages_ + 1) & psnMask;
        outcome.message = message_;
    }
    if (bth.acknowledge)
        outcome.answer = Acknowledgement{.psn = bth.psn, .messages = messages_};
    return outcome;
}

void Sender::acknowledge(const Acknowledgement &answer, Time now)
{
    while (sent_ != 0 && (before(first_, answer.psn) || (answer.isAck() && first_ == answer.psn))) {
        messages_.pop_front();
        first_ = (first_ + 1) & psnMask;
        --sent_;
        again_ = now + timeout;
    }
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
