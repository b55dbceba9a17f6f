// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Timers of connected queue pairs: deadlines to the nanosecond, as many as there are queue
 * pairs, and one timer of the clock for all those of a port.
 *
 * The queue of deadlines is guarded by port->lock. The timer is started under that lock, and
 * expires in an interrupt, which takes no lock and only has the port context run: so who
 * holds the lock never waits for it. It may come early, since most deadlines move on before
 * they have come: it does no harm, the port context starts it again.
 */
#include "hrtimer.h"
#include "sib.h"

static enum hrtimer_restart rc_timer(struct hrtimer *timer)
{
	sib_port_kick(container_of(timer, struct sib_port, rc_timer));
	return HRTIMER_NORESTART;
}

/**
 * sib_rc_timer_init - no queue pair has a deadline
 * @port: zeroed memory
 */
void sib_rc_timer_init(struct sib_port *port)
{
	timerqueue_init_head(&port->rc_timed);
	hrtimer_setup(&port->rc_timer, rc_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}

/**
 * sib_rc_timer_cleanup - wait until the timer is at rest
 * @port: port without queue pairs that have a deadline, so that nobody starts it again
 *
 * Context: process; with port->lock not held, though the timer would not take it.
 */
void sib_rc_timer_cleanup(struct sib_port *port)
{
	hrtimer_cancel(&port->rc_timer);
}

/**
 * sib_rc_timer_set - a queue pair has a deadline
 * @port: its port, locked
 * @node: of the queue pair
 * @at: when
 *
 * One that is later than the last stays where it is in the queue, and is early there.
 */
void sib_rc_timer_set(struct sib_port *port, struct timerqueue_node *node, ktime_t at)
{
	lockdep_assert_held(&port->lock);
	if (timerqueue_node_queued(node)) {
		if (!ktime_before(at, node->expires))
			return;
		timerqueue_del(&port->rc_timed, node);
	}
	node->expires = at;
	timerqueue_add(&port->rc_timed, node);
}

/**
 * sib_rc_timer_stop - a queue pair has no deadline any more
 * @port: its port, locked
 * @node: of the queue pair
 */
void sib_rc_timer_stop(struct sib_port *port, struct timerqueue_node *node)
{
	lockdep_assert_held(&port->lock);
	if (timerqueue_node_queued(node))
		timerqueue_del(&port->rc_timed, node);
}

/**
 * sib_rc_timer_take - the next queue pair whose deadline may have come
 * @port: the port, locked
 * @now: the time
 *
 * Return: its node, not in the queue any more, or NULL if there is none.
 */
struct timerqueue_node *sib_rc_timer_take(struct sib_port *port, ktime_t now)
{
	struct timerqueue_node *node = timerqueue_getnext(&port->rc_timed);

	lockdep_assert_held(&port->lock);
	if (!node || ktime_before(now, node->expires))
		return NULL;
	timerqueue_del(&port->rc_timed, node);
	return node;
}

/**
 * sib_rc_timer_follow - have the port context run at the first deadline
 * @port: the port, locked
 */
void sib_rc_timer_follow(struct sib_port *port)
{
	struct timerqueue_node *node = timerqueue_getnext(&port->rc_timed);

	lockdep_assert_held(&port->lock);
	if (!node)
		return;
	if (!hrtimer_is_queued(&port->rc_timer) ||
	    ktime_before(node->expires, hrtimer_get_expires(&port->rc_timer)))
		hrtimer_start(&port->rc_timer, node->expires, HRTIMER_MODE_ABS);
}
