// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The life of an outgoing connection, as a table.
 *
 * Events come from a sender, the SA, the CM, the queue pair and the clock, in any
 * order; one that a state has no line for is late and means nothing. The first
 * attempt holds packets back, so that they keep their order. After a failure the
 * next attempts run in the background, because a peer that does not answer the CM
 * may still take datagrams.
 */
#include "cm_conn.h"

#define STEP(state, event, to, what)					\
	[IPOIB_CONN_##state][IPOIB_CONN_EV_##event] = {			\
		.next = IPOIB_CONN_##to, .todo = (what) | STEP_KNOWN }

/* Tells a line of the table from a gap in it. */
#define STEP_KNOWN	BIT(15)

#define FORGET		IPOIB_CONN_DO_FORGET
#define ABORT		IPOIB_CONN_DO_ABORT
#define CLOSE		IPOIB_CONN_DO_CLOSE
#define BACKOFF		IPOIB_CONN_DO_BACKOFF
#define ATTACH		IPOIB_CONN_DO_ATTACH
#define RELEASE		IPOIB_CONN_DO_RELEASE
#define DROP		IPOIB_CONN_DO_DROP
#define ASK_PATH	IPOIB_CONN_DO_ASK_PATH
#define CONNECT		IPOIB_CONN_DO_CONNECT

static const struct ipoib_conn_step
conn_steps[IPOIB_CONN_STATES][IPOIB_CONN_EVENTS] = {
	STEP(NEW, PACKET, PATH, ASK_PATH),
	STEP(NEW, IDLE, GONE, FORGET | RELEASE),
	STEP(NEW, STOP, GONE, FORGET | RELEASE),
	STEP(NEW, NOPATH, GONE, FORGET | DROP),

	STEP(PATH, PATH, REQ, CONNECT),
	STEP(PATH, REFUSED, DATAGRAM, BACKOFF | RELEASE),
	STEP(PATH, RESET, NEW, 0),
	STEP(PATH, STOP, GONE, FORGET | RELEASE),
	STEP(PATH, NOPATH, GONE, FORGET | DROP),

	STEP(REQ, REP, UP, ATTACH),
	STEP(REQ, STALE, REQ, ABORT | CONNECT),
	STEP(REQ, REFUSED, DATAGRAM, ABORT | BACKOFF | RELEASE),
	STEP(REQ, LOST, DATAGRAM, ABORT | BACKOFF | RELEASE),
	STEP(REQ, HANGUP, DATAGRAM, ABORT | BACKOFF | RELEASE),
	STEP(REQ, MOVED, REQ, ABORT | CONNECT),
	STEP(REQ, RESET, NEW, ABORT),
	STEP(REQ, STOP, GONE, FORGET | ABORT | RELEASE),
	STEP(REQ, NOPATH, GONE, FORGET | ABORT | DROP),

	STEP(UP, REFUSED, DATAGRAM, ABORT | BACKOFF | RELEASE),
	STEP(UP, LOST, NEW, ABORT),
	STEP(UP, HANGUP, NEW, ABORT),
	STEP(UP, MOVED, PATH, CLOSE | ASK_PATH),
	STEP(UP, RESET, NEW, ABORT),
	STEP(UP, IDLE, GONE, FORGET | CLOSE | RELEASE),
	STEP(UP, STOP, GONE, FORGET | CLOSE | RELEASE),
	STEP(UP, NOPATH, GONE, FORGET | ABORT | DROP),

	STEP(DATAGRAM, PACKET, RETRY_PATH, ASK_PATH),
	STEP(DATAGRAM, MOVED, RETRY_PATH, ASK_PATH),
	STEP(DATAGRAM, IDLE, GONE, FORGET),
	STEP(DATAGRAM, STOP, GONE, FORGET),
	STEP(DATAGRAM, NOPATH, GONE, FORGET),

	STEP(RETRY_PATH, PATH, RETRY, CONNECT),
	STEP(RETRY_PATH, REFUSED, DATAGRAM, BACKOFF),
	STEP(RETRY_PATH, RESET, DATAGRAM, 0),
	STEP(RETRY_PATH, STOP, GONE, FORGET),
	STEP(RETRY_PATH, NOPATH, GONE, FORGET),

	STEP(RETRY, REP, UP, ATTACH),
	STEP(RETRY, STALE, RETRY, ABORT | CONNECT),
	STEP(RETRY, REFUSED, DATAGRAM, ABORT | BACKOFF),
	STEP(RETRY, LOST, DATAGRAM, ABORT | BACKOFF),
	STEP(RETRY, HANGUP, DATAGRAM, ABORT | BACKOFF),
	STEP(RETRY, MOVED, RETRY, ABORT | CONNECT),
	STEP(RETRY, RESET, DATAGRAM, ABORT),
	STEP(RETRY, STOP, GONE, FORGET | ABORT),
	STEP(RETRY, NOPATH, GONE, FORGET | ABORT),
};

/**
 * ipoib_conn_step - what an event leads to
 * @state: of the connection
 * @event: what has happened
 *
 * Return: the next state and what to do; the same state and nothing if the event
 * means nothing in this one.
 */
struct ipoib_conn_step ipoib_conn_step(enum ipoib_conn_state state,
				       enum ipoib_conn_event event)
{
	struct ipoib_conn_step step = conn_steps[state][event];

	if (!step.todo)
		step.next = state;
	step.todo &= ~STEP_KNOWN;
	return step;
}
