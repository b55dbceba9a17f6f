// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Posting and polling, and what must not be done to mapped queues.
#include "process.hpp"

#include "guard.hpp"

#include <algorithm>
#include <atomic>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::uint8_t rc = 2, uc = 3;
// Requests of ours: a random number would be one of them hardly ever.
constexpr std::uint64_t mark = 0x51B0ull << 48;

constexpr std::uint32_t signaled = 2, solicited = 4, inlined = 8, fenced = 1;

std::uint32_t flagsOf(std::uint8_t octet)
{
    return (octet & 1 ? 0 : signaled) | (octet & 2 ? solicited : 0) | (octet & 4 ? inlined : 0) |
           (octet & 8 ? fenced : 0);
}

std::uint32_t opcodeOf(std::uint8_t type, std::uint8_t octet)
{
    constexpr std::uint32_t reliable[] = {
        IB_UVERBS_WR_SEND,          IB_UVERBS_WR_RDMA_WRITE,
        IB_UVERBS_WR_RDMA_READ,     IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD,
        IB_UVERBS_WR_SEND_WITH_IMM, IB_UVERBS_WR_RDMA_WRITE_WITH_IMM,
        IB_UVERBS_WR_SEND_WITH_INV, IB_UVERBS_WR_ATOMIC_CMP_AND_SWP,
        IB_UVERBS_WR_RDMA_READ,     IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD};
    constexpr std::uint32_t unreliable[] = {IB_UVERBS_WR_SEND, IB_UVERBS_WR_RDMA_WRITE,
                                            IB_UVERBS_WR_SEND_WITH_IMM,
                                            IB_UVERBS_WR_RDMA_WRITE_WITH_IMM};
    constexpr std::uint32_t datagram[] = {IB_UVERBS_WR_SEND, IB_UVERBS_WR_SEND_WITH_IMM};
    if (octet >= 240)
        return octet - 240; // any, whatever the service
    if (type == rc)
        return reliable[octet % std::size(reliable)];
    return type == uc ? unreliable[octet % 4] : datagram[octet % 2];
}

} // namespace

const Mr *Process::known(unsigned slot) const
{
    const Mr &one = mrs_[slot % mrs];
    return one.key ? &one : nullptr;
}

std::uint32_t Process::number(unsigned slot) const
{
    const auto &one = qps_[slot % qps];
    return one ? one->number : slot;
}

// A list's entry: within a region, or just beyond.
ib_uverbs_sge Process::entry(unsigned slot, std::uint8_t where, std::size_t usual)
{
    const Mr *region = mr(slot);
    if (!region)
        return {};
    const std::size_t lengths[] = {usual, 8, 0, 1, 256, 1024, 4096, 5000};
    const std::size_t length = lengths[where & 7];
    const std::uint64_t end = region->iova + region->length;
    const std::uint64_t places[] = {region->iova, region->iova + 8, end - length, end - length + 4};
    ib_uverbs_sge one{};
    one.addr = places[where >> 3 & 3];
    one.length = static_cast<std::uint32_t>(length);
    one.lkey = region->key;
    if (where >> 5 == 6)
        one.lkey ^= 1; // another variant
    else if (where >> 5 == 7)
        one.lkey += 0x100; // the next region, or none
    return one;
}

void Process::fillRemote(ib_uverbs_send_wr &wr, const Record &record, const Process &peer)
{
    const Mr *region = peer.known(record[6] & 7);
    if (!region)
        region = known(0);
    const std::uint64_t iova = region ? region->iova : 0;
    const std::uint64_t length = region ? region->length : 0;
    const std::uint64_t places[] = {0, 8, length - 8, length, length - 64, length / 2, 1, 4096};
    const std::uint64_t address = iova + places[record[6] >> 3 & 7];
    const std::uint32_t key = (region ? region->key : 0) + (record[6] >= 0xE0 ? 1u : 0u);
    switch (wr.opcode) {
    case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
    case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
        wr.wr.atomic.remote_addr = (address + 7) & ~std::uint64_t{7};
        wr.wr.atomic.compare_add = record[7];
        wr.wr.atomic.swap = record[6];
        wr.wr.atomic.rkey = key;
        break;
    case IB_UVERBS_WR_SEND_WITH_INV:
        wr.ex.invalidate_rkey = key;
        break;
    default:
        wr.wr.rdma.remote_addr = address;
        wr.wr.rdma.rkey = key;
    }
}

io::Bytes Process::sendCommand(const Record &record, const Process &peer, Qp &target)
{
    const unsigned count = 1 + (record[3] >> 4 & 7);
    const bool atomic = opcodeOf(target.type, record[2]) == IB_UVERBS_WR_ATOMIC_CMP_AND_SWP ||
                        opcodeOf(target.type, record[2]) == IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD;
    constexpr std::uint32_t lists[] = {1, 2, 0, 3};
    const std::uint32_t sges = atomic ? 1 : lists[record[4] & 3];
    ib_uverbs_post_send head{};
    head.qp_handle = target.handle;
    head.wr_count = count;
    head.sge_count = count * sges;
    head.wqe_size = sizeof(ib_uverbs_send_wr);
    std::vector<ib_uverbs_send_wr> requests(count);
    std::vector<ib_uverbs_sge> list(head.sge_count);
    for (ib_uverbs_send_wr &wr : requests) {
        wr.wr_id = mark | shared_.next++;
        wr.num_sge = sges;
        wr.opcode = opcodeOf(target.type, record[2]);
        wr.send_flags = flagsOf(record[3]);
        if (target.type == rc || target.type == uc) {
            fillRemote(wr, record, peer);
        } else {
            wr.wr.ud.ah = ah(record[7] & 7u).value_or(0);
            const unsigned slot = record[7] >> 3 & 7;
            wr.wr.ud.remote_qpn = record[7] & 0x40 ? number(slot) : peer.number(slot);
            wr.wr.ud.remote_qkey = record[7] & 0x80 ? 0x80000000u : qkey;
        }
        shared_.requests[wr.wr_id] = {};
    }
    for (ib_uverbs_sge &one : list) {
        one = entry(record[4] >> 2, atomic ? record[5] & 0xF8 : record[5], atomic ? 8 : 64);
        if (flagsOf(record[3]) & inlined)
            one.addr = arena_.address() + 16;
    }
    io::Bytes octets;
    const auto put = [&octets](const void *from, std::size_t size) {
        const auto *first = static_cast<const std::uint8_t *>(from);
        octets.insert(octets.end(), first, first + size);
    };
    put(&head, sizeof(head));
    put(requests.data(), requests.size() * sizeof(ib_uverbs_send_wr));
    put(list.data(), list.size() * sizeof(ib_uverbs_sge));
    return octets;
}

void Process::postSend(const Record &record, const Process &peer)
{
    Qp *target = qp(record[1] >> 1);
    if (!target)
        return;
    const io::Bytes octets = sendCommand(record, peer, *target);
    ib_uverbs_post_send_resp out{};
    file_.command(IB_USER_VERBS_CMD_POST_SEND, io::View(octets), out, record[1] & 0x80);
}

void Process::postRecv(const Record &record)
{
    if (record[2] & 1) {
        if (Srq *shared = srq(record[1] >> 1))
            postRecv(shared->rq, record[4], 1 + record[3] % 32u, record[5]);
    } else if (Qp *target = qp(record[1] >> 1)) {
        Rq *rq = &target->rq;
        if (target->srq >= 0) {
            Srq *shared = srq(static_cast<unsigned>(target->srq));
            rq = shared ? &shared->rq : rq;
        }
        postRecv(*rq, record[4], 1 + record[3] % 32u, record[5]);
    }
}

// Into mapped memory, as a library does it.
void Process::postRecv(Rq &rq, unsigned slot, unsigned count, std::uint8_t where)
{
    if (!rq.map)
        return;
    for (unsigned i = 0; i < count; ++i) {
        const std::uint32_t head = rq.map.head();
        const std::uint32_t next = head + 1 > rq.entries ? 0 : head + 1;
        if (head > rq.entries || next == rq.map.tail())
            return;
        auto *request = reinterpret_cast<rvt_rwqe *>(rq.map.data() + 8 + rq.stride() * head);
        request->wr_id = mark | shared_.next++;
        request->num_sge = rq.sges ? 1 : 0;
        if (rq.sges) {
            const ib_uverbs_sge one = entry(slot, where, 4096);
            request->sg_list[0] = {one.addr, one.length, one.lkey};
        }
        shared_.requests[request->wr_id] = {rq.id, false};
        std::atomic_thread_fence(std::memory_order_release);
        rq.map.head() = next;
    }
}

namespace
{

// Whether a key of one and a key of the other are of one partition, and one of them full.
bool shareOne(const std::set<std::uint16_t> &some, const std::set<std::uint16_t> &others)
{
    for (const std::uint16_t a : some)
        for (const std::uint16_t b : others)
            if (((a ^ b) & 0x7FFF) == 0 && ((a | b) & 0x8000))
                return true;
    return false;
}

} // namespace

void Process::poll(unsigned slot)
{
    Cq *one = cq(slot);
    if (!one || !one->map)
        return;
    for (unsigned i = 0; i < 64; ++i) {
        const std::uint32_t head = one->map.head(), tail = one->map.tail();
        if (head == tail || tail > one->entries || head > one->entries)
            return;
        std::atomic_thread_fence(std::memory_order_acquire);
        ib_uverbs_wc wc;
        std::memcpy(&wc, one->map.data() + 8 + sizeof(wc) * tail, sizeof(wc));
        one->map.tail() = tail + 1 > one->entries ? 0 : tail + 1;
        if (!one->spoilt && shared_.believes)
            completed(wc);
    }
}

void Process::completed(const ib_uverbs_wc &wc)
{
    if (wc.wr_id >> 48 != mark >> 48)
        return;
    const auto known = shared_.requests.find(wc.wr_id);
    if (known == shared_.requests.end()) {
        // Whoever scribbles on a queue can change what a request there is called.
        promise(!shared_.spoilt.empty(), "a completion of what was never posted");
        return;
    }
    Shared::Request &request = known->second;
    if (shared_.spoilt.contains(request.queue))
        return;
    promise(!request.completed, "a request has completed twice");
    request.completed = true;
    checkPkeys(wc);
}

// What has been received came from a member of the same partition.
void Process::checkPkeys(const ib_uverbs_wc &wc) const
{
    constexpr std::uint32_t receive = 128; // IB_WC_RECV
    const auto to = shared_.pkeysOf.find(wc.qp_num);
    const auto from = shared_.pkeysOf.find(wc.src_qp);
    if (wc.status || !(wc.opcode & receive) || to == shared_.pkeysOf.end() ||
        from == shared_.pkeysOf.end() || !shared_.knowsSenders ||
        shared_.connected.contains(wc.qp_num))
        return;
    promise(shareOne(to->second, from->second), "a packet from one partition in another");
}

void Process::readEvents() const
{
    std::array<std::uint8_t, 256> buffer;
    for (const int fd : {file_ ? file_.events() : -1, channel_.get()})
        while (fd >= 0 && read(fd, buffer.data(), buffer.size()) > 0)
            continue;
}

void Process::scribble(const Record &record)
{
    const Mapping *map = nullptr;
    const unsigned slot = record[1] >> 1;
    std::uint32_t entries = 0;
    if (record[2] % 3 == 0) {
        if (Cq *one = cq(slot)) {
            one->spoilt = true;
            map = &one->map;
            entries = one->entries;
        }
    } else {
        Srq *shared = record[2] % 3 == 1 ? srq(slot) : nullptr;
        Qp *own = shared ? nullptr : qp(slot);
        if (Rq *rq = shared ? &shared->rq : own ? &own->rq : nullptr) {
            shared_.spoilt.insert(rq->id);
            map = &rq->map;
            entries = rq->entries;
        }
    }
    if (!map || !*map)
        return;
    const std::uint32_t values[] = {0,          entries,    entries + 1,   1,
                                    0x7FFFFFFF, 0xFFFFFFFF, record.half(6)};
    const std::size_t places[] = {0, 1, 2, 4, 6, record.half(3)};
    map->word(places[record[3] % 6] % (map->size() / 4)) = record.pick(5, values);
}

// Map a queue once more: as it is to be, or in a way that is to be refused.
void Process::remap(const Record &record)
{
    const unsigned slot = record[1] >> 1;
    const Cq *one = record[2] & 1 ? cq(slot) : nullptr;
    const Qp *own = record[2] & 1 ? nullptr : qp(slot);
    if (others_.size() >= 8)
        others_.erase(others_.begin());
    const std::uint64_t offset = one ? one->offset : own ? own->rq.offset : 0;
    const std::size_t size = one ? one->map.size() : own ? own->rq.bytes() : 0;
    constexpr std::int64_t moves[] = {0, 0, 4096, -4096, 1 << 20};
    if (size)
        others_.emplace_back(file_.fd(), offset + static_cast<std::uint64_t>(record.pick(3, moves)),
                             record[4] & 1 ? size + 4096 : size);
}

} // namespace openipoib::kfuzz
