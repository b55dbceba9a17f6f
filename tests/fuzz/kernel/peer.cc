// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "peer.hpp"

#include "attributes.hpp"

#include <algorithm>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::uint8_t rc = 2, uc = 3, ud = 4;
constexpr std::uint32_t firstNumber = 0x100;  // of the peer's own queue pairs
constexpr std::uint32_t anyNumber = 0xFFFFFF; // of a group's queue pairs
constexpr std::size_t icrcSize = 4, lrhSize = 8;
// The transaction of a datagram that the HCA would answer, but must not get
constexpr std::uint8_t stowaway[] = {'s', 't', 'o', 'w', 'a', 'w', 'a', 'y'};

struct Local {
    std::uint8_t type;
    int srq;
    std::uint16_t pkeyIndex;
    std::uint8_t served; // READ and atomic requests at a time
};
// The queue pairs of the local process, by slot
constexpr Local locals[Peer::slots] = {{rc, -1, 0, 16}, {rc, 0, 0, 4}, {uc, -1, 0, 0},
                                       {ud, -1, 0, 0},  {ud, 0, 1, 0}, {rc, -1, 1, 1},
                                       {uc, 0, 0, 0},   {rc, -1, 0, 2}};

// Requests and responses of the reliable service, those that begin a message more often
constexpr std::uint8_t reliable[] = {0x04, 0x0A, 0x0C, 0x13, 0x00, 0x01, 0x02, 0x06, 0x07, 0x08,
                                     0x05, 0x0B, 0x14, 0x0C, 0x16, 0x17, 0x03, 0x09, 0x11, 0x10,
                                     0x0D, 0x0E, 0x0F, 0x12, 0x15, 0x04, 0x0C, 0x14, 0x0A, 0x11};
constexpr std::uint8_t unreliable[] = {0x24, 0x2A, 0x20, 0x21, 0x22, 0x26,
                                       0x27, 0x28, 0x25, 0x2B, 0x23, 0x29};
constexpr std::size_t lengths[] = {64, 1024, 0, 1, 3, 256, 4096, 2048, 1023, 1025, 40, 8};

bool isOneOf(std::uint8_t opcode, std::initializer_list<int> set)
{
    return std::ranges::find(set, opcode & 0x1F) != set.end();
}

// A datagram to QP0 or QP1
io::Bytes datagram(io::View mad, bool subnet, std::uint16_t from)
{
    io::Bytes whole{static_cast<std::uint8_t>(subnet ? 0xF0 : 0), 2};
    io::append<2>(whole, leftLid);
    io::append<2>(whole, (lrhSize + 12 + 8 + mad.size() + icrcSize) / 4);
    io::append<2>(whole, from);
    io::append<1>(whole, 0x64);
    io::append<1>(whole, 0);
    io::append<2>(whole, 0xFFFF);
    io::append<4>(whole, subnet ? 0 : 1);
    io::append<4>(whole, 0);
    io::append<4>(whole, subnet ? 0 : 0x80010000u);
    io::append<4>(whole, subnet ? 0 : 1);
    io::append(whole, mad);
    whole.resize(whole.size() + icrcSize);
    return whole;
}

// SubnGet(NodeInfo)
io::Bytes question()
{
    io::Bytes mad{1, 1, 1, 1, 0, 0, 0, 0};
    io::append(mad, stowaway);
    io::append<2>(mad, 0x11);
    mad.resize(madSize);
    return datagram(mad, true, rightLid);
}

} // namespace

Peer::Peer() : cable_(plugLender("vb")), umad_("sib0")
{
    cable_.forbid(stowaway);
}

bool Peer::begin(unsigned tries)
{
    packets_.clear();
    count_ = 0;
    wasHeld_ = false;
    psns_.fill(0);
    if (!cable_.train())
        return false;
    if (!info_.empty() && reactivate(umad_, info_))
        return true;
    // INIT follows at once; the tasklet need not have come that far.
    for (unsigned i = 0; i < tries; ++i) {
        if (std::optional<io::Bytes> info = activate(umad_, leftLid)) {
            info_ = *info;
            return true;
        }
        if (!umad_ && i > 2)
            return false;
        usleep(2000);
    }
    return false;
}

void Peer::end()
{
    flush();
    if (wasHeld_)
        usleep(1000); // for an answer that must not come
    cable_.receive();
}

void Peer::populate(Process &process)
{
    for (unsigned slot = 0; slot < 4; ++slot)
        process.mr(slot);
    for (unsigned slot = 0; slot < slots; ++slot) {
        const Local &one = locals[slot];
        Qp *qp = process.qp({.slot = slot,
                             .sendCq = 0,
                             .recvCq = 1,
                             .srq = one.srq,
                             .type = one.type,
                             .sends = 16,
                             .recvs = 16});
        if (!qp)
            continue;
        for (const std::uint8_t state : {init, rtr, rts}) {
            ib_uverbs_modify_qp in = usual(*qp, firstNumber + slot, rightLid, state);
            in.pkey_index = one.pkeyIndex;
            in.max_dest_rd_atomic = one.served;
            process.modify(*qp, in);
        }
        if (qp->rq.map)
            process.postRecv(qp->rq, slot, 8, 0);
    }
    if (Srq *shared = process.srq(0))
        process.postRecv(shared->rq, 2, 12, 0);
}

io::Bytes Peer::extension(const Record &record, const Process &process, std::uint8_t opcode)
{
    io::Bytes out;
    const Mr *region = process.known(record[6] & 3);
    const std::uint64_t length = region ? region->length : 0;
    const std::uint64_t moves[] = {0, 8, length - 64, length, 1, length / 2, length - 8, 4096};
    const std::uint64_t address = (region ? region->iova : 0) + moves[record[6] >> 2 & 7];
    const std::uint32_t key = (region ? region->key : 0) + (record[6] >= 0xE0 ? 0x100u : 0u);
    const std::size_t asked = record[7] & 1 ? record.half(6) * 16u : record.pick(4, lengths);
    if (isOneOf(opcode, {0x06, 0x0A, 0x0B, 0x0C}) && opcode < 0x40) {
        io::append<8>(out, address);
        io::append<4>(out, key);
        io::append<4>(out, asked);
    }
    if (isOneOf(opcode, {0x0D, 0x0F, 0x10, 0x11, 0x12}) && opcode < 0x20)
        io::append<4>(out, static_cast<std::uint32_t>(record[6]) << 24 | record[7]);
    if (isOneOf(opcode, {0x13, 0x14}) && opcode < 0x20) {
        io::append<8>(out, (address + 7) & ~std::uint64_t{7});
        io::append<4>(out, key);
        io::append<8>(out, record[7]);
        io::append<8>(out, record[6]);
    }
    if (opcode == 0x12)
        io::append<8>(out, record[7]);
    if (isOneOf(opcode, {0x03, 0x05, 0x09, 0x0B}) || opcode == 0x65)
        io::append<4>(out, 0x01020304);
    if (isOneOf(opcode, {0x16, 0x17}) && opcode < 0x20)
        io::append<4>(out, key);
    return out;
}

io::Bytes Peer::transport(const Record &record, const Process &process, std::uint8_t opcode,
                          std::uint32_t psn)
{
    constexpr std::uint16_t others[] = {0xFFFF, 0x8001, 0x7FFF, 0x8002, 0, 0x0002};
    const unsigned slot = record[1] % slots;
    const std::uint16_t own = pkeys[locals[slot].pkeyIndex];
    const std::size_t size = isOneOf(opcode, {0x0C, 0x11, 0x12, 0x13, 0x14}) && opcode < 0x20
                                 ? 0
                                 : record.pick(4, lengths);
    const std::uint8_t pad = static_cast<std::uint8_t>(-size & 3);
    io::Bytes out{opcode};
    io::append<1>(out, (record[5] & 2 ? 0x80u : 0) | pad << 4 |
                           (record[5] & 0x80 ? record[7] & 15u : 0));
    io::append<2>(out, record[5] & 4 ? record.pick(7, others) : own);
    io::append<4>(out, (record[5] & 0x90) == 0x10 ? anyNumber : process.number(slot));
    io::append<4>(out, (record[5] & 1 ? 0u : 0x80000000u) | (psn & 0xFFFFFF));
    if (opcode >= 0x60) {
        io::append<4>(out, record[5] & 8 ? record[6] : qkey);
        io::append<4>(out, firstNumber + slot);
    }
    io::append(out, extension(record, process, opcode));
    out.resize(out.size() + size, static_cast<std::uint8_t>(0xA0 + slot));
    out.resize(out.size() + pad + icrcSize);
    return out;
}

void Peer::packet(const Record &record, const Process &process)
{
    const unsigned slot = record[1] % slots;
    const Local &one = locals[slot];
    std::uint8_t opcode = one.type == rc   ? record.pick(2, reliable)
                          : one.type == uc ? record.pick(2, unreliable)
                          : record[2] & 1  ? 0x65
                                           : 0x64;
    if (record[2] >= 250)
        opcode = record[3];
    // Mostly the number that is expected; a response names one of ours.
    const bool isResponse = opcode >= 0x0D && opcode <= 0x12;
    const int delta = record[3] < 160 ? 0 : record[3] < 200 ? -(record[3] & 7) : record[3] & 15;
    const std::uint32_t psn =
        isResponse ? record[3] % 32u : psns_[slot] + static_cast<std::uint32_t>(delta);
    if (!isResponse && delta == 0) {
        const std::size_t asked = record[7] & 1 ? record.half(6) * 16u : record.pick(4, lengths);
        psns_[slot] += opcode == 0x0C ? std::max<std::uint32_t>(1, (asked + 1023) / 1024) : 1;
    }
    const io::Bytes rest = transport(record, process, opcode, psn);
    const bool group = record[5] & 0x10;
    io::Bytes whole;
    io::append<1>(whole, record[5] & 0x40 ? record[7] & 0xF0u : 0u); // lane, version
    io::append<1>(whole, group || record[5] & 0x20 ? 3u : 2u);
    io::append<2>(whole, group                               ? groupLid
                         : record[5] & 0x40 && record[6] & 1 ? record[7]
                                                             : leftLid);
    const std::size_t size = lrhSize + rest.size() + (group || record[5] & 0x20 ? 40u : 0u);
    io::append<2>(whole, size / 4 + (record[5] & 0x80 ? record[6] % 4u : 0));
    io::append<2>(whole, rightLid);
    if (group || record[5] & 0x20) {
        io::append<4>(whole, 0x60000000);
        io::append<2>(whole, rest.size());
        io::append<2>(whole, 0x1B00 + record[6] % 2u);
        whole.resize(whole.size() + 16, 0xFE);
        whole.push_back(group ? 0xFF : 0xFE);
        whole.resize(whole.size() + 14, 0x12);
        whole.push_back(2);
    }
    io::append(whole, rest);
    add(whole);
}

void Peer::add(io::View packet)
{
    if (packets_.size() + packet.size() + link::Header::size > Cable::longest || count_ == 255)
        flush();
    io::append(packets_, packet);
    ++count_;
}

void Peer::rawPacket(io::View octets)
{
    add(octets);
}

void Peer::flush()
{
    if (count_)
        cable_.sendData(packets_, count_);
    packets_.clear();
    count_ = 0;
}

// The frame under construction, with what the record wants of its header.
void Peer::frame(const Record &record)
{
    constexpr std::uint32_t moves[] = {0, 0, 0, 1, 2, 5, 127, 128, 0xFFFFFFFF, 0xFFFFFF00, 100, 3};
    link::Header header = cable_.header(link::FrameType::data);
    const std::uint32_t move = record.pick(1, moves);
    header.seq += move;
    header.count = record[2] ? static_cast<std::uint8_t>(count_ + record[2]) : count_;
    header.ack += record[4] < 200 ? 0 : record[4] - 228u;
    header.flags = record[5];
    if (record[6] & 1)
        header.session += record[7];
    if (record[6] & 2)
        header.window = record[7];
    if (move == 0)
        cable_.advance();
    const auto length = static_cast<std::uint16_t>(link::Header::size + packets_.size());
    cable_.send(
        record[3] ? header.frameWithLength(packets_, static_cast<std::uint16_t>(length + record[3]))
                  : header.frame(packets_),
        record[6] & 4);
    packets_.clear();
    count_ = 0;
}

// The frame under construction ahead of its turn, and beyond its end a packet that is not of
// it; then its header is changed where it is held; then the one that it waits for.
void Peer::held(const Record &record)
{
    constexpr std::size_t places[] = {2, 6, 28 + 4, 28 + 8, 28 + 2, 0, 16, 28};
    constexpr std::uint16_t values[] = {0xFFFF, 0x2000, 28, 0, 27, 0x00FF, 1000, 36};
    constexpr std::size_t lengthAt = 2, flagsAt = 6;
    link::Header ahead = cable_.header(link::FrameType::data);
    ahead.seq += 1 + record[1] % 3u;
    ahead.count = count_;
    io::Bytes frame = ahead.frame(packets_);
    if (const io::Bytes more = question(); frame.size() + more.size() <= Cable::longest)
        io::append(frame, more);
    cable_.send(frame);
    if (record[6] & 1)
        cable_.scribble(0, lengthAt, static_cast<std::uint16_t>(frame.size()));
    if (record[6] & 2)
        cable_.scribble(0, flagsAt, static_cast<std::uint16_t>(count_ + 1u));
    if (!(record[6] & 3))
        cable_.scribble(0, record.pick(2, places),
                        record[3] & 0x80 ? record.half(4) : record.pick(3, values));
    for (unsigned i = 0; i <= record[1] % 3u; ++i)
        cable_.sendData({}, 0);
    cable_.advance();
    packets_.clear();
    count_ = 0;
    wasHeld_ = true;
}

void Peer::hello(const Record &record)
{
    constexpr std::uint32_t longestFrames[] = {9000, 368, 367, 1500, 65535, 0};
    const std::uint32_t peers[] = {cable_.peer(), 0, cable_.session(), record.half(4)};
    cable_.hello(record.pick(1, peers), record[2] % 4, record.pick(3, longestFrames));
    cable_.receive();
}

void Peer::acknowledge(const Record &record)
{
    cable_.receive();
    const std::uint32_t ack = cable_.expected() + (record[1] < 200 ? 0 : record[1] - 228u);
    cable_.sendAck(ack, record[2] < 200 ? 0 : record[2], record[3] < 200 ? 128 : record[3] - 200);
}

void Peer::scribble(const Record &record)
{
    cable_.scribble(record[1] % 8u, record.half(2) % 256u, record.half(4));
}

void Peer::rawFrame(const Record &record, io::View octets)
{
    if (record[2] & 1) {
        cable_.send(octets);
        return;
    }
    link::Header header = cable_.header(link::FrameType::data);
    header.type = static_cast<link::FrameType>(record[3] % 5);
    header.count = record[4];
    if (header.type == link::FrameType::data)
        cable_.advance();
    cable_.send(header.frame(octets));
}

void Peer::mad(io::View mad, bool subnet, std::uint16_t from)
{
    add(datagram(mad, subnet, from));
    flush();
}

} // namespace openipoib::kfuzz
