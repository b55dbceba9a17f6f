/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Faults to test with. A faulty switch: IB packets that get lost above the link layer,
 * which itself loses none. A faulty HCA: send queues that stand still. Set through
 * debugfs, see docs/sib-link.md.
 */
#ifndef SIB_LOSS_H
#define SIB_LOSS_H

#include "wire.h"

struct dentry;

/**
 * struct sib_loss - what a port loses; written through debugfs at any time
 * @drop_ppm: packets of a million
 * @drop_mads: those of QP0 and QP1, too
 * @hang_sends: so many of the UD QPs that have something to send next stand still
 */
struct sib_loss {
	u32 drop_ppm;
	bool drop_mads;
	u32 hang_sends;
};

bool sib_loss_drops(const struct sib_loss *loss, const struct sib_pkt *pkt, u32 random);
bool sib_loss_hangs(struct sib_loss *loss, u32 qpn);
void sib_loss_show(struct sib_loss *loss, struct dentry *dir);

#endif /* SIB_LOSS_H */
