// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Choices of a hostile HCA: see choice.h.
 */
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/module.h>

#include "choice.h"
#include "profile.h"

static unsigned int seed;
module_param(seed, uint, 0644);
MODULE_PARM_DESC(seed, "what new devices with profile=hostile draw their choices from; 0 (default): by count");

/* What is drawn; each has numbers of its own. */
enum what {
	REFUSAL,
	TAKEN,
	SPURIOUS,
	UNASKED,
	LATE,
	HOW_LATE,
	POLLED,
	EARLY,
	RECV_REFUSAL,
	RECV_TAKEN,
	SEND_REFUSAL,
	SEND_TAKEN,
};

/* One of @of numbers, from 0 on */
static u32 draw(const struct sib_chooser *c, enum what what, u32 n, u32 of)
{
	return reciprocal_scale(jhash_2words(n, what, c->seed), of);
}

/**
 * sib_choice_seed - what a new device draws its choices from
 * @profile: the HCA that it is like
 *
 * Context: any. Return: the module parameter, or 0 if the HCA has nothing to choose.
 */
u32 sib_choice_seed(const struct sib_profile *profile)
{
	return profile->late_us ? READ_ONCE(seed) : 0;
}

/**
 * sib_choice_refuses - may a queue pair refuse requests
 * @profile: the HCA that it is like
 * @type: of the queue pair
 * @user: a process has it
 *
 * Those of ib_mad (SMI, GSI) and of processes have no second try.
 *
 * Return: true for a UD or RC queue pair of the kernel, on an HCA that refuses.
 */
bool sib_choice_refuses(const struct sib_profile *profile, enum ib_qp_type type, bool user)
{
	return profile->refuse && !user && (type == IB_QPT_UD || type == IB_QPT_RC);
}

/**
 * sib_choice_taken - how many requests a queue takes of a list
 * @c: of the device
 * @to: what kind of queue
 * @n: count of such calls, from 1 on
 * @len: requests in the list, at least one
 *
 * Return: 0 to @len; the first of the others is refused.
 */
u32 sib_choice_taken(const struct sib_chooser *c, enum sib_post to, u32 n, u32 len)
{
	static const enum what refusal[] = { REFUSAL, RECV_REFUSAL, SEND_REFUSAL };
	static const enum what taken[] = { TAKEN, RECV_TAKEN, SEND_TAKEN };
	u8 refuse = c->profile->refuse;

	if (!refuse)
		return len;
	if (!c->seed)
		return n % refuse ? len : len > 1;
	return draw(c, refusal[to], n, refuse) ? len : draw(c, taken[to], n, len);
}

/**
 * sib_choice_spurious - whether asking for an event causes one, with no completion
 * @c: of the device
 * @n: count of such calls, from 1 on
 *
 * Return: true if so.
 */
bool sib_choice_spurious(const struct sib_chooser *c, u32 n)
{
	u8 spurious = c->profile->spurious;

	if (!spurious)
		return false;
	return c->seed ? !draw(c, SPURIOUS, n, spurious) : !(n % spurious);
}

/**
 * sib_choice_unasked - whether a completion causes an event that nobody has asked for
 * @c: of the device
 * @n: count of completions
 *
 * Return: true if so.
 */
bool sib_choice_unasked(const struct sib_chooser *c, u32 n)
{
	return c->seed && !draw(c, UNASKED, n, 4 * c->profile->spurious);
}

/**
 * sib_choice_late_us - how late a completion handler is called
 * @c: of the device
 * @n: count of such calls
 *
 * Return: microseconds; every other time none.
 */
u32 sib_choice_late_us(const struct sib_chooser *c, u32 n)
{
	return c->seed && draw(c, LATE, n, 2) ? draw(c, HOW_LATE, n, c->profile->late_us) : 0;
}

/**
 * sib_choice_polled - how many completions a consumer gets to see
 * @c: of the device
 * @n: count of such calls
 * @num: how many it asks for
 *
 * What it does not see looks like completions that have come later.
 *
 * Return: @num, or 1 to @num.
 */
int sib_choice_polled(const struct sib_chooser *c, u32 n, int num)
{
	if (!c->seed || num < 2 || draw(c, POLLED, n, 4))
		return num;
	return 1 + draw(c, POLLED, ~n, num);
}

/**
 * sib_choice_early - whether the end of a shared queue's use is told before what is in error
 *	completes (IB_EVENT_QP_LAST_WQE_REACHED)
 * @c: of the device
 * @n: count of such ends
 *
 * Return: true if so.
 */
bool sib_choice_early(const struct sib_chooser *c, u32 n)
{
	return c->seed && draw(c, EARLY, n, 2);
}
