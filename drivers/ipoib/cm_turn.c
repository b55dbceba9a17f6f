// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Turns: to how many peers connections are made at a time.
 *
 * Each takes several commands to the HCA and a queue pair, and after an event that ends all
 * connections, every node of the subnet wants its own back. So SETUPS_MAX are made at a time;
 * the others wait, their path known, in the order in which they came: first those that hold
 * packets back, then those whose packets go as datagrams meanwhile. A peer that does not answer
 * takes a turn for seconds, and there may be many.
 */
#include "cm.h"

#define SETUPS_MAX	64

static bool is_set_up_in(enum ipoib_conn_state state)
{
	return state == IPOIB_CONN_REQ || state == IPOIB_CONN_RETRY;
}

static bool waits_in(enum ipoib_conn_state state)
{
	return state == IPOIB_CONN_PATH || state == IPOIB_CONN_RETRY_PATH;
}

/**
 * ipoib_conn_take_turn - the path is known: connect, or wait until others have
 * @conn: connection
 *
 * Context: control.
 */
void ipoib_conn_take_turn(struct ipoib_conn *conn)
{
	struct ipoib_cm *cm = conn->cm;

	if (!waits_in(conn->state))
		return;
	if (cm->setups < SETUPS_MAX)
		ipoib_conn_event(conn, IPOIB_CONN_EV_PATH);
	else if (list_empty(&conn->turn))
		list_add_tail(&conn->turn,
			      ipoib_conn_holds(conn->state) ? &cm->turns : &cm->retries);
}

/**
 * ipoib_conn_turns - a connection changes its state: whose turn is it now
 * @conn: connection, still in its old state
 * @next: state that follows
 *
 * The first that waits hears of it, and stays the first until it has: should it end before,
 * the next one does.
 *
 * Context: control.
 */
void ipoib_conn_turns(struct ipoib_conn *conn, enum ipoib_conn_state next)
{
	struct ipoib_cm *cm = conn->cm;
	struct ipoib_conn *first;

	if (!waits_in(next))
		list_del_init(&conn->turn);
	WRITE_ONCE(cm->setups, cm->setups + is_set_up_in(next) - is_set_up_in(conn->state));
	first = list_first_entry_or_null(list_empty(&cm->turns) ? &cm->retries : &cm->turns,
					 struct ipoib_conn, turn);
	if (first && cm->setups < SETUPS_MAX)
		ipoib_cm_note(&first->item, IPOIB_CONN_EV_PATH);
}
