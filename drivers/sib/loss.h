/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A faulty switch to test with: IB packets that get lost above the link layer,
 * which itself loses none. Set through debugfs, see docs/sib-link.md.
 */
#ifndef SIB_LOSS_H
#define SIB_LOSS_H

#include "wire.h"

struct dentry;

/**
 * struct sib_loss - what a port loses; written through debugfs at any time
 * @drop_ppm: packets of a million
 * @drop_mads: those of QP0 and QP1, too
 */
struct sib_loss {
	u32 drop_ppm;
	bool drop_mads;
};

bool sib_loss_drops(const struct sib_loss *loss, const struct sib_pkt *pkt, u32 random);
void sib_loss_show(struct sib_loss *loss, struct dentry *dir);

#endif /* SIB_LOSS_H */
