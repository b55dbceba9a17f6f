// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Receive queues of processes, who post in their own memory. The kernel writes the
 * tail and reads the rest: the head, and the request at the tail. A head out of
 * range, or a request with more scatter entries than there is room for, spoils
 * the queue, until it is reset.
 */
#include "sib.h"

static size_t urq_stride(u32 max_sge)
{
	return struct_size((struct rvt_rwqe *)NULL, sg_list, max_sge);
}

/**
 * sib_urq_bytes - memory for a queue
 * @entries: requests it is to hold
 * @max_sge: scatter entries of each
 *
 * Return: bytes.
 */
size_t sib_urq_bytes(u32 entries, u32 max_sge)
{
	return sizeof(struct sib_urq_mem) + urq_stride(max_sge) * (entries + 1);
}

/**
 * sib_urq_init - begin with an empty queue
 * @urq: zeroed
 * @mem: zeroed memory of sib_urq_bytes()
 * @entries: requests it is to hold
 * @max_sge: scatter entries of each
 */
void sib_urq_init(struct sib_urq *urq, void *mem, u32 entries, u32 max_sge)
{
	urq->q = mem;
	urq->size = entries + 1;
	urq->max_sge = max_sge;
}

/**
 * sib_urq_reset - forget everything posted
 * @urq: the queue
 */
void sib_urq_reset(struct sib_urq *urq)
{
	urq->tail = 0;
	urq->spoilt = false;
	WRITE_ONCE(urq->q->head, 0);
	WRITE_ONCE(urq->q->tail, 0);
}

/* Each value is read once, and what is used afterwards is the copy. */
static bool copy_request(const struct sib_urq *urq, struct sib_rwqe *to)
{
	const struct rvt_rwqe *from = (void *)(urq->q + 1) + urq_stride(urq->max_sge) * urq->tail;
	u32 i, n = READ_ONCE(from->num_sge);
	u64 len = 0;

	if (n > urq->max_sge)
		return false;
	to->wr_id = READ_ONCE(from->wr_id);
	to->num_sge = n;
	for (i = 0; i < n; i++) {
		to->sge[i].addr = READ_ONCE(from->sg_list[i].addr);
		to->sge[i].length = READ_ONCE(from->sg_list[i].length);
		to->sge[i].lkey = READ_ONCE(from->sg_list[i].lkey);
		len += to->sge[i].length;
	}
	to->length = min_t(u64, len, U32_MAX);
	return true;
}

/**
 * sib_urq_peek - copy the oldest request
 * @urq: the queue
 * @to: room for it
 *
 * It stays in the queue. Return: true; false if there is none, or the queue is
 * spoilt.
 */
bool sib_urq_peek(struct sib_urq *urq, struct sib_rwqe *to)
{
	u32 head = smp_load_acquire(&urq->q->head);	/* the request is complete */

	if (head == urq->tail || urq->spoilt)
		return false;
	urq->spoilt = head >= urq->size || !copy_request(urq, to);
	return !urq->spoilt;
}

/**
 * sib_urq_pop - give the place of the oldest request back to the process
 * @urq: queue of which sib_urq_peek() has copied it
 */
void sib_urq_pop(struct sib_urq *urq)
{
	urq->tail = urq->tail + 1 == urq->size ? 0 : urq->tail + 1;
	smp_store_release(&urq->q->tail, urq->tail);	/* it has been read */
}

/**
 * sib_urq_count - requests in a queue
 * @urq: the queue
 *
 * Return: how many there are if the process is to be believed, in any case fewer
 * than there is room for; 0 if it is spoilt.
 */
u32 sib_urq_count(const struct sib_urq *urq)
{
	u32 head = READ_ONCE(urq->q->head);

	if (urq->spoilt || head >= urq->size)
		return 0;
	return head >= urq->tail ? head - urq->tail : head + urq->size - urq->tail;
}
