// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "udp/tunnel.hpp"

#include <algorithm>

namespace openipoib::fabric
{

namespace
{

using namespace std::chrono_literals;

constexpr auto absentAfter = 1s; // of silence: another one may take the peer's place
constexpr auto renewAfter = 3s;
constexpr auto greetingInterval = 20ms; // between two answers to strangers
constexpr std::size_t mostEpochs = 1024;

} // namespace

Tunnel::Tunnel(io::View key, std::size_t mostFrame, Random random)
    : mac_(key), random_(std::move(random)), reassembly_(mostFrame, counters_)
{
    beginEpoch();
}

void Tunnel::beginEpoch()
{
    const std::uint64_t old = ours_;
    do
        ours_ = std::uint64_t{random_()} << 32 | random_();
    while (ours_ == 0 || ours_ == old);
    theirs_ = 0;
    over_.clear();
    reassembly_.clear();
}

io::Bytes Tunnel::greeting(std::uint64_t to)
{
    ++counters_.txGreeting;
    return Datagram{.from = ours_, .to = to, .seq = ++seq_, .payload = {}}.bytes(mac_);
}

std::vector<io::Bytes> Tunnel::wrap(io::View frame, std::size_t mostDatagram, Time now)
{
    reassembly_.expire(now);
    if (theirs_ != 0 && now - heardAt_ >= renewAfter)
        beginEpoch(); // another one may have been in our place meanwhile
    std::vector<io::Bytes> result;
    if (theirs_ == 0) {
        result.push_back(greeting(0));
        return result;
    }
    const std::size_t most =
        mostDatagram > Datagram::overhead ? mostDatagram - Datagram::overhead : 1;
    const std::size_t count = (frame.size() + most - 1) / most;
    if (count == 0 || count > Datagram::mostFragments)
        return result;
    if (count > 1)
        ++counters_.txFrame;
    const std::size_t each = (frame.size() + count - 1) / count;
    for (std::size_t index = 0; index < count; ++index) {
        const std::size_t start = index * each;
        result.push_back(
            Datagram{.count = static_cast<std::uint8_t>(count),
                     .index = static_cast<std::uint8_t>(index),
                     .from = ours_,
                     .to = theirs_,
                     .seq = ++seq_,
                     .payload = frame.subspan(start, std::min(each, frame.size() - start))}
                .bytes(mac_));
    }
    return result;
}

// Somebody with the key, now or at any time before, who does not know our epoch.
Tunnel::Arrival Tunnel::onStranger(std::uint64_t epoch, Time now)
{
    ++counters_.rxEpoch;
    Arrival result;
    if (now - greetedAt_ < greetingInterval)
        return result;
    greetedAt_ = now;
    result.reply = greeting(epoch);
    return result;
}

// The peer has come, or has restarted; false if this cannot be the peer.
bool Tunnel::adopt(const Datagram &datagram, bool isFromPeer, Time now)
{
    if (over_.contains(datagram.from)) {
        ++counters_.rxEpoch;
        return false;
    }
    if (theirs_ != 0 && !isFromPeer && now - heardAt_ < absentAfter) {
        ++counters_.rxForeign;
        return false;
    }
    if (theirs_ != 0)
        over_.insert(theirs_);
    if (over_.size() >= mostEpochs) { // nothing recorded is of any use then
        beginEpoch();
        return false;
    }
    theirs_ = datagram.from;
    window_.begin(datagram.seq);
    reassembly_.clear();
    ++counters_.peerUp;
    return true;
}

Tunnel::Arrival Tunnel::onDatagram(io::View bytes, bool isFromPeer, Time now)
{
    const auto datagram = Datagram::parse(bytes, mac_);
    if (!datagram) {
        ++(datagram.error() == DatagramFault::length    ? counters_.rxLength
           : datagram.error() == DatagramFault::version ? counters_.rxVersion
                                                        : counters_.rxCode);
        return {};
    }
    if (datagram->from == ours_) {
        ++counters_.rxReflected;
        return {};
    }
    if (datagram->to != ours_)
        return onStranger(datagram->from, now);
    if (datagram->from != theirs_) {
        if (!adopt(*datagram, isFromPeer, now))
            return {};
    } else if (!window_.take(datagram->seq)) {
        ++counters_.rxReplay;
        return {};
    }
    heardAt_ = now;
    ++counters_.rx;
    Arrival result{.frame = {}, .reply = {}, .isNewest = datagram->seq == window_.newest()};
    reassembly_.expire(now);
    if (datagram->count != 0)
        result.frame = reassembly_.add(*datagram, now);
    return result;
}

} // namespace openipoib::fabric
