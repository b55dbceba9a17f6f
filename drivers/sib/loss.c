// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Faults to test with, see loss.h.
 */
#include <linux/debugfs.h>

#include "loss.h"

#define MILLION	1000000U

/**
 * sib_loss_drops - whether a packet gets lost
 * @loss: what the port loses
 * @pkt: the packet
 * @random: 32 random bits
 *
 * Context: any. Return: true if so.
 */
bool sib_loss_drops(const struct sib_loss *loss, const struct sib_pkt *pkt, u32 random)
{
	if (pkt->dqpn <= 1 && !READ_ONCE(loss->drop_mads))
		return false;
	return (u64)random * MILLION >> 32 < READ_ONCE(loss->drop_ppm);
}

/**
 * sib_loss_hangs - whether a queue pair's sends are to stand still from now on
 * @loss: what its port loses
 * @qpn: its number
 *
 * Context: the port context. Return: true if so.
 */
bool sib_loss_hangs(struct sib_loss *loss, u32 qpn)
{
	u32 left = READ_ONCE(loss->hang_sends);

	if (likely(!left) || qpn <= 1)
		return false;
	WRITE_ONCE(loss->hang_sends, left - 1);
	return true;
}

/**
 * sib_loss_show - make it accessible
 * @loss: what a port loses
 * @dir: folder of debugfs for the files
 *
 * Context: process.
 */
void sib_loss_show(struct sib_loss *loss, struct dentry *dir)
{
	debugfs_create_u32("drop_ppm", 0600, dir, &loss->drop_ppm);
	debugfs_create_bool("drop_mads", 0600, dir, &loss->drop_mads);
	debugfs_create_u32("hang_sends", 0600, dir, &loss->hang_sends);
}
