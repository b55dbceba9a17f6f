/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How many objects of each kind a device has: what it tells consumers is what
 * it holds them to. Any context; no lock.
 */
#ifndef SIB_LIMIT_H
#define SIB_LIMIT_H

#include <linux/atomic.h>

enum sib_kind {
	SIB_KIND_AH,
	SIB_KIND_CQ,
	SIB_KIND_MR,
	SIB_KIND_PD,
	SIB_KIND_QP,
	SIB_KIND_SRQ,
	SIB_KINDS
};

/* struct sib_limit - objects in use, by kind */
struct sib_limit {
	atomic_t used[SIB_KINDS];
};

int sib_limit_max(enum sib_kind kind);
int sib_limit_take(struct sib_limit *limit, enum sib_kind kind);
void sib_limit_give(struct sib_limit *limit, enum sib_kind kind);

#endif /* SIB_LIMIT_H */
