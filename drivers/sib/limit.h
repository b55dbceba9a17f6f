/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What of a device may be in use: how many objects of each kind there are, and
 * what of them a process may have. What the device tells consumers is what it
 * holds them to.
 *
 * A process (an address space) may have half of each kind, so that what one takes leaves
 * as much to the others; all processes together seven eighths, so that the kernel, IPoIB above all,
 * always gets its own. The memory that the device makes for the queues of a process
 * counts as locked by it (RLIMIT_MEMLOCK), as memory does that a process has pinned
 * for the queues of a hardware HCA.
 */
#ifndef SIB_LIMIT_H
#define SIB_LIMIT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/mutex.h>
#include <linux/refcount.h>

struct mm_struct;

enum sib_kind {
	SIB_KIND_AH,
	SIB_KIND_CQ,
	SIB_KIND_MCAST,	/* groups, once for each process in them; not the kernel's */
	SIB_KIND_MR,
	SIB_KIND_PD,
	SIB_KIND_QP,
	SIB_KIND_SRQ,
	SIB_KINDS
};

/**
 * struct sib_limit - a device's objects in use
 * @max: how many there may be, by kind
 * @used: all of them, by kind
 * @by_processes: those of processes
 * @lock: guards @shares
 * @shares: processes that have opened the device
 */
struct sib_limit {
	int max[SIB_KINDS];
	atomic_t used[SIB_KINDS];
	atomic_t by_processes[SIB_KINDS];
	struct mutex lock;	/* see above */
	struct list_head shares;
};

/**
 * struct sib_share - what one process has of a device, through all its contexts
 * @list: link in sib_limit.shares
 * @mm: its address space, which says who it is and counts what it has locked
 * @contexts: how often it has opened the device
 * @used: objects, by kind
 * @copies_turn: the sib_port.copies_turn that @copies_left is of; guarded by port->lock
 * @copies_left: octets of packets to groups that may still be copied to it then; guarded by
 *	port->lock
 */
struct sib_share {
	struct list_head list;
	struct mm_struct *mm;
	refcount_t contexts;
	atomic_t used[SIB_KINDS];
	u64 copies_turn;
	s32 copies_left;
};

void sib_limit_init(struct sib_limit *limit, u32 srqs, u32 groups);
int sib_limit_take(struct sib_limit *limit, struct sib_share *share, enum sib_kind kind);
void sib_limit_give(struct sib_limit *limit, struct sib_share *share, enum sib_kind kind);

struct sib_share *sib_share_get(struct sib_limit *limit);
void sib_share_put(struct sib_limit *limit, struct sib_share *share);
int sib_share_charge(struct sib_share *share, size_t bytes);
void sib_share_uncharge(struct sib_share *share, size_t bytes);

/* How many of @max one process may have */
static inline int sib_limit_of_process(int max)
{
	return DIV_ROUND_UP(max, 2);
}

/* How many of @max all processes together may have */
static inline int sib_limit_of_processes(int max)
{
	return max - max / 8;
}

#endif /* SIB_LIMIT_H */
