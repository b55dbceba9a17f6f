// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who may still use a path or a connection that is being forgotten: packets to many
 * neighbours, answers of the SA, connections that come and break, and between them, by
 * chance, all that flushes. Destinations, paths and connections are the driver's own; the
 * SA, the links and the ring are fakes. KASAN and the counts at the end are the judges.
 */
#include <linux/prandom.h>

#include "ipoib_conn_world.h"

typedef void (*path_callback)(int status, struct sa_path_rec *rec, compat_num_prs num_prs,
			      void *context);

static int fake_path_rec_get(struct sa_path_rec *rec, path_callback callback, void *context,
			     struct ib_sa_query **query);
static void fake_cancel_query(struct ib_sa_query *query);
#define ib_sa_path_rec_get(client, ca, port, rec, mask, timeout, gfp, callback, context, query) \
	fake_path_rec_get(rec, callback, context, query)
#define ib_sa_cancel_query(id, query) fake_cancel_query(query)
#define ib_init_ah_attr_from_path(ca, port, rec, attr, gid) ((void)(attr), 0)
#include "dest.c"
#include "path.c"
#include "answer.c"
#include "cm_conn.c"
#include "cm_cut.c"
#include "cm_dest.c"
#include "cm_turn.c"
#include "adapt.c"
#include "cm.c"
#include "cm_item.c"

#define SEED		20261122
#define STEPS		20000
#define PEERS		48
#define QPNS		3	/* interfaces of a peer */
#define ROOM		64

/* A question that the SA has not answered. */
struct question {
	path_callback callback;
	void *context;
	struct sa_path_rec rec;
};

static struct {
	struct rnd_state chance;
	struct question questions[PEERS];
	u32 destroyed;
} fake;

static u32 chance(u32 of)
{
	return prandom_u32_state(&fake.chance) % of;
}

static int fake_path_rec_get(struct sa_path_rec *rec, path_callback callback, void *context,
			     struct ib_sa_query **query)
{
	struct question *asked = fake.questions;

	while (asked->callback)
		if (++asked == fake.questions + PEERS)
			return -ENOMEM;
	*asked = (struct question){ .callback = callback, .context = context, .rec = *rec };
	*query = (void *)asked;
	return 1;
}

static void answer(struct question *asked, int status, u16 dlid)
{
	struct question was = *asked;

	asked->callback = NULL;
	sa_path_set_dlid(&was.rec, dlid);
	was.rec.mtu = IB_MTU_2048;
	was.rec.rate = IB_RATE_10_GBPS;
	was.callback(status, status ? NULL : &was.rec, 1, was.context);
}

static void fake_cancel_query(struct ib_sa_query *query)
{
	struct question *asked = (void *)query;

	if (asked->callback)
		answer(asked, -EINTR, 0);
}

struct ipoib_cm_tx *ipoib_cm_tx_create(struct ipoib_conn *conn)
{
	/* as the request does */
	if (!conn->path->dest.ah || !sa_path_get_dlid(&conn->path->current_rec))
		return ERR_PTR(-EINVAL);
	return fake_link(conn);
}

void ipoib_cm_push(struct ipoib_txq *txq, struct ipoib_conn *conn, struct sk_buff *skb)
{
	conn->link->head++;
	conns.pushed++;
	conns.room--;
	kfree_skb(skb);
}

void ipoib_tx_datagram(struct ipoib_txq *txq, struct sk_buff *skb)
{
	struct ipoib_intf *intf = txq->intf;
	union ib_gid gid = ipoib_hwaddr_gid(skb->data);
	struct ipoib_dest *dest = ipoib_dest_find(intf, &gid);

	conns.datagrams++;
	if (!dest)
		dest = ipoib_path_create(intf, &gid);
	if (!dest) {
		kfree_skb(skb);
		return;
	}
	if (dest->ah && list_empty(&dest->backlog) && ipoib_tx_has_room(&intf->txq[0]))
		ipoib_tx_push(&intf->txq[0], dest, skb);
	else if (ipoib_hold_add(intf, &dest->hold, skb))
		ipoib_tx_drop(&intf->txq[0], skb, SKB_DROP_REASON_NEIGH_QUEUEFULL);
	else if (dest->ah)
		ipoib_dest_wait_for_room(intf, dest);
	if (!dest->ah || test_bit(IPOIB_PATH_STALE, &ipoib_path_of(dest)->state))
		ipoib_path_resolve(ipoib_path_of(dest));
}

struct order {
	struct work_struct work;
	void (*run)(struct ipoib_intf *intf);
};

static void order_work(struct work_struct *work)
{
	container_of(work, struct order, work)->run(world->intf);
}

/* On the control queue, as the driver does. */
static void on_control(void (*run)(struct ipoib_intf *intf))
{
	struct order order = { .run = run };

	INIT_WORK_ONSTACK(&order.work, order_work);
	queue_work(world->intf->wq, &order.work);
	flush_work(&order.work);
	destroy_work_on_stack(&order.work);
}

static struct ipoib_conn *any_conn(struct ipoib_intf *intf)
{
	struct ipoib_conn *conn;
	u32 skip = chance(PEERS);

	list_for_each_entry(conn, &intf->cm->conn_list, all)
		if (!skip--)
			return conn;
	return list_first_entry_or_null(&intf->cm->conn_list, struct ipoib_conn, all);
}

static void something_happens_to_a_connection(struct ipoib_intf *intf)
{
	static const enum ipoib_conn_event events[] = {
		IPOIB_CONN_EV_REP, IPOIB_CONN_EV_REP, IPOIB_CONN_EV_REP, IPOIB_CONN_EV_LOST,
		IPOIB_CONN_EV_HANGUP, IPOIB_CONN_EV_REFUSED, IPOIB_CONN_EV_STALE,
	};
	enum ipoib_conn_event event = events[chance(ARRAY_SIZE(events))];
	struct ipoib_conn *conn = any_conn(intf);

	if (!conn || !conn->link ||
	    (event == IPOIB_CONN_EV_REP && conn->state == IPOIB_CONN_UP))
		return;
	conn->up_since -= chance(2) * 2 * CONN_PROVEN;
	ipoib_conn_event(conn, event);
}

static void a_connection_is_idle(struct ipoib_intf *intf)
{
	struct ipoib_conn *conn = any_conn(intf);

	if (conn)
		conn->used = jiffies - CONN_IDLE - HZ;
	ipoib_conns_tick(intf->cm);
}

static void peers_may_be_asked_again(struct ipoib_intf *intf)
{
	struct ipoib_conn *conn;

	list_for_each_entry(conn, &intf->cm->conn_list, all)
		WRITE_ONCE(conn->ask_at, jiffies);
}

static void flush_light(struct ipoib_intf *intf)
{
	ipoib_paths_mark_stale(intf);
}

static void flush_normal(struct ipoib_intf *intf)
{
	ipoib_cm_reset(intf);
	ipoib_paths_forget_ah(intf);
}

static void a_path_goes(struct ipoib_intf *intf)
{
	struct ipoib_dest *dest;
	u32 skip = chance(PEERS);

	list_for_each_entry(dest, &intf->dest_list, all) {
		if (skip--)
			continue;
		fake.destroyed++;
		ipoib_path_destroy(ipoib_path_of(dest));
		return;
	}
}

static void reap(struct ipoib_intf *intf)
{
	ipoib_ah_reap(intf, false);
}

static void interface_down(struct ipoib_intf *intf)
{
	struct ipoib_dest *dest, *next;

	ipoib_tx_lock_all(intf->dev);
	intf->running = false;
	intf->txq[0].tail = intf->txq[0].head;
	ipoib_tx_unlock_all(intf->dev);
	ipoib_cm_stop(intf);
	list_for_each_entry_safe(dest, next, &intf->dest_list, all) {
		fake.destroyed++;
		ipoib_path_destroy(ipoib_path_of(dest));
	}
	ipoib_ah_reap(intf, true);
}

static void packet(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	union ib_gid gid = world_gid(1 + chance(PEERS));
	struct sk_buff *skb;

	/* The stack's queue is stopped then. */
	if (!ipoib_tx_has_room(&intf->txq[0]) || !ipoib_cm_has_room(intf))
		return;
	skb = world_packet(test, &gid, 0x40 + chance(QPNS), 64);
	if (chance(4))
		skb->data[0] |= IPOIB_HWADDR_RC;
	ipoib_tx_lock_all(intf->dev);
	rcu_read_lock();
	if (!intf->connected || !ipoib_cm_xmit(&intf->txq[0], skb))
		ipoib_tx_datagram(&intf->txq[0], skb);
	rcu_read_unlock();
	ipoib_tx_unlock_all(intf->dev);
}

/* Sends have completed: there is room for what waits. */
static void completions(void)
{
	struct ipoib_intf *intf = world->intf;

	ipoib_tx_lock_all(intf->dev);
	conns.room = chance(ROOM);
	intf->txq[0].tail += chance(intf->txq[0].head - intf->txq[0].tail + 1);
	rcu_read_lock();
	ipoib_dest_send_backlog(intf);
	ipoib_cm_send_backlog(intf);
	rcu_read_unlock();
	ipoib_tx_unlock_all(intf->dev);
}

static void the_sa_answers(void)
{
	static const int statuses[] = { 0, 0, 0, 0, -ETIMEDOUT, -EINVAL };
	u32 first = chance(PEERS), i;

	for (i = 0; i < PEERS; i++) {
		struct question *asked = &fake.questions[(first + i) % PEERS];

		if (!asked->callback)
			continue;
		answer(asked, statuses[chance(ARRAY_SIZE(statuses))], 1 + chance(3));
		return;
	}
}

static void heard(void)
{
	union ib_gid gid = world_gid(1 + chance(PEERS));

	local_bh_disable();
	ipoib_path_heard(world->intf, &gid, 1 + chance(3));
	local_bh_enable();
}

static void switch_mode(void)
{
	rtnl_lock();
	ipoib_cm_set_mode(world->intf, !world->intf->connected);
	rtnl_unlock();
}

/* What is rare: everything that flushes. */
static void flush(void)
{
	static void (* const orders[])(struct ipoib_intf *intf) = {
		flush_light, flush_normal, a_path_goes, a_connection_is_idle,
		peers_may_be_asked_again, reap,
	};

	switch (chance(64)) {
	case 0:
		on_control(interface_down);
		world->intf->running = true;
		break;
	case 1 ... 4:
		switch_mode();
		break;
	default:
		on_control(orders[chance(ARRAY_SIZE(orders))]);
		break;
	}
}

static void step(struct kunit *test)
{
	switch (chance(16)) {
	case 0:
		flush();
		break;
	case 1:
		completions();
		break;
	case 2:
		heard();
		break;
	case 3 ... 6:
		the_sa_answers();
		break;
	case 7 ... 9:
		on_control(something_happens_to_a_connection);
		break;
	default:
		packet(test);
		break;
	}
}

static int setup(struct kunit *test)
{
	int err = world_create(test);

	if (err)
		return err;
	memset(&fake, 0, sizeof(fake));
	memset(&conns, 0, sizeof(conns));
	prandom_seed_state(&fake.chance, SEED);
	world->ring = true;
	world->ca->attrs.max_srq = 1;
	world->ca->attrs.max_srq_sge = 16;
	world->ca->num_comp_vectors = 1;
	world->intf->running = true;
	world->intf->connected = true;
	return ipoib_cm_create(world->intf);
}

static void teardown(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;

	if (intf->cm) {
		on_control(interface_down);
		KUNIT_EXPECT_TRUE(test, list_empty(&intf->cm->conn_list));
		KUNIT_EXPECT_TRUE(test, list_empty(&intf->cm->backlog));
		KUNIT_EXPECT_TRUE(test, list_empty(&intf->backlog));
		KUNIT_EXPECT_EQ(test, conns.links, conns.ended);
		ipoib_cm_destroy(intf);
	}
	world_destroy(test);
}

static void flushed_by_chance(struct kunit *test)
{
	u32 i;

	for (i = 0; i < STEPS; i++)
		step(test);
	world_settle();
	kunit_info(test, "%u packets through %u connections, %u datagrams, %u paths forgotten",
		   conns.pushed, conns.links, conns.datagrams, fake.destroyed);
	KUNIT_EXPECT_GT(test, conns.pushed, 50U);
	KUNIT_EXPECT_GT(test, conns.links, 100U);
	KUNIT_EXPECT_GT(test, conns.datagrams, 100U);
	KUNIT_EXPECT_GT(test, fake.destroyed, 100U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(flushed_by_chance),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_flush",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: neighbours flushed under traffic");
