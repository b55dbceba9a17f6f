// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Making and ending what a process has of an HCA.
#include "process.hpp"

#include "guard.hpp"

#include <algorithm>
#include <fcntl.h>
#include <fstream>

namespace openipoib::kfuzz
{

namespace
{

constexpr std::uint32_t localWrite = 1;
constexpr std::uint8_t datagrams = 4;                              // IB_QPT_UD
constexpr std::uint32_t reregisterPlace = 1, reregisterAccess = 4; // IB_MR_REREG_*

std::array<std::uint8_t, 16> gidOf(const std::string &hca)
{
    std::array<std::uint8_t, 16> gid{};
    std::ifstream in("/sys/class/infiniband/" + hca + "/ports/1/gids/0");
    std::string text;
    in >> text;
    std::erase(text, ':');
    for (std::size_t i = 0; i < gid.size() && 2 * i + 1 < text.size(); ++i)
        gid[i] = static_cast<std::uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    return gid;
}

} // namespace

Process::Process(std::string hca, std::uint16_t lid, std::uint16_t peerLid, Shared &shared)
    : hca_(std::move(hca)), lid_(lid), peerLid_(peerLid), gid_(gidOf(hca_)), shared_(shared)
{
}

bool Process::ready()
{
    if (file_)
        return true;
    if (device_ < 0)
        device_ = uverbsOf(hca_);
    if (device_ >= 0)
        file_ = Uverbs::open(device_);
    return static_cast<bool>(file_);
}

void Process::close()
{
    file_ = Uverbs();
    channel_.reset();
    for (auto &one : cqs_)
        one.reset();
    for (auto &one : qps_)
        one.reset();
    for (auto &one : srqs_)
        one.reset();
    pds_.fill(std::nullopt);
    ahs_.fill(std::nullopt);
    others_.clear();
    for (Mr &region : mrs_)
        region.live = false;
    arena_.closeAll();
}

bool Process::pd(unsigned slot)
{
    auto &one = pds_[slot % pds];
    if (one)
        return true;
    if (!ready())
        return false;
    ib_uverbs_alloc_pd in{};
    ib_uverbs_alloc_pd_resp out{};
    if (file_.command(IB_USER_VERBS_CMD_ALLOC_PD, in, out, nullptr, slot & 8))
        return false;
    one = out.pd_handle;
    return true;
}

void Process::deallocPd(unsigned slot)
{
    auto &one = pds_[slot % pds];
    if (one && !file_.command(IB_USER_VERBS_CMD_DEALLOC_PD, ib_uverbs_dealloc_pd{*one}))
        one.reset();
}

Cq *Process::cq(unsigned slot, std::uint32_t entries, bool events, bool byIoctl)
{
    auto &one = cqs_[slot % cqs];
    if (one)
        return &*one;
    if (!ready())
        return nullptr;
    if (events && !channel_) {
        ib_uverbs_create_comp_channel in{};
        ib_uverbs_create_comp_channel_resp out{};
        if (!file_.command(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, in, out)) {
            channel_ = io::UniqueFd(static_cast<int>(out.fd));
            fcntl(channel_.get(), F_SETFL, O_NONBLOCK);
        }
    }
    ib_uverbs_create_cq in{};
    in.cqe = entries;
    in.comp_channel = events ? channel_.get() : -1;
    ib_uverbs_create_cq_resp out{};
    Cq made;
    if (file_.command(IB_USER_VERBS_CMD_CREATE_CQ, in, out, &made.offset, byIoctl))
        return nullptr;
    made.handle = out.cq_handle;
    made.entries = out.cqe;
    made.map = Mapping(file_.fd(), made.offset, 8 + sizeof(ib_uverbs_wc) * (out.cqe + 1));
    one = std::move(made);
    return &*one;
}

void Process::resizeCq(unsigned slot, std::uint32_t entries)
{
    Cq *one = cq(slot);
    if (!one)
        return;
    ib_uverbs_resize_cq in{};
    in.cq_handle = one->handle;
    in.cqe = entries;
    ib_uverbs_resize_cq_resp out{};
    std::uint64_t offset = 0;
    if (file_.command(IB_USER_VERBS_CMD_RESIZE_CQ, in, out, &offset))
        return;
    one->entries = entries;
    one->offset = offset;
    one->map = Mapping(file_.fd(), offset, 8 + sizeof(ib_uverbs_wc) * (entries + 1));
}

void Process::destroyCq(unsigned slot)
{
    auto &one = cqs_[slot % cqs];
    if (!one)
        return;
    ib_uverbs_destroy_cq in{};
    in.cq_handle = one->handle;
    ib_uverbs_destroy_cq_resp out{};
    if (!file_.command(IB_USER_VERBS_CMD_DESTROY_CQ, in, out))
        one.reset();
}

void Process::notifyCq(unsigned slot, bool solicited)
{
    if (Cq *one = cq(slot, 32, true))
        file_.command(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
                      ib_uverbs_req_notify_cq{one->handle, solicited ? 1u : 0u});
}

bool Process::receives(Rq &rq, std::uint32_t entries, std::uint32_t sges, std::uint64_t offset)
{
    rq.id = shared_.next++;
    rq.entries = entries;
    rq.sges = sges;
    rq.offset = offset;
    rq.map = Mapping(file_.fd(), offset, rq.bytes());
    return static_cast<bool>(rq.map);
}

Srq *Process::srq(unsigned slot, std::uint32_t entries, std::uint32_t sges)
{
    auto &one = srqs_[slot % srqs];
    if (one)
        return &*one;
    if (!pd(slot))
        return nullptr;
    ib_uverbs_create_srq in{};
    in.pd_handle = *pds_[slot % pds];
    in.max_wr = entries;
    in.max_sge = sges;
    ib_uverbs_create_srq_resp out{};
    std::uint64_t offset = 0;
    if (file_.command(IB_USER_VERBS_CMD_CREATE_SRQ, in, out, &offset))
        return nullptr;
    Srq made;
    made.handle = out.srq_handle;
    receives(made.rq, entries, sges, offset);
    one = std::move(made);
    return &*one;
}

void Process::modifySrq(unsigned slot, std::uint32_t limit)
{
    Srq *one = srq(slot);
    if (!one)
        return;
    ib_uverbs_modify_srq in{};
    in.srq_handle = one->handle;
    in.attr_mask = 2; // IB_SRQ_LIMIT
    in.srq_limit = limit;
    file_.command(IB_USER_VERBS_CMD_MODIFY_SRQ, in);
}

void Process::querySrq(unsigned slot)
{
    Srq *one = srq(slot);
    if (!one)
        return;
    ib_uverbs_query_srq in{};
    in.srq_handle = one->handle;
    ib_uverbs_query_srq_resp out{};
    file_.command(IB_USER_VERBS_CMD_QUERY_SRQ, in, out);
}

void Process::destroySrq(unsigned slot)
{
    auto &one = srqs_[slot % srqs];
    if (!one)
        return;
    ib_uverbs_destroy_srq in{};
    in.srq_handle = one->handle;
    ib_uverbs_destroy_srq_resp out{};
    if (!file_.command(IB_USER_VERBS_CMD_DESTROY_SRQ, in, out))
        one.reset();
}

Mr *Process::mr(unsigned slot)
{
    Mr &one = mrs_[slot % mrs];
    // The key of one that is gone is used now and then.
    if (one.live || (slot & 0x20 && one.key))
        return &one;
    return mr(MrWish{.slot = slot, .offset = slot % mrs * 6000 + 100});
}

Mr *Process::mr(const MrWish &wish)
{
    Mr &one = mrs_[wish.slot % mrs];
    if (one.live || !pd(wish.pd))
        return one.live ? &one : nullptr;
    const std::size_t offset = wish.offset % Arena::size;
    const std::size_t length = std::min(wish.length, Arena::size - offset);
    ib_uverbs_reg_mr in{};
    in.start = arena_.address() + offset;
    in.length = length;
    // Within the page, both have to be the same.
    in.hca_va = wish.iova ? (*wish.iova & ~0xFFFull) | (in.start & 0xFFF) : in.start;
    in.pd_handle = *pds_[wish.pd % pds];
    in.access_flags = wish.access;
    ib_uverbs_reg_mr_resp out{};
    if (file_.command(IB_USER_VERBS_CMD_REG_MR, in, out, nullptr, wish.slot & 8))
        return nullptr;
    one = {out.mr_handle, out.lkey, offset, length, in.hca_va, wish.access, true};
    if (one.access & localWrite)
        arena_.open(offset, length);
    return &one;
}

void Process::reregister(const MrWish &wish, std::uint32_t flags)
{
    Mr *one = mr(wish.slot);
    if (!one || !one->live || !pd(wish.pd))
        return;
    const std::size_t offset = wish.offset % Arena::size;
    const std::size_t length = std::min(wish.length, Arena::size - offset);
    ib_uverbs_rereg_mr in{};
    in.mr_handle = one->handle;
    in.flags = flags;
    in.start = arena_.address() + offset;
    in.length = length;
    in.hca_va = in.start;
    in.pd_handle = *pds_[wish.pd % pds];
    in.access_flags = wish.access;
    ib_uverbs_rereg_mr_resp out{};
    if (file_.command(IB_USER_VERBS_CMD_REREG_MR, in, out))
        return;
    const Mr before = *one;
    if (flags & reregisterPlace) {
        one->offset = offset;
        one->length = length;
        one->iova = in.hca_va;
    }
    if (flags & reregisterAccess)
        one->access = wish.access;
    one->key = out.rkey;
    if (one->access & localWrite)
        arena_.open(one->offset, one->length);
    if (before.access & localWrite)
        arena_.close(before.offset, before.length);
}

void Process::forget(Mr &region)
{
    region.live = false;
    if (region.access & localWrite)
        arena_.close(region.offset, region.length);
}

void Process::deregister(unsigned slot)
{
    Mr &one = mrs_[slot % mrs];
    if (one.live && !file_.command(IB_USER_VERBS_CMD_DEREG_MR, ib_uverbs_dereg_mr{one.handle}))
        forget(one);
}

Qp *Process::qp(unsigned slot, std::uint8_t type)
{
    return qp(QpWish{.slot = slot, .type = type});
}

Qp *Process::qp(const QpWish &wish)
{
    auto &one = qps_[wish.slot % qps];
    if (one)
        return &*one;
    const Cq *send = cq(wish.sendCq), *recv = cq(wish.recvCq);
    const Srq *shared = wish.srq < 0 ? nullptr : srq(static_cast<unsigned>(wish.srq));
    if (!send || !recv || !pd(wish.pd) || (wish.srq >= 0 && !shared))
        return nullptr;
    ib_uverbs_create_qp in{};
    in.pd_handle = *pds_[wish.pd % pds];
    in.send_cq_handle = send->handle;
    in.recv_cq_handle = recv->handle;
    in.srq_handle = shared ? shared->handle : 0;
    in.is_srq = shared != nullptr;
    in.max_send_wr = wish.sends;
    in.max_recv_wr = wish.recvs;
    in.max_send_sge = wish.sges;
    in.max_recv_sge = wish.recvSges;
    in.max_inline_data = wish.inlined;
    in.sq_sig_all = wish.signalAll;
    in.qp_type = wish.type;
    ib_uverbs_create_qp_resp out{};
    std::uint64_t offset = 0;
    if (file_.command(IB_USER_VERBS_CMD_CREATE_QP, in, out, shared ? nullptr : &offset,
                      wish.byIoctl))
        return nullptr;
    Qp made;
    made.handle = out.qp_handle;
    made.number = out.qpn;
    made.type = wish.type;
    if (made.type != datagrams)
        shared_.connected.insert(made.number);
    made.sges = out.max_send_sge;
    made.srq = wish.srq;
    if (!shared)
        receives(made.rq, wish.recvs, wish.recvSges, offset);
    one = std::move(made);
    return &*one;
}

int Process::modify(Qp &qp, ib_uverbs_modify_qp attributes)
{
    constexpr std::uint32_t state = 1, pkeyIndex = 1u << 4;
    attributes.qp_handle = qp.handle;
    const int error = file_.command(IB_USER_VERBS_CMD_MODIFY_QP, attributes);
    if (error)
        return error;
    if (attributes.attr_mask & state)
        qp.state = attributes.qp_state;
    if (attributes.attr_mask & pkeyIndex && attributes.pkey_index < std::size(pkeys))
        shared_.pkeysOf[qp.number].insert(pkeys[attributes.pkey_index]);
    return 0;
}

void Process::queryQp(unsigned slot)
{
    const Qp *one = qp(slot);
    if (!one)
        return;
    ib_uverbs_query_qp in{};
    in.qp_handle = one->handle;
    in.attr_mask = 0x1FFFFF;
    ib_uverbs_query_qp_resp out{};
    if (!file_.command(IB_USER_VERBS_CMD_QUERY_QP, in, out) && qps_[slot % qps])
        qps_[slot % qps]->state = out.qp_state;
}

void Process::destroyQp(unsigned slot)
{
    auto &one = qps_[slot % qps];
    if (!one)
        return;
    ib_uverbs_destroy_qp in{};
    in.qp_handle = one->handle;
    ib_uverbs_destroy_qp_resp out{};
    if (!file_.command(IB_USER_VERBS_CMD_DESTROY_QP, in, out))
        one.reset();
}

std::optional<std::uint32_t> Process::ah(unsigned slot)
{
    constexpr std::uint16_t permissive = 0xFFFF, nobody = 99;
    const std::uint16_t lids[ahs] = {peerLid_, lid_,     groupLid,   groupLid + 1,
                                     peerLid_, peerLid_, permissive, nobody};
    auto &one = ahs_[slot % ahs];
    if (one || !pd(slot / ahs))
        return one;
    const unsigned which = slot % ahs;
    ib_uverbs_create_ah in{};
    in.pd_handle = *pds_[slot / ahs % pds];
    in.attr.dlid = lids[which];
    in.attr.port_num = 1;
    in.attr.sl = which == 5 ? 5 : 0;
    in.attr.is_global = which == 2 || which == 3 || which == 4;
    in.attr.grh.hop_limit = 1;
    std::copy(gid_.begin(), gid_.end(), in.attr.grh.dgid);
    if (which != 4) {
        in.attr.grh.dgid[0] = 0xFF;
        in.attr.grh.dgid[15] = static_cast<std::uint8_t>(which);
        std::fill(in.attr.grh.dgid + 1, in.attr.grh.dgid + 15, 0x12);
    }
    ib_uverbs_create_ah_resp out{};
    if (!file_.command(IB_USER_VERBS_CMD_CREATE_AH, in, out))
        one = out.ah_handle;
    return one;
}

void Process::destroyAh(unsigned slot)
{
    auto &one = ahs_[slot % ahs];
    if (one && !file_.command(IB_USER_VERBS_CMD_DESTROY_AH, ib_uverbs_destroy_ah{*one}))
        one.reset();
}

void Process::attach(unsigned slot, unsigned group, bool detach)
{
    const Qp *one = qp(slot, datagrams);
    if (!one)
        return;
    ib_uverbs_attach_mcast in{};
    in.qp_handle = one->handle;
    in.mlid = static_cast<std::uint16_t>(groupLid + group % 2);
    std::fill(in.gid + 1, in.gid + 15, 0x12);
    in.gid[0] = 0xFF;
    in.gid[15] = static_cast<std::uint8_t>(2 + group % 2);
    file_.command(detach ? IB_USER_VERBS_CMD_DETACH_MCAST : IB_USER_VERBS_CMD_ATTACH_MCAST, in);
}

} // namespace openipoib::kfuzz
