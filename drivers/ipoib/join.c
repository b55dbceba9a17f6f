// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How many joins may be in flight: IPOIB_JOINS_MAX for each port, whatever number of
 * interfaces it has.
 *
 * A port with a child on each of its partitions joins some hundred groups when it comes up. A
 * subnet administrator that is asked for more than it can answer within a timeout answers
 * requests that have been repeated already, and the repetitions keep it busy: no group is
 * joined for minutes. So an interface that finds no free slot waits for its turn. Broadcast
 * groups, without which an interface has no carrier, come before others three times of four.
 *
 * When a request ends, its slot goes to the interface that has waited for longest, whose
 * control queue is woken and gives back what it does not use.
 *
 * Leaves are not counted, nor are requests that were given up before they were answered, which
 * the kernel may still repeat for some seconds.
 */
#include "ipoib.h"
#include "mcast.h"

/**
 * ipoib_port_joins_init - no joins are in flight
 * @port: of a port that has no interface yet
 */
void ipoib_port_joins_init(struct ipoib_port_joins *port)
{
	spin_lock_init(&port->lock);
	INIT_LIST_HEAD(&port->first);
	INIT_LIST_HEAD(&port->others);
}

/**
 * ipoib_intf_joins_init - an interface has its share of a port's joins
 * @intf: interface being made
 * @port: of its port; outlives @intf
 */
void ipoib_intf_joins_init(struct ipoib_intf *intf, struct ipoib_port_joins *port)
{
	intf->joins.port = port;
	INIT_LIST_HEAD(&intf->joins.wait);
}

/*
 * The interface whose turn it is, or NULL. Broadcast groups that are never answered must not
 * keep all others from being asked for.
 */
static struct ipoib_intf *joins_next(struct ipoib_port_joins *port)
{
	bool other = list_empty(&port->first) ||
		     (port->grants % 4 == 3 && !list_empty(&port->others));

	return list_first_entry_or_null(other ? &port->others : &port->first, struct ipoib_intf,
					joins.wait);
}

/* Free slots go to those who wait. */
static void joins_grant(struct ipoib_port_joins *port)
{
	struct ipoib_intf *next;

	lockdep_assert_held(&port->lock);
	while (port->in_flight < IPOIB_JOINS_MAX && (next = joins_next(port))) {
		list_del_init(&next->joins.wait);
		next->joins.granted = true;
		port->in_flight++;
		port->grants++;
		/* With the lock, or it might be gone: ipoib_join_forget(). */
		ipoib_mcast_kick(next);
	}
}

/**
 * ipoib_join_begin - a slot for one more request to join
 * @intf: interface
 * @first: it is for the broadcast group
 *
 * Context: control.
 * Return: true if so, and ipoib_join_end() follows; false if too many are in flight, and then
 *	ipoib_mcast_work() runs when it is the interface's turn.
 */
bool ipoib_join_begin(struct ipoib_intf *intf, bool first)
{
	struct ipoib_intf_joins *joins = &intf->joins;
	struct ipoib_port_joins *port = joins->port;
	bool may;

	spin_lock(&port->lock);
	/* Nobody waits while a slot is free. */
	may = joins->granted || port->in_flight < IPOIB_JOINS_MAX;
	if (may) {
		port->in_flight += !joins->granted;
		joins->granted = false;
	} else if (list_empty(&joins->wait) || joins->first != first) {
		list_move_tail(&joins->wait, first ? &port->first : &port->others);
		joins->first = first;
	}
	spin_unlock(&port->lock);
	return may;
}

/**
 * ipoib_join_end - a request has been answered, or nobody waits for the answer
 * @intf: interface that has made it
 *
 * Context: control.
 */
void ipoib_join_end(struct ipoib_intf *intf)
{
	struct ipoib_port_joins *port = intf->joins.port;

	spin_lock(&port->lock);
	port->in_flight--;
	joins_grant(port);
	spin_unlock(&port->lock);
}

static void joins_give_back(struct ipoib_intf_joins *joins)
{
	lockdep_assert_held(&joins->port->lock);
	if (!joins->granted)
		return;
	joins->granted = false;
	joins->port->in_flight--;
	joins_grant(joins->port);
}

/**
 * ipoib_join_settle - an interface has asked for all that it wants now
 * @intf: interface; what it was granted and has not used is another one's
 *
 * Context: control.
 */
void ipoib_join_settle(struct ipoib_intf *intf)
{
	struct ipoib_intf_joins *joins = &intf->joins;

	spin_lock(&joins->port->lock);
	joins_give_back(joins);
	spin_unlock(&joins->port->lock);
}

/**
 * ipoib_join_forget - an interface goes down, and waits for nothing any more
 * @intf: interface with no request in flight; ipoib_mcast_work() is not woken afterwards
 *
 * Context: control.
 */
void ipoib_join_forget(struct ipoib_intf *intf)
{
	struct ipoib_intf_joins *joins = &intf->joins;

	spin_lock(&joins->port->lock);
	list_del_init(&joins->wait);
	joins_give_back(joins);
	spin_unlock(&joins->port->lock);
}
