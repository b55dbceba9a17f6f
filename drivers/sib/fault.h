/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Faults of an HCA, to test with: commands that take long or fail, requests that complete in
 * error, errors of queue pairs and of CQs, tables that change, and the state in which nothing
 * but the HCA's removal helps. Set through debugfs, see docs/sib-link.md.
 */
#ifndef SIB_FAULT_H
#define SIB_FAULT_H

#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct dentry;
struct sib_dev;

/**
 * struct sib_fault_wc - requests that complete in error
 * @left: so many that would have completed well
 * @status: how they complete instead (enum ib_wc_status)
 */
struct sib_fault_wc {
	u32 left;
	u32 status;
};

/**
 * struct sib_fault - what is wrong with an HCA; written through debugfs at any time
 * @fatal: it has failed: it takes no work, and no commands but those that take things away
 * @command_ms: how long [ms] a command takes
 * @fail_commands: so many commands fail next
 * @event_us: how late [us] completion handlers are called that interrupts call
 * @sends: send requests that fail next
 * @recvs: receive requests that fail next
 */
struct sib_fault {
	bool fatal;
	u32 command_ms;
	u32 fail_commands;
	u32 event_us;
	struct sib_fault_wc sends;
	struct sib_fault_wc recvs;
};

/**
 * sib_fault_is_fatal - has the HCA failed
 * @fault: of the HCA
 *
 * Context: any.
 */
static inline bool sib_fault_is_fatal(const struct sib_fault *fault)
{
	return unlikely(READ_ONCE(fault->fatal));
}

/**
 * sib_fault_command - a command is given to the HCA
 * @fault: of the HCA
 *
 * Context: process. Return: 0, or -EIO if it fails.
 */
static inline int sib_fault_command(struct sib_fault *fault)
{
	u32 ms = READ_ONCE(fault->command_ms), left;

	if (unlikely(ms))
		msleep(ms);
	if (sib_fault_is_fatal(fault))
		return -EIO;
	/* Several may be under way. */
	left = READ_ONCE(fault->fail_commands);
	while (unlikely(left) && !try_cmpxchg(&fault->fail_commands, &left, left - 1))
		;
	return left ? -EIO : 0;
}

/**
 * sib_fault_status - how a request completes
 * @wc: what is to fail
 * @qpn: number of its queue pair: QP0 and QP1 are spared
 * @status: how it would complete
 *
 * Context: port->lock held. Return: @status, or an error instead of success.
 */
static inline enum ib_wc_status sib_fault_status(struct sib_fault_wc *wc, u32 qpn,
						 enum ib_wc_status status)
{
	u32 left = READ_ONCE(wc->left);

	if (likely(!left) || qpn <= 1 || status != IB_WC_SUCCESS)
		return status;
	WRITE_ONCE(wc->left, left - 1);
	return min_t(u32, READ_ONCE(wc->status), IB_WC_GENERAL_ERR);
}

void sib_fault_show(struct sib_dev *dev, struct dentry *dir);

#endif /* SIB_FAULT_H */
