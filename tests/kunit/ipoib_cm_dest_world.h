/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Outgoing connections for suites: links, paths and the ring are fakes; the table, the states,
 * the turns and the control queue are the driver's own.
 */
#ifndef IPOIB_CM_DEST_WORLD_H
#define IPOIB_CM_DEST_WORLD_H

#include "ipoib_conn_world.h"

#include "dest.c"
#include "cm_conn.c"
#include "cm_cut.c"
#include "cm_dest.c"
#include "cm_turn.c"
#include "adapt.c"
#include "cm.c"
#include "cm_item.c"

#define QPN		0x42

static struct {
	struct ipoib_path *paths[8];
	struct ipoib_path *asked;	/* the SA's answer is due */
	struct ipoib_cm_tx *link;	/* the newest */
	u32 without_noio;
	bool refuse;
	u32 order[64];
} fake;

struct ipoib_cm_tx *ipoib_cm_tx_create(struct ipoib_conn *conn)
{
	struct ipoib_cm_tx *link;

	if (!(current->flags & PF_MEMALLOC_NOIO))
		fake.without_noio++;
	link = fake.refuse ? ERR_PTR(-ENOMEM) : fake_link(conn);
	if (!IS_ERR(link))
		fake.link = link;
	return link;
}

void ipoib_cm_push(struct ipoib_txq *txq, struct ipoib_conn *conn, struct sk_buff *skb)
{
	if (conns.pushed < ARRAY_SIZE(fake.order))
		fake.order[conns.pushed] = skb->mark;
	conns.pushed++;
	conns.room--;
	kfree_skb(skb);
}

void ipoib_tx_datagram(struct ipoib_txq *txq, struct sk_buff *skb)
{
	conns.datagrams++;
	kfree_skb(skb);
}

bool ipoib_path_admit(struct ipoib_intf *intf, bool asked)
{
	return ipoib_dest_admit(intf);
}

struct ipoib_dest *ipoib_path_create(struct ipoib_intf *intf, const union ib_gid *gid)
{
	struct ipoib_path *path = fake.paths[gid->raw[15] % ARRAY_SIZE(fake.paths)];

	return path ? &path->dest : NULL;
}

void ipoib_path_hurry(struct ipoib_path *path)
{
}

void ipoib_path_changed(struct ipoib_path *path)
{
	set_bit(IPOIB_PATH_STALE, &path->state);
}

void ipoib_path_resolve(struct ipoib_path *path)
{
	fake.asked = path;
}

static struct ipoib_ah some_ah;

static int setup(struct kunit *test)
{
	int err, i;

	memset(&fake, 0, sizeof(fake));
	memset(&conns, 0, sizeof(conns));
	conns.room = 1 << 20;
	err = world_create(test);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(fake.paths); i++) {
		fake.paths[i] = kunit_kzalloc(test, sizeof(*fake.paths[i]), GFP_KERNEL);
		if (!fake.paths[i])
			return -ENOMEM;
		fake.paths[i]->dest.ah = &some_ah;
		INIT_LIST_HEAD(&fake.paths[i]->conns);
	}
	world->ca->attrs.max_srq = 1;
	world->ca->attrs.max_srq_sge = 16;
	world->ca->num_comp_vectors = 1;
	world->intf->running = true;
	world->intf->connected = true;
	return ipoib_cm_create(world->intf);
}

/* Control has nothing left to do, and the SA has answered. */
static void settle(void)
{
	world_settle();
	while (fake.asked) {
		struct ipoib_path *path = fake.asked;

		fake.asked = NULL;
		clear_bit(IPOIB_PATH_STALE, &path->state);
		ipoib_cm_path_known(path, false);
		world_settle();
	}
}

static void event(struct ipoib_conn *conn, enum ipoib_conn_event what)
{
	ipoib_conn_event(conn, what);
	settle();
}

static void teardown(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;

	if (cm) {
		settle();
		ipoib_conns_event(cm, IPOIB_CONN_EV_NOPATH);
		KUNIT_EXPECT_EQ(test, conns.links, conns.ended);
		KUNIT_EXPECT_TRUE(test, list_empty(&cm->backlog));
		cancel_delayed_work_sync(&cm->tick);
		ipoib_cm_destroy(world->intf);
	}
	world_destroy(test);
}

/* Send a packet. Return: it was taken. */
static bool xmit(struct sk_buff *skb)
{
	bool taken;

	ipoib_tx_lock_all(world->intf->dev);
	rcu_read_lock();
	taken = ipoib_cm_xmit(&world->intf->txq[0], skb);
	rcu_read_unlock();
	ipoib_tx_unlock_all(world->intf->dev);
	if (!taken)
		kfree_skb(skb);
	return taken;
}

/* Send packet @number of @len octets to a peer. Return: it was taken. */
static bool send_octets(struct kunit *test, u32 peer, u32 number, unsigned int len)
{
	union ib_gid gid = world_gid(peer);
	struct sk_buff *skb = world_packet(test, &gid, QPN, len);

	skb->data[0] |= IPOIB_HWADDR_RC;
	skb->mark = number;
	return xmit(skb);
}

static bool send_to(struct kunit *test, u32 peer, u32 number)
{
	return send_octets(test, peer, number, 64);
}

static struct ipoib_conn *conn_to(u32 peer)
{
	struct ipoib_conn_key key = { .qpn = cpu_to_be32(QPN), .gid = world_gid(peer) };

	return rhashtable_lookup_fast(&world->intf->cm->conns, &key, conn_table_params);
}

/* A connection that is up, after one packet. */
static struct ipoib_conn *connect_to(struct kunit *test, u32 peer)
{
	struct ipoib_conn *conn;

	KUNIT_ASSERT_TRUE(test, send_to(test, peer, 0));
	settle();
	conn = conn_to(peer);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_REQ);
	event(conn, IPOIB_CONN_EV_REP);
	KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_UP);
	return conn;
}

#endif /* IPOIB_CM_DEST_WORLD_H */
