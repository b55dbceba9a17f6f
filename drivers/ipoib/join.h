/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_JOIN_H
#define IPOIB_JOIN_H

#include <linux/list.h>
#include <linux/spinlock.h>

struct ipoib_intf;

/*
 * Joins in flight at a port. Half of the requests of all kinds that the kernel has on their way
 * at a time since Linux 6.16 (16 by default): the rest is for path records and for others.
 */
#define IPOIB_JOINS_MAX		8

/**
 * struct ipoib_port_joins - the joins that all interfaces of a port have in flight
 * @lock: guards the rest and ipoib_intf_joins of these interfaces; innermost but for that of
 *	a workqueue
 * @in_flight: slots in use, those included that an interface has been granted
 * @first: interfaces that would ask for their broadcast group, by ipoib_intf_joins.wait
 * @others: interfaces that would ask for another group, likewise
 * @grants: slots that were granted
 */
struct ipoib_port_joins {
	spinlock_t lock; /* guards what says so above */
	unsigned int in_flight;
	struct list_head first;
	struct list_head others;
	unsigned int grants;
};

/**
 * struct ipoib_intf_joins - the part of an interface in that
 * @port: what it shares with the other interfaces of its port; constant
 * @wait: link in ipoib_port_joins.first or .others; guarded by its lock
 * @first: in which of them; guarded by the lock
 * @granted: it has a slot that it has not used; guarded by the lock
 */
struct ipoib_intf_joins {
	struct ipoib_port_joins *port;
	struct list_head wait;
	bool first;
	bool granted;
};

void ipoib_port_joins_init(struct ipoib_port_joins *port);
void ipoib_intf_joins_init(struct ipoib_intf *intf, struct ipoib_port_joins *port);
bool ipoib_join_begin(struct ipoib_intf *intf, bool first);
void ipoib_join_end(struct ipoib_intf *intf);
void ipoib_join_settle(struct ipoib_intf *intf);
void ipoib_join_forget(struct ipoib_intf *intf);

#endif /* IPOIB_JOIN_H */
