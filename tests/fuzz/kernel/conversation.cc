// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "conversation.hpp"

#include "attributes.hpp"
#include "guard.hpp"
#include "subnet.hpp"

#include <algorithm>
#include <sys/wait.h>
#include <unistd.h>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::uint8_t rc = 2, uc = 3, ud = 4;

// Kinds of records. Those that move much have several numbers.
enum Kind : std::uint8_t {
    allocPd,
    createCq,
    createSrq,
    registerMr,
    createQp,
    createAh,
    lastMake = createAh,
    deallocPd,
    destroyCq,
    destroySrq,
    deregisterMr,
    destroyQp,
    destroyAh,
    closeFile,
    lastEnd = closeFile,
    connectPair,
    connectPair2,
    modifyQp,
    modifyQp2,
    postSend,
    postSend2,
    postSend3,
    postRecv,
    postRecv2,
    pollCq,
    resizeCq,
    notifyCq,
    query,
    modifySrq,
    reregisterMr,
    attach,
    detach,
    scribble,
    remap,
    nap,
    fork,
    rawWrite,
    rawIoctl,
};
static_assert(rawIoctl + 1 == Conversation::kinds);

constexpr std::uint32_t depths[] = {16, 1, 2, 4, 8, 32, 64, 300, 0, 16384, 16385, 3};
constexpr std::uint8_t types[] = {rc, ud, uc, rc, ud, rc, 0, 9};

} // namespace

Conversation::Conversation(Coverage &coverage)
    : coverage_(coverage), left_("sib0", leftLid, rightLid, shared_),
      right_("sib1", rightLid, leftLid, shared_)
{
    shared_.knowsSenders = true;
}

void Conversation::make(const Record &record)
{
    Process &process = side(record);
    const unsigned slot = record[1] >> 1;
    switch (record[0]) {
    case allocPd:
        process.pd(slot);
        break;
    case createCq:
        process.cq(slot, record.pick(2, depths), record[3] & 1, record[3] & 2);
        break;
    case createSrq:
        process.srq(slot, record.pick(2, depths), record[3] % 34u);
        break;
    case registerMr:
        region(record);
        break;
    case createQp:
        makeQp(record);
        break;
    default:
        process.ah(slot);
    }
}

void Conversation::region(const Record &record)
{
    constexpr std::size_t lengths[] = {4096, 64, 8, 1, 8192, 16384, 100, 0};
    constexpr std::uint32_t rights[] = {0xF, 0xF, 1, 0, 3, 5, 9, 7, 0x1F, 0x2F, 2};
    Process::MrWish wish{.slot = record[1] >> 1u,
                         .pd = record[2],
                         .offset = record.half(3),
                         .length = record.pick(5, lengths),
                         .access = record.pick(6, rights)};
    if (record[7] & 1)
        wish.iova = record[7] & 2 ? ~std::uint64_t{0} - record[7] * 32u : record[7] * 4096u;
    if (record[0] == registerMr)
        side(record).mr(wish);
    else
        side(record).reregister(wish, record[7] >> 2 & 7);
}

void Conversation::makeQp(const Record &record)
{
    Process::QpWish wish{.slot = record[1] >> 1u,
                         .pd = record[3],
                         .sendCq = record[4] & 7u,
                         .recvCq = record[4] >> 3 & 7u,
                         .srq = record[4] & 0x40 ? static_cast<int>(record[3] & 3) : -1,
                         .type = record.pick(2, types),
                         .sends = record.pick(5, depths),
                         .recvs = record.pick(6, depths),
                         .signalAll = (record[7] & 1) != 0,
                         .byIoctl = (record[7] & 2) != 0};
    constexpr std::uint32_t lists[] = {2, 1, 4, 32, 0, 33, 2, 3};
    wish.sges = record.pick(5, lists);
    wish.recvSges = record[6] >> 4 & 3 ? 2 : record[6] >> 6;
    wish.inlined = record[7] & 4 ? record[7] * 2u : 0;
    side(record).qp(wish);
}

void Conversation::end(const Record &record)
{
    Process &process = side(record);
    const unsigned slot = record[1] >> 1;
    switch (record[0]) {
    case deallocPd:
        return process.deallocPd(slot);
    case destroyCq:
        return process.destroyCq(slot);
    case destroySrq:
        return process.destroySrq(slot);
    case deregisterMr:
        return process.deregister(slot);
    case destroyQp:
        return process.destroyQp(slot);
    case destroyAh:
        return process.destroyAh(slot);
    default:
        reap(); // a child has the file as well, and so what is in it
        process.close();
    }
}

void Conversation::step(Process &process, Qp &qp, const Qp &peer, std::uint8_t state,
                        const Record &record)
{
    const bool loops = &qp == &peer || record[3] & 1;
    ib_uverbs_modify_qp in =
        usual(qp, peer.number, loops ? process.lid() : process.peerLid(), state);
    constexpr std::uint8_t reads[] = {16, 4, 1, 2, 0, 16, 8, 17};
    in.max_dest_rd_atomic = in.max_rd_atomic = record.pick(5, reads);
    in.path_mtu = static_cast<std::uint8_t>(1 + record[6] % 5);
    in.pkey_index = record[7] & 7 ? 0 : record[7] >> 3 & 3;
    process.modify(qp, in);
}

// Two queue pairs, at both ends, of one HCA, or one with itself, ready to send.
void Conversation::connect(const Record &record)
{
    Process &near = side(record), &far = record[3] & 1 ? near : otherSide(record);
    const std::uint8_t type = record.pick(2, types);
    Qp *a = near.qp(record[1] >> 1, type), *b = far.qp(record[4], type);
    if (!a || !b)
        return;
    // The other end waits with what it knows to send to.
    for (const unsigned slot : {0u, 1u}) {
        near.mr(slot);
        far.mr(slot);
    }
    for (const std::uint8_t state : {init, rtr, rts}) {
        step(near, *a, *b, state, record);
        if (a != b)
            step(far, *b, *a, state, record);
    }
    if (record[3] & 2)
        return;
    for (Qp *qp : {a, b}) {
        Process &process = qp == a ? near : far;
        if (qp->rq.map)
            process.postRecv(qp->rq, 1, 4, 0);
    }
}

void Conversation::change(const Record &record)
{
    Process &process = side(record);
    Qp *qp = process.qp(record[1] >> 1);
    if (!qp)
        return;
    constexpr std::uint8_t next[] = {init, rtr, rts, sqd, rts, error, error, reset};
    // On to where it is not yet, unless it is told to be somewhere.
    std::uint8_t state = record[2] & 8 ? record[2] & 7 : next[qp->state & 7];
    if (record[2] & 16)
        state = qp->state;
    const std::uint16_t lid = record[2] & 32 ? process.lid() : process.peerLid();
    const Process &peer = record[2] & 32 ? process : otherSide(record);
    ib_uverbs_modify_qp in = usual(*qp, peer.number(record[3] & 7), lid, state);
    if (record[2] & 64)
        in.attr_mask &= ~1u;
    if (record[4] & 1)
        perturb(in, record[4] >> 1, record[5]);
    if (record[6] & 1)
        perturb(in, record[6] >> 1, record[7]);
    process.modify(*qp, in);
}

// From a child on, two processes use one queue, and what it says is nobody's.
void Conversation::childRuns(Records records)
{
    if (isChild_)
        return;
    reap();
    skip_ = records.size();
    shared_.believes = false;
    child_ = ::fork();
    if (child_ != 0)
        return;
    coverage_.joinChild();
    isChild_ = true;
    skip_ = 0;
    for (std::size_t i = 0; i < records.size(); ++i)
        one(records.subspan(i));
    _exit(0);
}

void Conversation::reap()
{
    int status = 0;
    if (child_ > 0 && waitpid(child_, &status, 0) == child_ && WIFEXITED(status) &&
        WEXITSTATUS(status) == foundStatus)
        _exit(foundStatus);
    child_ = -1;
}

void Conversation::transact(const Record &record)
{
    Process &process = side(record);
    const unsigned slot = record[1] >> 1;
    switch (record[0]) {
    case pollCq:
        process.readEvents();
        return process.poll(slot);
    case resizeCq:
        return process.resizeCq(slot, record.pick(2, depths));
    case notifyCq:
        return process.notifyCq(slot, record[2] & 1);
    case query:
        return record[2] & 1 ? process.querySrq(slot) : process.queryQp(slot);
    case modifySrq:
        return process.modifySrq(slot, record[2]);
    case reregisterMr:
        return region(record);
    case attach:
    case detach:
        return process.attach(slot, record[2], record[0] == detach);
    case scribble:
        return process.scribble(record);
    case remap:
        return process.remap(record);
    default:
        usleep(1000u * (1u + record[2] % 16u));
    }
}

void Conversation::work(const Record &record)
{
    switch (record[0]) {
    case connectPair:
    case connectPair2:
        return connect(record);
    case modifyQp:
    case modifyQp2:
        return change(record);
    case postSend:
    case postSend2:
    case postSend3:
        return side(record).postSend(record, record[6] & 0x20 ? side(record) : otherSide(record));
    case postRecv:
    case postRecv2:
        return side(record).postRecv(record);
    default:
        transact(record);
    }
}

void Conversation::one(Records rest)
{
    Record record = rest.front();
    record.octets[0] %= rawIoctl + 1;
    Process &process = side(record);
    if (!process.ready())
        return;
    if (record[0] <= lastMake)
        return make(record);
    if (record[0] <= lastEnd)
        return end(record);
    if (record[0] < fork)
        return work(record);
    const std::size_t count = std::min<std::size_t>(rest.size() - 1, record[2] % 16);
    if (record[0] == fork)
        return childRuns(rest.subspan(1, count));
    skip_ = count;
    isRaw_ = true;
    shared_.believes = false;
    if (record[0] == rawIoctl)
        return process.file().ioctlRaw(octetsOf(rest.subspan(1, count)));
    const std::uint32_t flag = record[3] == 255 ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0;
    process.file().writeRaw(record[4] % 55u | flag, octetsOf(rest.subspan(1, count)), record[5]);
}

void Conversation::finish()
{
    reap();
    for (Process *process : {&left_, &right_}) {
        for (unsigned slot = 0; process->file() && slot < 2; ++slot)
            process->poll(slot);
        if (!isRaw_)
            process->arena().check();
        process->close();
    }
    for (const Process *process : {&left_, &right_})
        process->arena().check();
    shared_ = {};
    shared_.knowsSenders = true;
    isRaw_ = false;
}

void Conversation::run(Records records)
{
    skip_ = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
        one(records.subspan(i));
        i += std::exchange(skip_, 0);
    }
    finish();
}

} // namespace openipoib::kfuzz
