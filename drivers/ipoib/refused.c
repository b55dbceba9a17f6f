// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Requests that the HCA refuses for want of room (-ENOMEM), at any position of a list: those
 * before it have been taken. Nothing is lost by it: they keep their place in the ring, or their
 * buffer, and are posted again, with what follows in the same queue, at its next poll, and at
 * the latest by control after REFUSED_DELAY, should nothing follow.
 *
 * Of a queue of which nothing has been taken for REFUSED_MAX, or that is refused for another
 * reason, nobody knows what the HCA has: it is given up, which for a connection means that it
 * is broken, and for the interface that its queue pairs start afresh.
 */
#include "ipoib.h"

#define REFUSED_DELAY	(HZ / 100)
#define REFUSED_MAX	HZ

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
	atomic64_inc(send ? &intf->sends_refused : &intf->receives_refused);
	if (some || !refused->none)
		refused->since = jiffies;
	refused->none = !some;
	if (err == -ENOMEM && time_before_eq(jiffies, refused->since + REFUSED_MAX)) {
		queue_delayed_work(intf->wq, &intf->refused_work, max(REFUSED_DELAY, 1));
		return true;
	}
	/* The next time counts from then on. */
	refused->none = false;
	if (net_ratelimit())
		netdev_warn(intf->dev, "the HCA refused a %s: error %d\n",
			    send ? "send" : "receive", err);
	return false;
}
