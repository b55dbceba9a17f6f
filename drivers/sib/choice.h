/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a hostile HCA does, where it may do one thing or another: by count, or drawn from a
 * seed (module parameter seed). What is drawn the n-th time depends on the seed and on n alone,
 * so that a run with the same seed meets the same HCA again, as far as its consumers do the
 * same in the same order. Numbers are drawn for each object, or each device, by itself.
 *
 * Nothing here has a state or a lock: the callers count.
 */
#ifndef SIB_CHOICE_H
#define SIB_CHOICE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct sib_profile;

/**
 * enum sib_post - where requests are posted to
 * @SIB_POST_SRQ: a shared receive queue
 * @SIB_POST_RECV: the receive queue of a queue pair
 * @SIB_POST_SEND: the send queue of a queue pair
 */
enum sib_post {
	SIB_POST_SRQ,
	SIB_POST_RECV,
	SIB_POST_SEND,
};

/**
 * struct sib_chooser - what the choices of a device depend on
 * @profile: the HCA that it is like
 * @seed: 0 has it choose by count alone
 */
struct sib_chooser {
	const struct sib_profile *profile;
	u32 seed;
};

u32 sib_choice_seed(const struct sib_profile *profile);
bool sib_choice_refuses(const struct sib_profile *profile, enum ib_qp_type type, bool user);
u32 sib_choice_taken(const struct sib_chooser *c, enum sib_post to, u32 n, u32 len);
bool sib_choice_spurious(const struct sib_chooser *c, u32 n);
bool sib_choice_unasked(const struct sib_chooser *c, u32 n);
u32 sib_choice_late_us(const struct sib_chooser *c, u32 n);
int sib_choice_polled(const struct sib_chooser *c, u32 n, int num);
bool sib_choice_early(const struct sib_chooser *c, u32 n);

#endif /* SIB_CHOICE_H */
