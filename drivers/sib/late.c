// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Receive requests that a process posts to a QP in error. They have to complete,
 * too, but no system call tells of them: so such QPs are looked at now and then,
 * a few at a time, as long as they are in error.
 */
#include "sib.h"

#define LATE_MS		10
#define LATE_QPS	64

/**
 * sib_late_watch - begin to look at a QP
 * @port: its port, locked
 * @qp: QP in error that is flushed; nothing is done if no process posts to it
 */
void sib_late_watch(struct sib_port *port, struct sib_qp *qp)
{
	lockdep_assert_held(&port->lock);
	if (!qp->rq.map || !list_empty(&qp->late))
		return;
	if (list_empty(&port->late))
		port->late_at = jiffies + msecs_to_jiffies(LATE_MS);
	list_add_tail(&qp->late, &port->late);
}

/**
 * sib_late_run - have QPs to which something was posted flushed
 * @port: the port, locked
 * @now: jiffies
 *
 * Context: the port's tasklet.
 */
void sib_late_run(struct sib_port *port, unsigned long now)
{
	struct sib_qp *qp, *last;
	int n;

	lockdep_assert_held(&port->lock);
	if (list_empty(&port->late) || time_before(now, port->late_at))
		return;
	port->late_at = now + msecs_to_jiffies(LATE_MS);
	last = list_last_entry(&port->late, struct sib_qp, late);
	for (n = 0; n < LATE_QPS; n++) {
		qp = list_first_entry(&port->late, struct sib_qp, late);
		if (qp->attr.qp_state == IB_QPS_ERR && !qp->rq.user.spoilt)
			list_move_tail(&qp->late, &port->late);
		else
			list_del_init(&qp->late);
		if (sib_rq_count(&qp->rq))
			sib_tx_note(qp);
		if (qp == last)
			return;
	}
}

/**
 * sib_late_deadline - when sib_late_run() is wanted
 * @port: the port, locked
 * @until: jiffies when something else is due
 *
 * Return: jiffies, the earlier of both.
 */
unsigned long sib_late_deadline(const struct sib_port *port, unsigned long until)
{
	if (list_empty(&port->late) || time_before(until, port->late_at))
		return until;
	return port->late_at;
}
