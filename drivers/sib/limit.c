// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How many objects of each kind a device has, see limit.h.
 */
#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/module.h>

#include "limit.h"

static const int max_of[SIB_KINDS] = {
	[SIB_KIND_AH] = 65536,
	[SIB_KIND_CQ] = 65536,
	[SIB_KIND_MR] = 65536,
	[SIB_KIND_PD] = 65536,
	[SIB_KIND_QP] = 65536,
	[SIB_KIND_SRQ] = 65536,
};

static unsigned int max_srq = 65536;
module_param(max_srq, uint, 0444);
MODULE_PARM_DESC(max_srq,
		 "shared receive queues, up to 65536; 0 for HCAs without (default 65536)");

/**
 * sib_limit_max - how many objects there may be at a time
 * @kind: of which kind
 *
 * Return: their number.
 */
int sib_limit_max(enum sib_kind kind)
{
	if (kind == SIB_KIND_SRQ)
		return min_t(unsigned int, max_srq, max_of[kind]);
	return max_of[kind];
}

/**
 * sib_limit_take - one object more
 * @limit: the device's objects
 * @kind: of which kind
 *
 * Context: any. Return: 0, or -ENOMEM if there are too many already.
 */
int sib_limit_take(struct sib_limit *limit, enum sib_kind kind)
{
	return atomic_add_unless(&limit->used[kind], 1, sib_limit_max(kind)) ? 0 : -ENOMEM;
}

/**
 * sib_limit_give - one object less
 * @limit: the device's objects
 * @kind: of which kind
 *
 * Context: any.
 */
void sib_limit_give(struct sib_limit *limit, enum sib_kind kind)
{
	WARN_ON(atomic_dec_return(&limit->used[kind]) < 0);
}
