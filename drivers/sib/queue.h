/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Queues of work requests and completions: rings of kernel consumers, and the
 * queues that a process has mapped, in the layout of uapi/rdma/rvt-abi.h.
 *
 * All that is in a mapped queue may be changed by the process at any moment. The
 * kernel keeps its own index and its own size, and only writes that index there;
 * the index of the process is read once each time, and used if it is in range; a
 * request is copied before it is looked at. Nonsense is the queue's own trouble:
 * a CQ overflows, a receive queue is spoilt and its QP goes to error.
 */
#ifndef SIB_QUEUE_H
#define SIB_QUEUE_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/rvt-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "limit.h"

/**
 * struct sib_ucontext - an open device
 * @ibuc: ib_core's part
 * @share: of the process that has opened it
 */
struct sib_ucontext {
	struct ib_ucontext ibuc;
	struct sib_share *share;
};

/* The share that a new object is of, NULL for kernel consumers */
static inline struct sib_share *sib_share_of(struct ib_udata *udata)
{
	return udata ? rdma_udata_to_drv_context(udata, struct sib_ucontext, ibuc)->share : NULL;
}

/* struct sib_rwqe - a receive work request */
struct sib_rwqe {
	u64 wr_id;
	u32 length;
	u32 num_sge;
	struct ib_sge sge[];
};

/**
 * struct sib_ring - work queue with one consumer, the port context
 * @lock: serialises producers; guards @head
 * @share: of the process that has locked @ring, NULL for kernel consumers
 * @ring: @size entries of @stride bytes
 * @size: entries, one of them always free
 * @stride: bytes
 * @max_sge: gather or scatter entries per work request
 * @head: next entry to write; released by producers, acquired by the consumer
 * @tail: next entry to consume; guarded by port->lock, released by the consumer
 */
struct sib_ring {
	spinlock_t lock;	/* see above */
	struct sib_share *share;
	void *ring;
	u32 size;
	u32 stride;
	u32 max_sge;
	u32 head;
	u32 tail;
};

/**
 * struct sib_umap - memory that a process may map
 * @entry: its place among what the process may map; has the reference count
 * @share: of the process, which has locked it
 * @mem: whole pages; those that are mapped outlive this, as memory of the process
 * @size: bytes of it that are used
 */
struct sib_umap {
	struct rdma_user_mmap_entry entry;
	struct sib_share *share;
	void *mem;
	size_t size;
};

/**
 * struct sib_ucq - completion queue of a process; guarded by its CQ's lock
 * @q: its memory, NULL if this is none
 * @size: entries in @q, one of them always free
 * @head: next entry to write
 */
struct sib_ucq {
	struct rvt_cq_wc *q;
	u32 size;
	u32 head;
};

/**
 * struct sib_ucq_move - completions on their way to other memory
 * @to: that memory
 * @cqe: completions it holds
 * @next: entry of the queue to be copied next
 * @copied: entries in @to
 */
struct sib_ucq_move {
	struct rvt_cq_wc *to;
	u32 cqe;
	u32 next;
	u32 copied;
};

/*
 * struct sib_urq_mem - struct rvt_rwq up to its entries, each a struct rvt_rwqe and
 * its list; sparse does not let them be an array
 */
struct sib_urq_mem {
	u32 head;
	u32 tail;
};

/**
 * struct sib_urq - receive queue of a process; guarded by port->lock
 * @q: its memory, NULL if this is none
 * @size: entries in @q, one of them always free
 * @max_sge: scatter entries that there is room for in each
 * @tail: next entry to consume
 * @spoilt: the process has written nonsense: nothing is taken any more
 */
struct sib_urq {
	struct sib_urq_mem *q;
	u32 size;
	u32 max_sge;
	u32 tail;
	bool spoilt;
};

/**
 * struct sib_rq - receive queue, of a QP or shared
 * @ring: that of a kernel consumer; its lock is used in any case
 * @map: memory of the queue of a process; NULL for kernel consumers
 * @user: that queue
 */
struct sib_rq {
	struct sib_ring ring;
	struct sib_umap *map;
	struct sib_urq user;
};

/* ring.c */
int sib_ring_init(struct sib_ring *ring, struct sib_share *share, u32 entries, u32 max_sge,
		  u32 max_inline, size_t head);
void sib_ring_free(struct sib_ring *ring);
void sib_ring_reset(struct sib_ring *ring);
void *sib_ring_peek(struct sib_ring *ring);
void *sib_ring_at(struct sib_ring *ring, u32 ahead);
bool sib_ring_is_empty(const struct sib_ring *ring);
u32 sib_ring_count(const struct sib_ring *ring);
void sib_ring_pop(struct sib_ring *ring);
void *sib_ring_slot(struct sib_ring *ring);
void sib_ring_push(struct sib_ring *ring);

/* umap.c */
struct sib_umap *sib_umap_create(struct ib_udata *udata, size_t size);
void sib_umap_destroy(struct sib_umap *map);
int sib_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void sib_mmap_free(struct rdma_user_mmap_entry *entry);

/* ucq.c */
size_t sib_ucq_bytes(u32 cqe);
void sib_ucq_init(struct sib_ucq *ucq, void *mem, u32 cqe);
int sib_ucq_add(struct sib_ucq *ucq, const struct ib_wc *wc);
int sib_ucq_move_begin(const struct sib_ucq *ucq, struct sib_ucq_move *move, void *mem, u32 cqe);
u32 sib_ucq_move_left(const struct sib_ucq *ucq, const struct sib_ucq_move *move);
int sib_ucq_move_copy(const struct sib_ucq *ucq, struct sib_ucq_move *move, u32 n);
void sib_ucq_move_end(struct sib_ucq *ucq, const struct sib_ucq_move *move);

/* urq.c */
size_t sib_urq_bytes(u32 entries, u32 max_sge);
void sib_urq_init(struct sib_urq *urq, void *mem, u32 entries, u32 max_sge);
void sib_urq_reset(struct sib_urq *urq);
bool sib_urq_peek(struct sib_urq *urq, struct sib_rwqe *to);
void sib_urq_pop(struct sib_urq *urq);
u32 sib_urq_count(const struct sib_urq *urq);

/* rq.c */
int sib_rq_init(struct sib_rq *rq, struct ib_udata *udata, u32 entries, u32 max_sge);
void sib_rq_free(struct sib_rq *rq);
void sib_rq_reset(struct sib_rq *rq);
u32 sib_rq_count(const struct sib_rq *rq);

#endif /* SIB_QUEUE_H */
