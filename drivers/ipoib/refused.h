/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_REFUSED_H
#define IPOIB_REFUSED_H

#include <linux/compiler.h>
#include <linux/types.h>

struct ipoib_intf;
struct ipoib_rxq;
struct ipoib_txq;

/* End of a list of receive buffers that the HCA has refused. */
#define IPOIB_NO_SLOT	U32_MAX

/**
 * struct ipoib_refused - whether the HCA takes the requests of a queue
 * @keeps: the queue is never given up; constant
 * @none: so often in a row, REFUSED_DELAY apart at least, it has taken nothing
 * @since: jiffies of the first time
 * @last: jiffies of the last one
 *
 * Belongs to whoever posts to the queue.
 */
struct ipoib_refused {
	bool keeps;
	u32 none;
	unsigned long since;
	unsigned long last;
};

void ipoib_refused_init(struct ipoib_intf *intf);
void ipoib_refused_stop(struct ipoib_intf *intf);
void ipoib_refused_retry(struct ipoib_intf *intf);
bool ipoib_refused(struct ipoib_intf *intf, struct ipoib_refused *refused, bool send, int err,
		   bool some);

/* tx.c, rxq.c: post again what the HCA has refused, should nothing follow */
void ipoib_tx_post_refused(struct ipoib_txq *txq);
void ipoib_rx_post_refused(struct ipoib_rxq *rxq);

/**
 * ipoib_taken - the HCA has taken a list as a whole, or has nothing any more
 * @refused: of the queue
 */
static inline void ipoib_taken(struct ipoib_refused *refused)
{
	if (unlikely(refused->none))
		refused->none = 0;
}

#endif /* IPOIB_REFUSED_H */
