// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The life of an outgoing connection: every order of events up to a certain length,
 * against a model that keeps what the actions must keep: one link at most, packets
 * waiting only where somebody will wake them, nothing after the end.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "cm_conn.c"

#define DEPTH	7

/* What the actions have led to. */
struct model {
	enum ipoib_conn_state state;
	bool link;
	bool held;
	bool asked;
	bool forgotten;
};

static unsigned long steps;

/* A link ends before another begins, and what waits is never left behind. */
static const char *apply(struct model *m, enum ipoib_conn_event event)
{
	struct ipoib_conn_step step = ipoib_conn_step(m->state, event);
	bool gone = step.next == IPOIB_CONN_GONE;
	u16 todo = step.todo;

	steps++;
	if (step.next == m->state && !todo)
		return NULL;
	if (m->forgotten)
		return "something after the end";
	if ((todo & ABORT) && (todo & CLOSE))
		return "ended twice";
	if (todo & (ABORT | CLOSE)) {
		if (!m->link)
			return "no link to end";
		m->link = false;
	}
	if (todo & CONNECT) {
		if (m->link)
			return "two links";
		if (!m->asked)
			return "connected without a path";
		m->link = true;
	}
	if (todo & ASK_PATH)
		m->asked = true;
	if ((todo & ATTACH) && (!m->link || step.next != IPOIB_CONN_UP))
		return "attached nothing";
	if (todo & (ATTACH | RELEASE | DROP))
		m->held = false;
	if (ipoib_conn_holds(step.next))
		m->held = true;
	m->forgotten = todo & FORGET;
	if (m->forgotten != gone)
		return "gone, but not forgotten";
	m->state = step.next;
	if (m->link != ipoib_conn_has_link(m->state))
		return "a link in the wrong state";
	if (m->held && !ipoib_conn_holds(m->state) && m->state != IPOIB_CONN_UP)
		return "packets wait for nobody";
	return NULL;
}

static bool walk(struct kunit *test, struct model from, unsigned int depth, u8 *path)
{
	unsigned int event;
	const char *wrong;

	for (event = 0; event < IPOIB_CONN_EVENTS; event++) {
		struct model m = from;

		path[depth] = event;
		wrong = apply(&m, event);
		if (wrong) {
			KUNIT_FAIL(test, "%s after events %*ph", wrong, depth + 1, path);
			return false;
		}
		if (depth + 1 < DEPTH && (m.state != from.state || m.link != from.link) &&
		    !walk(test, m, depth + 1, path))
			return false;
	}
	return true;
}

static void every_order_of_events(struct kunit *test)
{
	struct model start = { .state = IPOIB_CONN_NEW, .held = true };
	u8 path[DEPTH];

	steps = 0;
	KUNIT_EXPECT_TRUE(test, walk(test, start, 0, path));
	KUNIT_EXPECT_GT(test, steps, 1000UL);
}

static void the_end_is_the_end(struct kunit *test)
{
	unsigned int event;

	for (event = 0; event < IPOIB_CONN_EVENTS; event++) {
		struct ipoib_conn_step step = ipoib_conn_step(IPOIB_CONN_GONE, event);

		KUNIT_EXPECT_EQ(test, step.next, IPOIB_CONN_GONE);
		KUNIT_EXPECT_EQ(test, step.todo, 0);
	}
}

/* Interface down and mode off end it from anywhere. */
static void stop_and_no_path_end_it(struct kunit *test)
{
	unsigned int state;

	for (state = 0; state < IPOIB_CONN_GONE; state++) {
		KUNIT_EXPECT_EQ(test, ipoib_conn_step(state, IPOIB_CONN_EV_STOP).next,
				IPOIB_CONN_GONE);
		KUNIT_EXPECT_EQ(test, ipoib_conn_step(state, IPOIB_CONN_EV_NOPATH).next,
				IPOIB_CONN_GONE);
	}
}

struct line {
	enum ipoib_conn_state state;
	enum ipoib_conn_event event;
	enum ipoib_conn_state next;
	u16 todo;
};

/* What a reader of the RFC expects of the most common cases. */
static void known_lines(struct kunit *test)
{
	static const struct line lines[] = {
		{ IPOIB_CONN_NEW, IPOIB_CONN_EV_PACKET, IPOIB_CONN_PATH, ASK_PATH },
		{ IPOIB_CONN_PATH, IPOIB_CONN_EV_PATH, IPOIB_CONN_REQ, CONNECT },
		{ IPOIB_CONN_REQ, IPOIB_CONN_EV_REP, IPOIB_CONN_UP, ATTACH },
		{ IPOIB_CONN_REQ, IPOIB_CONN_EV_REFUSED, IPOIB_CONN_DATAGRAM,
		  ABORT | BACKOFF | RELEASE },
		{ IPOIB_CONN_REQ, IPOIB_CONN_EV_STALE, IPOIB_CONN_REQ, ABORT | CONNECT },
		{ IPOIB_CONN_UP, IPOIB_CONN_EV_REP, IPOIB_CONN_UP, 0 },
		{ IPOIB_CONN_UP, IPOIB_CONN_EV_LOST, IPOIB_CONN_NEW, ABORT },
		{ IPOIB_CONN_UP, IPOIB_CONN_EV_HANGUP, IPOIB_CONN_NEW, ABORT },
		{ IPOIB_CONN_UP, IPOIB_CONN_EV_MOVED, IPOIB_CONN_PATH, CLOSE | ASK_PATH },
		{ IPOIB_CONN_DATAGRAM, IPOIB_CONN_EV_PACKET, IPOIB_CONN_RETRY_PATH, ASK_PATH },
		{ IPOIB_CONN_RETRY, IPOIB_CONN_EV_REP, IPOIB_CONN_UP, ATTACH },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		struct ipoib_conn_step step = ipoib_conn_step(lines[i].state, lines[i].event);

		KUNIT_EXPECT_EQ_MSG(test, step.next, lines[i].next, "line %u", i);
		KUNIT_EXPECT_EQ_MSG(test, step.todo, lines[i].todo, "line %u", i);
	}
}

static struct kunit_case cm_conn_cases[] = {
	KUNIT_CASE(every_order_of_events),
	KUNIT_CASE(the_end_is_the_end),
	KUNIT_CASE(stop_and_no_path_end_it),
	KUNIT_CASE(known_lines),
	{}
};

static struct kunit_suite cm_conn_suite = {
	.name = "ipoib_cm_conn",
	.test_cases = cm_conn_cases,
};

kunit_test_suite(cm_conn_suite);

MODULE_DESCRIPTION("KUnit suite of connections of IPoIB");
MODULE_LICENSE("Dual MIT/GPL");
