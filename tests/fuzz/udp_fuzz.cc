// SPDX-License-Identifier: GPL-2.0-only OR MIT
// What may come to a `udp:` cable, for libFuzzer: any bytes, datagrams that were made with the
// key and say anything, those that have come before, and time that passes.
#include "input.hpp"
#include "promise.hpp"
#include "udp/tunnel.hpp"

namespace
{

using namespace openipoib;
using namespace openipoib::fabric;

constexpr std::size_t mostFrame = 512;
const io::Bytes key(32, 7);

class Campaign
{
  public:
    explicit Campaign(Input &input) : input_(input) {}

    void step()
    {
        const std::uint8_t what = input_.byte();
        isFromPeer_ = (what & 0x80) != 0;
        switch (what % 5) {
        case 0:
            return take(input_.bytes(input_.half() % 1024));
        case 1:
            return take(made());
        case 2:
            now_ += std::chrono::milliseconds(input_.byte() * 16);
            return;
        case 3:
            return wrap(input_.half() % mostFrame, input_.half());
        default:
            const auto arrival = tunnel_.onDatagram(taken_, isFromPeer_, now_);
            promise(!arrival.frame && !arrival.isNewest, "nothing comes twice");
        }
    }

  private:
    [[nodiscard]] io::Bytes made()
    {
        const std::uint8_t kind = input_.byte();
        Datagram datagram{.count = input_.byte(),
                          .index = input_.byte(),
                          .from = (kind & 1) != 0 ? ours_ : 1U + (kind >> 4),
                          .to = (kind & 2) != 0 ? input_.byte() : ours_,
                          .seq = (kind & 4) != 0 ? ~std::uint64_t{input_.byte()} : input_.half(),
                          .payload = {}};
        const auto payload = input_.bytes((kind & 8) != 0 ? 0 : input_.half() % mostFrame);
        datagram.payload = payload;
        return datagram.bytes(mac_);
    }

    void take(const io::Bytes &datagram)
    {
        const auto before = tunnel_.counters().rx;
        const auto arrival = tunnel_.onDatagram(datagram, isFromPeer_, now_);
        promise(!arrival.frame || arrival.frame->size() <= mostFrame, "frames are not too long");
        promise(tunnel_.partialFrames() <= Reassembly::mostFrames, "so many frames are held");
        if (tunnel_.counters().rx != before)
            taken_ = datagram;
        if (!arrival.reply)
            return;
        promise(arrival.reply->size() <= datagram.size(), "an answer is no longer");
        check(*arrival.reply, Datagram::overhead);
    }

    void wrap(std::size_t size, std::size_t most)
    {
        const io::Bytes frame(size, 1);
        std::size_t total = 0;
        const bool hadPeer = tunnel_.hasPeer();
        const auto datagrams = tunnel_.wrap(frame, most, now_);
        if (!tunnel_.hasPeer())
            most = Datagram::overhead;
        for (const auto &datagram : datagrams) {
            check(datagram, most);
            total += datagram.size() - Datagram::overhead;
        }
        promise(hadPeer || total == 0, "frames are for the peer alone");
        promise(!tunnel_.hasPeer() || datagrams.empty() || total == size, "whole frames");
    }

    void check(const io::Bytes &datagram, std::size_t most)
    {
        const auto read = Datagram::parse(datagram, mac_);
        promise(read.has_value(), "datagrams are valid");
        promise(datagram.size() <= std::max(most, Datagram::overhead + 1), "of the length wanted");
        ours_ = read->from;
    }

    Input &input_;
    Mac mac_{key};
    std::uint32_t chance_ = 1000;
    Tunnel tunnel_{key, mostFrame, [this] { return ++chance_; }};
    std::uint64_t ours_ = std::uint64_t{1001} << 32 | 1002;
    Time now_{std::chrono::hours(1)};
    bool isFromPeer_ = false;
    io::Bytes taken_; // the last one
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
    Input input({data, size});
    Campaign campaign(input);
    while (!input.atEnd())
        campaign.step();
    return 0;
}
