// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Requests that the HCA refuses for want of room (-ENOMEM), at any position of a list: those
 * before it have been taken. Nothing is lost by it: they keep their place in the ring, or their
 * buffer, and are posted again with what follows in the same queue, at the latest by control after
 * REFUSED_DELAY, should nothing follow.
 *
 * A queue is given up when nothing of it has been taken for REFUSED_TIME and REFUSED_TIMES in a
 * row, REFUSED_DELAY apart: time alone would give up on a busy machine after two refusals, and
 * their number alone on a busy queue after a few microseconds. Datagrams still arrive as long as
 * the HCA has a buffer; then their queue is not given up. One that is refused for another reason
 * is, for nobody knows what the HCA has of it. For a connection that means that it is broken, and
 * for the interface that its queue pairs start afresh. The shared receive queue of connections is
 * never given up, for whatever reason: nothing makes another one while there are connections. That
 * it has taken nothing for so long, and why, is said instead.
 *
 * An HCA that takes nothing in the state that a queue pair is in may not say at which request it
 * has failed (rdmavt), or say NULL: then it is the first.
 */
#include "ipoib.h"

#define REFUSED_DELAY	(HZ / 100)
#define REFUSED_TIME	HZ
#define REFUSED_TIMES	32

static void refused_work(struct work_struct *work)
{
	struct ipoib_intf *intf = container_of(to_delayed_work(work), struct ipoib_intf,
					       refused_work);
	u32 i;

	if (!intf->running)
		return;
	for (i = 0; i < intf->tx_queues; i++)
		ipoib_tx_post_refused(&intf->txq[i]);
	ipoib_rx_post_refused(&intf->rxq);
	ipoib_cm_post_again(intf);
}

/**
 * ipoib_refused_init - get ready for refusals
 * @intf: interface being made
 */
void ipoib_refused_init(struct ipoib_intf *intf)
{
	INIT_DELAYED_WORK(&intf->refused_work, refused_work);
}

/**
 * ipoib_refused_stop - forget what is to be posted again
 * @intf: interface that does not run
 *
 * Context: process, not control.
 */
void ipoib_refused_stop(struct ipoib_intf *intf)
{
	cancel_delayed_work_sync(&intf->refused_work);
}

/**
 * ipoib_refused_retry - have control post again what the HCA has refused, should nothing follow
 * @intf: interface
 *
 * Context: any.
 */
void ipoib_refused_retry(struct ipoib_intf *intf)
{
	queue_delayed_work(intf->wq, &intf->refused_work, max(REFUSED_DELAY, 1));
}

/**
 * ipoib_refused - the HCA has refused part of a list
 * @intf: interface
 * @refused: of the queue that the list was for
 * @send: it is one of sends
 * @err: what the HCA says
 * @some: it has taken the first request
 *
 * Context: any that may post to the queue.
 * Return: true if the requests are to be posted again, false if the queue is to be given up.
 */
bool ipoib_refused(struct ipoib_intf *intf, struct ipoib_refused *refused, bool send, int err,
		   bool some)
{
	bool waits = err == -ENOMEM || refused->keeps;

	atomic64_inc(send ? &intf->sends_refused : &intf->receives_refused);
	if (some)
		refused->none = 0;
	if (!refused->none)
		refused->since = jiffies;
	if (!some && (!refused->none ||
		      time_after_eq(jiffies, refused->last + max(REFUSED_DELAY, 1)))) {
		refused->none++;
		refused->last = jiffies;
	}
	if (waits)
		ipoib_refused_retry(intf);
	if (waits && (refused->none < REFUSED_TIMES ||
		      time_before_eq(jiffies, refused->since + REFUSED_TIME)))
		return true;
	/* The next time counts from then on. */
	refused->none = 0;
	if (net_ratelimit())
		netdev_warn(intf->dev, "the HCA refused a %s: error %d\n",
			    send ? "send" : "receive", err);
	return refused->keeps;
}
