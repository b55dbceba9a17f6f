// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What of a device may be in use: see limit.h.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "limit.h"

#define MAX_DEFAULT	65536

/**
 * sib_limit_init - nothing is in use
 * @limit: zeroed memory
 * @srqs: how many shared receive queues there may be
 * @groups: and how many multicast groups
 */
void sib_limit_init(struct sib_limit *limit, u32 srqs, u32 groups)
{
	int kind;

	for (kind = 0; kind < SIB_KINDS; kind++)
		limit->max[kind] = MAX_DEFAULT;
	limit->max[SIB_KIND_SRQ] = srqs;
	limit->max[SIB_KIND_MCAST] = groups;
	mutex_init(&limit->lock);
	INIT_LIST_HEAD(&limit->shares);
}

static bool take(atomic_t *used, int max)
{
	return atomic_add_unless(used, 1, max);
}

static void give(atomic_t *used)
{
	WARN_ON(atomic_dec_return(used) < 0);
}

/**
 * sib_limit_take - one object more
 * @limit: the device's objects
 * @share: of the process that it is for, or NULL
 * @kind: of which kind
 *
 * Context: any. Return: 0, or -ENOMEM if there are too many already.
 */
int sib_limit_take(struct sib_limit *limit, struct sib_share *share, enum sib_kind kind)
{
	int max = limit->max[kind];

	if (!take(&limit->used[kind], max))
		return -ENOMEM;
	if (!share)
		return 0;
	if (!take(&limit->by_processes[kind], sib_limit_of_processes(max)))
		goto err_processes;
	if (!take(&share->used[kind], sib_limit_of_process(max)))
		goto err_process;
	return 0;

err_process:
	give(&limit->by_processes[kind]);
err_processes:
	give(&limit->used[kind]);
	return -ENOMEM;
}

/**
 * sib_limit_give - one object less
 * @limit: the device's objects
 * @share: as for sib_limit_take()
 * @kind: of which kind
 *
 * Context: any.
 */
void sib_limit_give(struct sib_limit *limit, struct sib_share *share, enum sib_kind kind)
{
	give(&limit->used[kind]);
	if (!share)
		return;
	give(&limit->by_processes[kind]);
	give(&share->used[kind]);
}

static struct sib_share *share_of(struct sib_limit *limit, const struct mm_struct *mm)
{
	struct sib_share *share;

	lockdep_assert_held(&limit->lock);
	list_for_each_entry(share, &limit->shares, list)
		if (share->mm == mm)
			return share;
	return NULL;
}

/**
 * sib_share_get - the calling process opens the device
 * @limit: the device's objects
 *
 * Context: process. Return: its share, the same for all its contexts, or
 * ERR_PTR(-ENOMEM).
 */
struct sib_share *sib_share_get(struct sib_limit *limit)
{
	struct sib_share *share;

	mutex_lock(&limit->lock);
	share = share_of(limit, current->mm);
	if (share) {
		refcount_inc(&share->contexts);
		goto unlock;
	}
	share = kzalloc(sizeof(*share), GFP_KERNEL_ACCOUNT);
	if (!share) {
		share = ERR_PTR(-ENOMEM);
		goto unlock;
	}
	share->mm = current->mm;
	mmgrab(share->mm);
	refcount_set(&share->contexts, 1);
	list_add(&share->list, &limit->shares);
unlock:
	mutex_unlock(&limit->lock);
	return share;
}

/**
 * sib_share_put - one context of a process is closed, and all that was made with it
 * @limit: the device's objects
 * @share: of that process
 *
 * Context: process, any.
 */
void sib_share_put(struct sib_limit *limit, struct sib_share *share)
{
	mutex_lock(&limit->lock);
	if (refcount_dec_and_test(&share->contexts)) {
		list_del(&share->list);
		mmdrop(share->mm);
		kfree(share);
	}
	mutex_unlock(&limit->lock);
}

/**
 * sib_share_charge - memory of the kernel that a process has made it use
 * @share: of the process, or NULL
 * @bytes: how much; whole pages count
 *
 * Context: the process. Return: 0, or -ENOMEM if it may not lock so much.
 */
int sib_share_charge(struct sib_share *share, size_t bytes)
{
	unsigned long pages = PAGE_ALIGN(bytes) >> PAGE_SHIFT;

	if (!share || atomic64_add_return(pages, &share->mm->pinned_vm) <=
			      rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT || capable(CAP_IPC_LOCK))
		return 0;
	atomic64_sub(pages, &share->mm->pinned_vm);
	return -ENOMEM;
}

/**
 * sib_share_uncharge - it is no longer used
 * @share: as for sib_share_charge()
 * @bytes: likewise
 *
 * Context: any.
 */
void sib_share_uncharge(struct sib_share *share, size_t bytes)
{
	if (share)
		atomic64_sub(PAGE_ALIGN(bytes) >> PAGE_SHIFT, &share->mm->pinned_vm);
}
