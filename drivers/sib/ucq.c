// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Completion queues of processes, which poll them in their own memory. The kernel
 * writes entries and the head; of what it reads there, the tail, it believes only
 * how many entries are free. What has been added cannot be taken back.
 */
#include "sib.h"

/**
 * sib_ucq_bytes - memory for a queue
 * @cqe: completions it is to hold
 *
 * Return: bytes.
 */
size_t sib_ucq_bytes(u32 cqe)
{
	return struct_size((struct rvt_cq_wc *)NULL, uqueue, cqe + 1);
}

/**
 * sib_ucq_init - begin with an empty queue
 * @ucq: the queue
 * @mem: zeroed memory of sib_ucq_bytes()
 * @cqe: completions it is to hold
 */
void sib_ucq_init(struct sib_ucq *ucq, void *mem, u32 cqe)
{
	ucq->q = mem;
	ucq->size = cqe + 1;
	ucq->head = 0;
}

static u32 ucq_next(const struct sib_ucq *ucq, u32 i)
{
	return i + 1 == ucq->size ? 0 : i + 1;
}

/**
 * sib_ucq_add - add a completion
 * @ucq: the queue
 * @wc: what completed; @wc->qp is there
 *
 * Context: any. Return: 0; -ENOSPC if the queue is full; -EINVAL if its tail is
 * nonsense.
 */
int sib_ucq_add(struct sib_ucq *ucq, const struct ib_wc *wc)
{
	u32 tail = smp_load_acquire(&ucq->q->tail.val);	/* the entry has been read */
	u32 next = ucq_next(ucq, ucq->head);

	if (tail >= ucq->size)
		return -EINVAL;
	if (next == tail)
		return -ENOSPC;
	ucq->q->uqueue[ucq->head] = (struct ib_uverbs_wc) {
		.wr_id = wc->wr_id,
		.status = wc->status,
		.opcode = wc->opcode,
		.vendor_err = wc->vendor_err,
		.byte_len = wc->byte_len,
		.ex.imm_data = wc->ex.imm_data,
		.qp_num = wc->qp->qp_num,
		.src_qp = wc->src_qp,
		.wc_flags = wc->wc_flags,
		.pkey_index = wc->pkey_index,
		.slid = wc->slid,
		.sl = wc->sl,
		.dlid_path_bits = wc->dlid_path_bits,
		.port_num = wc->port_num,
	};
	ucq->head = next;
	smp_store_release(&ucq->q->head.val, next);	/* the entry is complete */
	return 0;
}

/**
 * sib_ucq_move_begin - prepare to go on with other memory
 * @ucq: the queue
 * @move: state of the move, filled in
 * @mem: zeroed memory of sib_ucq_bytes()
 * @cqe: completions it is to hold
 *
 * Context: any. Return: 0; -EINVAL if the queue's tail is nonsense.
 */
int sib_ucq_move_begin(const struct sib_ucq *ucq, struct sib_ucq_move *move, void *mem, u32 cqe)
{
	u32 tail = READ_ONCE(ucq->q->tail.val);

	if (tail >= ucq->size)
		return -EINVAL;
	*move = (struct sib_ucq_move) { .to = mem, .cqe = cqe, .next = tail };
	return 0;
}

/**
 * sib_ucq_move_left - completions still to be copied
 * @ucq: the queue
 * @move: state of the move
 *
 * Context: any, with the CQ's lock. Return: how many.
 */
u32 sib_ucq_move_left(const struct sib_ucq *ucq, const struct sib_ucq_move *move)
{
	return ucq->head >= move->next ? ucq->head - move->next :
					 ucq->head + ucq->size - move->next;
}

/**
 * sib_ucq_move_copy - copy completions to the other memory
 * @ucq: the queue, which nobody else moves
 * @move: state of the move
 * @n: how many; sib_ucq_move_left() has said that there are so many
 *
 * The CQ's lock is not needed: what is copied does not change, unless the process takes
 * it out meanwhile, who then has it twice or not at all.
 *
 * Context: any. Return: 0; -EINVAL if there are more than the other memory holds.
 */
int sib_ucq_move_copy(const struct sib_ucq *ucq, struct sib_ucq_move *move, u32 n)
{
	for (; n; n--) {
		if (move->copied == move->cqe)
			return -EINVAL;
		move->to->uqueue[move->copied++] = ucq->q->uqueue[move->next];
		move->next = ucq_next(ucq, move->next);
	}
	return 0;
}

/**
 * sib_ucq_move_end - go on with the other memory
 * @ucq: the queue
 * @move: state of the move, of which sib_ucq_move_left() is 0
 *
 * Context: any, with the CQ's lock.
 */
void sib_ucq_move_end(struct sib_ucq *ucq, const struct sib_ucq_move *move)
{
	move->to->head.val = move->copied;
	ucq->q = move->to;
	ucq->size = move->cqe + 1;
	ucq->head = move->copied;
}
