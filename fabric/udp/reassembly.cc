// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "udp/reassembly.hpp"

namespace openipoib::fabric
{

void Reassembly::giveUp(std::map<std::uint64_t, Partial>::iterator frame)
{
    ++counters_.rxIncomplete;
    partial_.erase(frame);
}

void Reassembly::expire(Time now)
{
    if (now < expireAt_)
        return;
    expireAt_ = now + longest / 4;
    counters_.rxIncomplete +=
        std::erase_if(partial_, [now](const auto &frame) { return frame.second.until <= now; });
}

void Reassembly::clear()
{
    counters_.rxIncomplete += partial_.size();
    partial_.clear();
}

std::optional<io::Bytes> Reassembly::add(const Datagram &fragment, Time now)
{
    if (fragment.count == 1 && fragment.payload.size() <= mostBytes_)
        return io::Bytes(fragment.payload.begin(), fragment.payload.end());
    const auto [at, isNew] = partial_.try_emplace(fragment.first());
    Partial &frame = at->second;
    if (isNew) {
        frame.fragments.resize(fragment.count);
        frame.missing = fragment.count;
        frame.until = now + longest;
    }
    if (frame.fragments.size() != fragment.count || !frame.fragments[fragment.index].empty() ||
        frame.bytes + fragment.payload.size() > mostBytes_) {
        ++counters_.rxFragment;
        giveUp(at);
        return std::nullopt;
    }
    frame.fragments[fragment.index].assign(fragment.payload.begin(), fragment.payload.end());
    frame.bytes += fragment.payload.size();
    if (--frame.missing == 0) {
        io::Bytes whole;
        whole.reserve(frame.bytes);
        for (const io::Bytes &part : frame.fragments)
            io::append(whole, part);
        partial_.erase(at);
        return whole;
    }
    if (partial_.size() > mostFrames)
        giveUp(partial_.begin());
    return std::nullopt;
}

} // namespace openipoib::fabric
