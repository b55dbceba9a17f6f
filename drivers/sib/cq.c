// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Completion queues: rings of kernel consumers, or queues that a process has
 * mapped and polls by itself. Completions are added in the port context; handlers
 * that have become due are called by the CQ's completion vector (vector.h), never from
 * inside a verb.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "sib.h"

/* Completions of a process that are copied with interrupts off, and in one go without */
#define MOVE_LOCKED	64
#define MOVE_BATCH	4096

static int ring_create(struct sib_cq *cq, u32 cqe)
{
	cq->size = cqe + 1;
	cq->ring = kvcalloc(cq->size, sizeof(*cq->ring), GFP_KERNEL_ACCOUNT);
	return cq->ring ? 0 : -ENOMEM;
}

static int user_create(struct sib_cq *cq, u32 cqe, struct ib_udata *udata)
{
	struct sib_umap *map = sib_umap_create(udata, sib_ucq_bytes(cqe));

	if (IS_ERR(map))
		return PTR_ERR(map);
	cq->map = map;
	sib_ucq_init(&cq->user, map->mem, cqe);
	return 0;
}

/*
 * How many completions a CQ has room for that is to hold @cqe; 0 if it cannot be. Processes
 * map what they have asked for.
 */
static u32 cq_room(const struct sib_profile *profile, u32 cqe, bool kernel)
{
	if (!cqe || cqe > profile->max_cqe)
		return 0;
	return kernel && profile->cqe_pow2 ? roundup_pow_of_two(cqe + 1) - 1 : cqe;
}

/**
 * sib_create_cq - ib_device_ops.create_cq
 * @ibcq: zeroed CQ
 * @attr: its size and vector
 * @attrs: of the call, with its udata; NULL for kernel consumers
 *
 * Context: process. Return: 0, -EINVAL, -ENOMEM, or -EOPNOTSUPP for flags.
 */
int sib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct sib_dev *dev = to_sib(ibcq->device);
	u32 cqe = cq_room(dev->profile, attr->cqe, !udata);
	struct sib_limit *limit = &dev->limit;
	struct sib_cq *cq = to_scq(ibcq);
	int err;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!cqe)
		return -EINVAL;
	err = sib_fault_command(&dev->fault);
	if (err)
		return err;
	cq->share = sib_share_of(udata);
	if (sib_limit_take(limit, cq->share, SIB_KIND_CQ))
		return -ENOMEM;
	mutex_init(&cq->resize);
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->event);
	cq->vector = attr->comp_vector % dev->profile->vectors;
	err = udata ? user_create(cq, cqe, udata) : ring_create(cq, cqe);
	if (err) {
		sib_limit_give(limit, cq->share, SIB_KIND_CQ);
		return err;
	}
	ibcq->cqe = cqe;
	return 0;
}

static u32 cq_next(const struct sib_cq *cq, u32 i)
{
	return i + 1 == cq->size ? 0 : i + 1;
}

/* Move the completions to a new ring of other size; -EINVAL if it is too small. */
static int cq_move(struct sib_cq *cq, struct ib_wc *ring, u32 size)
{
	u32 i, n = 0;

	lockdep_assert_held(&cq->lock);
	for (i = cq->tail; i != cq->head; i = cq_next(cq, i)) {
		if (n + 1 == size)
			return -EINVAL;
		ring[n++] = cq->ring[i];
	}
	cq->ring = ring;
	cq->size = size;
	cq->tail = 0;
	cq->head = n;
	return 0;
}

static int ring_resize(struct sib_cq *cq, u32 cqe)
{
	struct ib_wc *ring, *old;
	unsigned long flags;
	int err;

	ring = kvcalloc(cqe + 1, sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return -ENOMEM;
	spin_lock_irqsave(&cq->lock, flags);
	old = cq->ring;
	err = cq_move(cq, ring, cqe + 1);
	if (!err)
		cq->ibcq.cqe = cqe;
	spin_unlock_irqrestore(&cq->lock, flags);
	kvfree(err ? ring : old);
	return err;
}

/* If few are left to be copied, do that and go on with @map; returns how many were left. */
static int move_last(struct sib_cq *cq, struct sib_ucq_move *move, struct sib_umap **map)
{
	unsigned long flags;
	int left, err;

	spin_lock_irqsave(&cq->lock, flags);
	left = sib_ucq_move_left(&cq->user, move);
	if (left <= MOVE_LOCKED) {
		err = sib_ucq_move_copy(&cq->user, move, left);
		if (!err) {
			sib_ucq_move_end(&cq->user, move);
			swap(cq->map, *map);
			cq->ibcq.cqe = move->cqe;
		}
		left = err;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return left;
}

/*
 * Completions are added meanwhile, but not as fast as they are copied, and not more than
 * there is room for. The process does not poll, or if it does, that is its own loss.
 */
static int user_resize(struct sib_cq *cq, u32 cqe, struct ib_udata *udata)
{
	struct sib_umap *map = sib_umap_create(udata, sib_ucq_bytes(cqe));
	struct sib_ucq_move move;
	int ret;

	if (IS_ERR(map))
		return PTR_ERR(map);
	mutex_lock(&cq->resize);
	ret = sib_ucq_move_begin(&cq->user, &move, map->mem, cqe);
	while (!ret && (ret = move_last(cq, &move, &map)) > 0) {
		ret = sib_ucq_move_copy(&cq->user, &move, min(ret, MOVE_BATCH));
		cond_resched();
	}
	mutex_unlock(&cq->resize);
	sib_umap_destroy(map);
	return ret;
}

/**
 * sib_resize_cq - ib_device_ops.resize_user_cq
 * @ibcq: the CQ
 * @cqe: completions it is to hold
 * @udata: where a process is told what to map now
 *
 * Context: process. Return: 0; -EINVAL if @cqe is out of range or it holds more
 * already; -ENOMEM.
 */
int sib_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct sib_cq *cq = to_scq(ibcq);

	cqe = cq_room(to_sib(ibcq->device)->profile, cqe, !cq->map);
	if (!cqe)
		return -EINVAL;
	return cq->map ? user_resize(cq, cqe, udata) : ring_resize(cq, cqe);
}

/**
 * sib_destroy_cq - ib_device_ops.destroy_cq
 * @ibcq: CQ that no QP uses any more
 * @udata: unused
 *
 * Context: process; waits for a handler that runs. Return: 0.
 */
int sib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct sib_dev *dev = to_sib(ibcq->device);
	struct sib_cq *cq = to_scq(ibcq);

	sib_vector_forget(cq);
	sib_port_barrier(&dev->port);
	sib_umap_destroy(cq->map);
	kvfree(cq->ring);
	sib_limit_give(&dev->limit, cq->share, SIB_KIND_CQ);
	return 0;
}

/**
 * sib_poll_cq - ib_device_ops.poll_cq
 * @ibcq: the CQ of a kernel consumer
 * @num: room in @wc
 * @wc: completions
 *
 * Context: any. Return: completions taken.
 */
int sib_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct sib_cq *cq = to_scq(ibcq);
	unsigned long flags;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	num = sib_choice_polled(&to_sib(ibcq->device)->chooser, ++cq->polls, num);
	for (n = 0; n < num && cq->tail != cq->head; n++) {
		wc[n] = cq->ring[cq->tail];
		cq->tail = cq_next(cq, cq->tail);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/*
 * Whether asking for the event causes it: some HCAs do so instead of saying what is there. Not
 * for processes, whose completions are not counted here.
 */
static bool fires_at_once(const struct sib_dev *dev, struct sib_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (sib_choice_spurious(&dev->chooser, ++cq->asked))
		return true;
	if (!dev->profile->silent || cq->head == cq->tail || cq->notify != IB_CQ_NEXT_COMP)
		return false;
	cq->notify = 0;
	return true;
}

/**
 * sib_req_notify_cq - ib_device_ops.req_notify_cq
 * @ibcq: the CQ
 * @flags: IB_CQ_NEXT_COMP or IB_CQ_SOLICITED, and IB_CQ_REPORT_MISSED_EVENTS
 *
 * Whoever looks at the CQ again after this misses nothing: a completion is either
 * there by then, or added under the lock after this and causes the event. On HCAs that
 * report nothing, one that is there causes the event as well.
 *
 * Context: any. Return: 1 if asked to report and the CQ is not empty, else 0.
 */
int sib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct sib_dev *dev = to_sib(ibcq->device);
	struct sib_cq *cq = to_scq(ibcq);
	unsigned long irq;
	int ret = 0;
	bool fire;

	spin_lock_irqsave(&cq->lock, irq);
	if (cq->notify != IB_CQ_NEXT_COMP)
		cq->notify = flags & IB_CQ_SOLICITED_MASK;
	fire = fires_at_once(dev, cq);
	if (flags & IB_CQ_REPORT_MISSED_EVENTS && !dev->profile->silent && cq->head != cq->tail)
		ret = 1;
	spin_unlock_irqrestore(&cq->lock, irq);
	if (fire) {
		sib_vector_raise(cq);
		sib_port_kick(&dev->port);
	}
	return ret;
}

/**
 * sib_cq_error - tell the consumer of a CQ that it is in error
 * @cq: the CQ; port->lock is held
 */
void sib_cq_error(struct sib_cq *cq)
{
	struct sib_dev *dev = to_sib(cq->ibcq.device);
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = &cq->ibcq,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

/* Returns false if there is no room. */
static bool cq_put(struct sib_cq *cq, const struct ib_wc *wc)
{
	u32 next;

	lockdep_assert_held(&cq->lock);
	if (cq->map)
		return !sib_ucq_add(&cq->user, wc);
	next = cq_next(cq, cq->head);
	if (next == cq->tail)
		return false;
	cq->ring[cq->head] = *wc;
	cq->head = next;
	return true;
}

/**
 * sib_cq_add - add a completion
 * @cq: the CQ
 * @wc: what completed; copied
 * @solicited: wakes a consumer that waits for solicited events only
 *
 * Context: port context (port->lock held). A CQ that is full loses the
 * completion and reports IB_EVENT_CQ_ERR once; so does one whose process has
 * written nonsense to its tail.
 */
void sib_cq_add(struct sib_cq *cq, const struct ib_wc *wc, bool solicited)
{
	struct sib_dev *dev = to_sib(cq->ibcq.device);
	bool fire = false, overflow = false;
	unsigned long flags;

	lockdep_assert_held(&dev->port.lock);
	spin_lock_irqsave(&cq->lock, flags);
	if (!cq_put(cq, wc)) {
		overflow = !cq->overflow;
		cq->overflow = true;
	} else if (cq->notify == IB_CQ_NEXT_COMP || (cq->notify && solicited)) {
		cq->notify = 0;
		fire = true;
	} else if (!cq->map) {
		fire = sib_choice_unasked(&dev->chooser, ++cq->added);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (overflow) {
		dev->port.stats.cq_overflow++;
		sib_cq_error(cq);
	}
	if (fire)
		sib_vector_raise(cq);
}

/**
 * sib_cq_forget - remove the completions of a QP
 * @cq: the CQ
 * @qp: QP that will complete nothing more, or has been restarted
 *
 * A process may be reading those of its own queue at this moment: they stay.
 * Context: port->lock held.
 */
void sib_cq_forget(struct sib_cq *cq, const struct sib_qp *qp)
{
	unsigned long flags;
	u32 from, to;

	lockdep_assert_held(&to_sib(cq->ibcq.device)->port.lock);
	spin_lock_irqsave(&cq->lock, flags);
	to = cq->tail;
	for (from = cq->tail; from != cq->head; from = cq_next(cq, from)) {
		if (cq->ring[from].qp == &qp->ibqp)
			continue;
		if (to != from)
			cq->ring[to] = cq->ring[from];
		to = cq_next(cq, to);
	}
	cq->head = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * sib_cq_count - how many completions of a QP a CQ has
 * @cq: the CQ
 * @qp: the QP
 *
 * Context: any. Return: the number; 0 of the CQ of a process, which has its own tail.
 */
u32 sib_cq_count(struct sib_cq *cq, const struct sib_qp *qp)
{
	unsigned long flags;
	u32 i, n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = cq->tail; i != cq->head; i = cq_next(cq, i))
		n += cq->ring[i].qp == &qp->ibqp;
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}
