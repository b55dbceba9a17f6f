// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Send requests: posting, their memory, completing. They are copied to a ring,
 * whose only consumer is the port context: posting takes one lock, and for
 * kernel consumers it allocates nothing and works with interrupts off (ib_mad
 * does that). The lists of a process are copied as they are and checked when
 * they are used; its inline data are fetched before the lock is taken.
 */
#include <linux/bitops.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/checksum.h>

#include "sib.h"

#define SENDS		(BIT_ULL(IB_WR_SEND) | BIT_ULL(IB_WR_SEND_WITH_IMM))
#define WRITES		(BIT_ULL(IB_WR_RDMA_WRITE) | BIT_ULL(IB_WR_RDMA_WRITE_WITH_IMM))
#define ATOMICS		(BIT_ULL(IB_WR_ATOMIC_CMP_AND_SWP) | BIT_ULL(IB_WR_ATOMIC_FETCH_AND_ADD))
#define RELIABLE	(ATOMICS | BIT_ULL(IB_WR_RDMA_READ) | BIT_ULL(IB_WR_SEND_WITH_INV))
#define LOCALS		(BIT_ULL(IB_WR_LOCAL_INV) | BIT_ULL(IB_WR_REG_MR))
/* Requests that may bring their data with them */
#define INLINE		(SENDS | WRITES | BIT_ULL(IB_WR_SEND_WITH_INV))

#define ATOMIC_LEN	8
/* Requests of a process that are copied with interrupts off; it posts thousands in a call */
#define POST_BATCH	16

static bool is_one_of(enum ib_wr_opcode opcode, u64 set)
{
	return (u32)opcode < 64 && BIT_ULL(opcode) & set;
}

static u64 opcodes(const struct sib_qp *qp)
{
	switch (qp->ibqp.qp_type) {
	case IB_QPT_RC:
		return SENDS | WRITES | RELIABLE | (qp->mem.kernel ? LOCALS : 0);
	case IB_QPT_UC:
		return SENDS | WRITES;
	default:
		return SENDS | (qp->lso ? BIT_ULL(IB_WR_LSO) : 0);
	}
}

static u64 list_len(const struct ib_send_wr *wr)
{
	u64 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

static bool fits_inline(const struct sib_qp *qp, const struct ib_send_wr *wr)
{
	return is_one_of(wr->opcode, INLINE) && wr->num_sge >= 0 &&
	       list_len(wr) <= qp->cap.max_inline_data;
}

/* Inline data of a process for requests that can be posted, one after another */
static void *fetch_inline(const struct sib_qp *qp, const struct ib_send_wr *first)
{
	const struct ib_send_wr *wr;
	size_t len = 0;
	void *data, *p;
	int i;

	for (wr = first; wr; wr = wr->next)
		if (wr->send_flags & IB_SEND_INLINE && fits_inline(qp, wr))
			len += list_len(wr);
	if (!len)
		return NULL;
	data = kvmalloc(len, GFP_KERNEL);
	if (!data)
		return ERR_PTR(-ENOMEM);
	p = data;
	for (wr = first; wr; wr = wr->next) {
		if (!(wr->send_flags & IB_SEND_INLINE) || !fits_inline(qp, wr))
			continue;
		for (i = 0; i < wr->num_sge; i++) {
			if (copy_from_user(p, u64_to_user_ptr(wr->sg_list[i].addr),
					   wr->sg_list[i].length)) {
				kvfree(data);
				return ERR_PTR(-EFAULT);
			}
			p += wr->sg_list[i].length;
		}
	}
	return data;
}

static int check(const struct sib_qp *qp, const struct ib_send_wr *wr)
{
	u64 len;

	if (!is_one_of(wr->opcode, opcodes(qp)))
		return -EINVAL;
	if (is_one_of(wr->opcode, LOCALS))
		return 0;
	if (wr->num_sge < 0)
		return -EINVAL;
	if (wr->send_flags & IB_SEND_INLINE)	/* where LSO has its headers */
		return fits_inline(qp, wr) && wr->opcode != IB_WR_LSO ? 0 : -EINVAL;
	if (wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	len = list_len(wr);
	if (len > SIB_MAX_MSG || (is_one_of(wr->opcode, ATOMICS) && len != ATOMIC_LEN))
		return -EINVAL;
	return 0;
}

static int fill_lso(const struct sib_qp *qp, struct sib_swqe *wqe, const struct ib_ud_wr *ud)
{
	if (!ud->header || ud->hlen < SIB_IPOIB_LEN || ud->hlen > SIB_OFFLOAD_HLEN || ud->mss <= 0)
		return -EINVAL;
	wqe->hlen = ud->hlen;
	wqe->mss = ud->mss;
	wqe->lso_off = 0;
	memcpy(sib_swqe_header(qp, wqe), ud->header, ud->hlen);
	return 0;
}

static int fill_ud(const struct sib_qp *qp, struct sib_swqe *wqe, const struct ib_ud_wr *ud)
{
	if (!ud->ah)
		return -EINVAL;
	wqe->dqpn = ud->remote_qpn & SIB_QPN_MASK;
	wqe->qkey = ud->remote_qkey;
	wqe->pkey_index = ud->pkey_index;
	wqe->av = to_sah(ud->ah)->av;
	return wqe->opcode == IB_WR_LSO ? fill_lso(qp, wqe, ud) : 0;
}

static int fill_reg(struct sib_swqe *wqe, const struct ib_reg_wr *reg)
{
	const struct sib_mr *mr = to_smr(reg->mr);

	if (mr->kind != SIB_MR_FAST || (reg->mr->rkey ^ reg->key) >> 8)
		return -EINVAL;
	wqe->rkey = reg->key;
	wqe->access = reg->access;
	wqe->remote_addr = reg->mr->iova;
	wqe->compare_add = reg->mr->length;
	return 0;
}

static int fill_connected(struct sib_swqe *wqe, const struct ib_send_wr *wr)
{
	memset(&wqe->rc, 0, sizeof(wqe->rc));
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_READ:
		wqe->remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
		return 0;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		wqe->remote_addr = atomic_wr(wr)->remote_addr;
		wqe->rkey = atomic_wr(wr)->rkey;
		wqe->compare_add = atomic_wr(wr)->compare_add;
		wqe->swap = atomic_wr(wr)->swap;
		return 0;
	case IB_WR_REG_MR:
		return fill_reg(wqe, reg_wr(wr));
	default:
		return 0;
	}
}

static void fill_ex(struct sib_swqe *wqe, const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		wqe->imm = wr->ex.imm_data;
		break;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		wqe->inv_rkey = wr->ex.invalidate_rkey;
		break;
	default:
		wqe->imm = 0;
	}
}

/*
 * The data or their list. Inline data are those of a kernel consumer, or have
 * been fetched to *@data.
 */
static void fill_list(struct sib_swqe *wqe, const struct ib_send_wr *wr, const void **data)
{
	void *to = wqe->sge;
	int i;

	wqe->length = 0;
	wqe->num_sge = 0;
	if (is_one_of(wr->opcode, LOCALS))
		return;
	wqe->length = list_len(wr);
	if (!(wr->send_flags & IB_SEND_INLINE)) {
		wqe->num_sge = wr->num_sge;
		memcpy(to, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
		return;
	}
	if (*data) {
		memcpy(to, *data, wqe->length);
		*data += wqe->length;
		return;
	}
	for (i = 0; i < wr->num_sge; i++) {
		memcpy(to, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
}

static int post_one(struct sib_qp *qp, const struct ib_send_wr *wr, const void **data)
{
	struct sib_swqe *wqe;
	int err;

	err = check(qp, wr);
	if (err)
		return err;
	wqe = sib_ring_slot(&qp->sq);
	if (!wqe)
		return -ENOMEM;
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->send_flags = wr->send_flags;
	fill_ex(wqe, wr);
	err = qp->rc ? fill_connected(wqe, wr) : fill_ud(qp, wqe, ud_wr(wr));
	if (err)
		return err;
	fill_list(wqe, wr, data);
	sib_ring_push(&qp->sq);
	return 0;
}

/*
 * struct posting - a list of requests on its way to a queue
 * @wr: the first that is not yet there
 * @data: inline data of a process, for fill_list()
 * @idle: the queue was empty when the first came
 * @posted: one at least is there
 */
struct posting {
	const struct ib_send_wr *wr;
	const void *data;
	bool idle;
	bool posted;
};

/* What a queue pair refuses of a list: the first request to refuse, or NULL. */
static const struct ib_send_wr *refused_by_profile(struct sib_qp *qp, const struct ib_send_wr *wr)
{
	const struct ib_send_wr *last;
	u32 len = 0, taken;

	lockdep_assert_held(&qp->sq.lock);
	if (!qp->refuses)
		return NULL;
	for (last = wr; last; last = last->next)
		len++;
	taken = sib_choice_taken(&to_sib(qp->ibqp.device)->chooser, SIB_POST_SEND,
				 ++qp->send_posts, len);
	while (wr && taken--)
		wr = wr->next;
	return wr;
}

/* Post no more than so many requests. */
static int post_some(struct sib_qp *qp, struct posting *list, u32 max)
{
	const struct ib_send_wr *refused;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->sq.lock, flags);
	refused = refused_by_profile(qp, list->wr);
	if (!list->posted)
		list->idle = sib_ring_is_empty(&qp->sq);
	if (qp->attr.qp_state < IB_QPS_RTS)
		err = -EINVAL;
	for (; list->wr && !err && max; max--) {
		err = list->wr == refused ? -ENOMEM : post_one(qp, list->wr, &list->data);
		if (err)
			break;
		list->posted = true;
		list->wr = list->wr->next;
	}
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return err;
}

/**
 * sib_post_send - ib_device_ops.post_send
 * @ibqp: QP in RTS, SQD, SQE or ERR; in the last two the requests are flushed
 * @wr: list of requests
 * @bad: set to the first request not taken
 *
 * Those of a process are posted some at a time, between which may come others that it
 * posts meanwhile.
 *
 * Context: any but NMI; process for the QP of a process. Return: 0, -EINVAL,
 * -ENOMEM (queue full, or as its profile has it), -EFAULT (inline data of a process).
 */
int sib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad)
{
	struct sib_qp *qp = to_sqp(ibqp);
	struct posting list = { .wr = wr };
	void *fetched = NULL;
	int err;

	if (sib_fault_is_fatal(&to_sib(ibqp->device)->fault)) {
		*bad = wr;
		return -EIO;
	}
	if (!qp->mem.kernel) {
		fetched = fetch_inline(qp, wr);
		if (IS_ERR(fetched)) {
			*bad = wr;
			return PTR_ERR(fetched);
		}
		list.data = fetched;
	}
	do
		err = post_some(qp, &list, qp->mem.kernel ? U32_MAX : POST_BATCH);
	while (!err && list.wr);
	if (err)
		*bad = list.wr;
	if (list.posted && qp->mem.kernel)
		sib_tx_queue(qp);
	else if (list.posted)
		sib_tx_now(qp, list.idle);
	kvfree(fetched);
	return err;
}

/**
 * sib_swqe_gather - copy part of a message to be sent
 * @qp: the QP, port locked
 * @wqe: one of its send requests
 * @skip: bytes of the message that come before
 * @to: @len bytes
 * @len: bytes wanted
 * @sum: unfolded Internet checksum of @to is added to it
 *
 * Return: 0 or -EACCES.
 */
int sib_swqe_gather(const struct sib_qp *qp, const struct sib_swqe *wqe, u32 skip, void *to,
		    u32 len, __wsum *sum)
{
	__wsum part;

	if (!(wqe->send_flags & IB_SEND_INLINE))
		return sib_sge_gather(&qp->mem, wqe->sge, wqe->num_sge, skip, to, len, sum);
	if (skip > wqe->length || len > wqe->length - skip)
		return -EACCES;
	part = csum_partial_copy_nocheck((const void *)wqe->sge + skip, to, len);
	*sum = csum_add(*sum, part);
	return 0;
}

/**
 * sib_swqe_scatter - place data the peer returned
 * @qp: the QP, port locked
 * @wqe: one of its RDMA READ requests
 * @skip: bytes of its list to leave alone
 * @skb: where the data are
 * @off: at which offset
 * @len: how many
 *
 * Return: 0 or -EACCES.
 */
int sib_swqe_scatter(const struct sib_qp *qp, const struct sib_swqe *wqe, u32 skip,
		     struct sk_buff *skb, unsigned int off, u32 len)
{
	return sib_sge_scatter(&qp->mem, wqe->sge, wqe->num_sge, skip, skb, off, len, NULL);
}

/**
 * sib_swqe_write - place the result of an atomic operation
 * @qp: the QP, port locked
 * @wqe: one of its atomic requests
 * @from: @len bytes
 * @len: how many
 *
 * Return: 0 or -EACCES.
 */
int sib_swqe_write(const struct sib_qp *qp, const struct sib_swqe *wqe, const void *from,
		   u32 len)
{
	return sib_sge_write(&qp->mem, wqe->sge, wqe->num_sge, 0, from, len);
}

/**
 * sib_swqe_local - execute a request that sends nothing
 * @qp: the QP, port locked
 * @wqe: its request to register or invalidate memory
 *
 * Return: the status it completes with.
 */
enum ib_wc_status sib_swqe_local(const struct sib_qp *qp, const struct sib_swqe *wqe)
{
	int err;

	if (wqe->opcode == IB_WR_REG_MR)
		err = sib_mem_fast_reg(&qp->mem, wqe->rkey, wqe->access, wqe->remote_addr,
				       wqe->compare_add);
	else
		err = sib_mem_invalidate(&qp->mem, wqe->inv_rkey);
	return err ? IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
}

static enum ib_wc_opcode wc_opcode(enum ib_wr_opcode opcode)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return IB_WC_RDMA_WRITE;
	case IB_WR_RDMA_READ:
		return IB_WC_RDMA_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return IB_WC_COMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return IB_WC_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case IB_WR_REG_MR:
		return IB_WC_REG_MR;
	case IB_WR_LSO:
		return IB_WC_LSO;
	default:
		return IB_WC_SEND;
	}
}

/**
 * sib_qp_complete_send - complete the oldest send request
 * @qp: the QP; port->lock is held
 * @wqe: its oldest send request; gone when this returns
 * @status: how it went; anything but success completes unsignalled requests too
 *
 * The queue has room again before the completion can be polled: a consumer may
 * count on that.
 */
void sib_qp_complete_send(struct sib_qp *qp, const struct sib_swqe *wqe,
			  enum ib_wc_status status)
{
	bool signal = status != IB_WC_SUCCESS || qp->sig_all ||
		      wqe->send_flags & IB_SEND_SIGNALED;
	struct ib_wc wc = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = wc_opcode(wqe->opcode),
		.byte_len = wqe->length,
		.qp = &qp->ibqp,
		.port_num = 1,
	};

	sib_ring_pop(&qp->sq);
	if (signal)
		sib_cq_add(to_scq(qp->ibqp.send_cq), &wc, status != IB_WC_SUCCESS);
}
