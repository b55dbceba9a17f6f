/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The life of an outgoing connection as a table: state and event give the next
 * state and what is to be done. Pure: the table knows neither verbs nor packets.
 */
#ifndef IPOIB_CM_CONN_H
#define IPOIB_CM_CONN_H

#include <linux/bits.h>
#include <linux/types.h>

/**
 * enum ipoib_conn_state - how far a connection has come
 * @IPOIB_CONN_NEW: nothing has been asked for; packets wait
 * @IPOIB_CONN_PATH: the SA has been asked; packets wait
 * @IPOIB_CONN_REQ: the peer has been asked; packets wait
 * @IPOIB_CONN_UP: packets go through it
 * @IPOIB_CONN_DATAGRAM: the peer would not, or went away; packets go as
 *	datagrams until it is time to ask again
 * @IPOIB_CONN_RETRY_PATH: as PATH, but packets go as datagrams meanwhile
 * @IPOIB_CONN_RETRY: as REQ, but packets go as datagrams meanwhile
 * @IPOIB_CONN_GONE: out of the table, about to be freed
 * @IPOIB_CONN_STATES: number of states
 */
enum ipoib_conn_state {
	IPOIB_CONN_NEW,
	IPOIB_CONN_PATH,
	IPOIB_CONN_REQ,
	IPOIB_CONN_UP,
	IPOIB_CONN_DATAGRAM,
	IPOIB_CONN_RETRY_PATH,
	IPOIB_CONN_RETRY,
	IPOIB_CONN_GONE,
	IPOIB_CONN_STATES
};

/**
 * enum ipoib_conn_event - what can happen to it
 * @IPOIB_CONN_EV_PACKET: there is something to send, and asking is allowed
 * @IPOIB_CONN_EV_PATH: the path to the peer's port is known
 * @IPOIB_CONN_EV_REP: the peer has agreed
 * @IPOIB_CONN_EV_STALE: the peer took the request for one of a connection that
 *	it still has; asking again with another queue pair will do
 * @IPOIB_CONN_EV_REFUSED: the peer has refused, has not answered, or breaks
 *	connections as soon as they are made
 * @IPOIB_CONN_EV_LOST: the connection has broken
 * @IPOIB_CONN_EV_HANGUP: the peer has ended the connection
 * @IPOIB_CONN_EV_MOVED: the path has changed
 * @IPOIB_CONN_EV_RESET: the port or the UD queue pair starts afresh
 * @IPOIB_CONN_EV_IDLE: nothing has been sent for long
 * @IPOIB_CONN_EV_STOP: connected mode ends, or the interface does
 * @IPOIB_CONN_EV_NOPATH: the peer's port cannot be reached
 * @IPOIB_CONN_EVENTS: number of events
 */
enum ipoib_conn_event {
	IPOIB_CONN_EV_PACKET,
	IPOIB_CONN_EV_PATH,
	IPOIB_CONN_EV_REP,
	IPOIB_CONN_EV_STALE,
	IPOIB_CONN_EV_REFUSED,
	IPOIB_CONN_EV_LOST,
	IPOIB_CONN_EV_HANGUP,
	IPOIB_CONN_EV_MOVED,
	IPOIB_CONN_EV_RESET,
	IPOIB_CONN_EV_IDLE,
	IPOIB_CONN_EV_STOP,
	IPOIB_CONN_EV_NOPATH,
	IPOIB_CONN_EVENTS
};

/* What is to be done, in this order. A link is a queue pair and its CM ID. */
#define IPOIB_CONN_DO_FORGET	BIT(0)	/* out of the table */
#define IPOIB_CONN_DO_ABORT	BIT(1)	/* end the link at once */
#define IPOIB_CONN_DO_CLOSE	BIT(2)	/* end the link when it has sent all */
#define IPOIB_CONN_DO_BACKOFF	BIT(3)	/* ask again later, and later each time */
#define IPOIB_CONN_DO_ATTACH	BIT(4)	/* packets go through the link */
#define IPOIB_CONN_DO_RELEASE	BIT(5)	/* what waits goes as datagrams */
#define IPOIB_CONN_DO_DROP	BIT(6)	/* what waits is given up */
#define IPOIB_CONN_DO_ASK_PATH	BIT(7)	/* EV_PATH or EV_NOPATH will follow */
#define IPOIB_CONN_DO_CONNECT	BIT(8)	/* make a link, ask the peer */

/**
 * struct ipoib_conn_step - what an event leads to
 * @next: state
 * @todo: IPOIB_CONN_DO_*
 */
struct ipoib_conn_step {
	enum ipoib_conn_state next;
	u16 todo;
};

struct ipoib_conn_step ipoib_conn_step(enum ipoib_conn_state state,
				       enum ipoib_conn_event event);

/**
 * ipoib_conn_holds - do packets wait in this state
 * @state: of the connection
 */
static inline bool ipoib_conn_holds(enum ipoib_conn_state state)
{
	return state <= IPOIB_CONN_REQ;
}

/**
 * ipoib_conn_has_link - is there a link in this state
 * @state: of the connection
 */
static inline bool ipoib_conn_has_link(enum ipoib_conn_state state)
{
	return state == IPOIB_CONN_REQ || state == IPOIB_CONN_UP ||
	       state == IPOIB_CONN_RETRY;
}

#endif /* IPOIB_CM_CONN_H */
