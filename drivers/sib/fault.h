/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Faults of an HCA, to test with: commands that take long or fail, and the state in which
 * nothing but its removal helps. Set through debugfs, see docs/sib-link.md.
 */
#ifndef SIB_FAULT_H
#define SIB_FAULT_H

#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/types.h>

struct dentry;
struct sib_dev;

/**
 * struct sib_fault - what is wrong with an HCA; written through debugfs at any time
 * @fatal: it has failed: it takes no work, and no commands but those that take things away
 * @command_ms: how long [ms] a command takes
 * @fail_commands: so many commands fail next
 */
struct sib_fault {
	bool fatal;
	u32 command_ms;
	u32 fail_commands;
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
	u32 ms = READ_ONCE(fault->command_ms), left = READ_ONCE(fault->fail_commands);

	if (unlikely(ms))
		msleep(ms);
	if (sib_fault_is_fatal(fault))
		return -EIO;
	if (likely(!left))
		return 0;
	WRITE_ONCE(fault->fail_commands, left - 1);
	return -EIO;
}

void sib_fault_show(struct sib_dev *dev, struct dentry *dir);

#endif /* SIB_FAULT_H */
