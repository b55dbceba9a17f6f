/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * An interface on a HCA that exists only in memory, for suites that compile
 * sources of the IPoIB driver into themselves. Include it before them: it
 * replaces the verbs that make and destroy address handles.
 *
 * Control runs on a real ordered queue; world_settle() waits until it is idle,
 * and world_hurry() makes the queue do now what it would do later.
 */
#ifndef IPOIB_WORLD_H
#define IPOIB_WORLD_H

#include <kunit/test.h>
#include <linux/module.h>
#include <net/sch_generic.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "ipoib.h"
#include "ipoib_netdev.h"

#define CREATE_TRACE_POINTS
#include "ipoib_trace.h"
#undef CREATE_TRACE_POINTS /* the sources include it again */

static struct ib_ah *fake_create_ah(struct ib_pd *pd, struct rdma_ah_attr *attr, u32 flags);
static int fake_destroy_ah(struct ib_ah *ah, u32 flags);

#undef rdma_destroy_ah
#define rdma_create_ah fake_create_ah
#define rdma_destroy_ah fake_destroy_ah

#define WORLD_PORT	1
#define WORLD_PKEY	0x8123

/**
 * struct world - what the sources under test see
 * @intf: the interface, private part of a netdev that is never registered
 * @ca: its HCA, with no DMA device
 * @pd: protection domain
 * @qp: queue pair
 * @handles: address handles that exist
 * @no_handles: the HCA refuses to make one
 * @static_rate: of the newest
 * @ring: sends complete only when the suite moves the tail of the fake rings
 * @sent: packets that left through them
 * @order: the first four octets of each
 * @queue: the transmit queue of each
 * @dropped: packets that did not
 * @doorbells: how often the HCA was told
 */
struct world {
	struct ipoib_intf *intf;
	struct ib_device *ca;
	struct ib_pd pd;
	struct ib_qp qp;
	u32 handles;
	bool no_handles;
	u8 static_rate;
	bool ring;
	u32 sent;
	u32 order[64];
	u16 queue[64];
	u32 dropped;
	u32 doorbells;
};

static struct world *world;

/* What a HCA that refuses says of the first request that it has not taken */
enum telling {
	TELLS,
	TELLS_NOTHING,
	TELLS_NULL,
};

struct ib_sa_client ipoib_sa_client;

static struct ib_ah *fake_create_ah(struct ib_pd *pd, struct rdma_ah_attr *attr, u32 flags)
{
	struct ib_ah *ah;

	if (world->no_handles)
		return ERR_PTR(-EBUSY);
	ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	if (!ah)
		return ERR_PTR(-ENOMEM);
	world->handles++;
	world->static_rate = rdma_ah_get_static_rate(attr);
	return ah;
}

static int fake_destroy_ah(struct ib_ah *ah, u32 flags)
{
	world->handles--;
	kfree(ah);
	return 0;
}

#ifndef WORLD_REAL_TX
bool ipoib_tx_has_room(const struct ipoib_txq *txq)
{
	return txq->head - txq->tail < txq->size;
}

void ipoib_tx_push(struct ipoib_txq *txq, struct ipoib_dest *dest, struct sk_buff *skb)
{
	if (world->sent < ARRAY_SIZE(world->order)) {
		world->order[world->sent] = *(u32 *)skb->data;
		world->queue[world->sent] = txq->index;
	}
	world->sent++;
	dest->used = jiffies;
	txq->head++;
	if (!world->ring)
		txq->tail = txq->head;
	kfree_skb(skb);
}

void ipoib_tx_doorbell(struct ipoib_txq *txq)
{
	world->doorbells++;
}

void ipoib_tx_drop(struct ipoib_txq *txq, struct sk_buff *skb, enum skb_drop_reason reason)
{
	world->dropped++;
	kfree_skb(skb);
}

struct ipoib_txq *ipoib_txq_of(struct ipoib_intf *intf, struct sk_buff *skb)
{
	return &intf->txq[skb_get_queue_mapping(skb)];
}
#endif

static inline void world_settle(void)
{
	flush_workqueue(world->intf->wq);
}

/* Return: when the work is due [ms from now], or -1 if it is not. */
static inline int world_due(const struct delayed_work *work)
{
	if (!delayed_work_pending(work))
		return -1;
	return jiffies_to_msecs(max_t(long, work->timer.expires - jiffies, 0));
}

static inline void world_hurry(struct delayed_work *work)
{
	mod_delayed_work(world->intf->wq, work, 0);
	world_settle();
}

static inline union ib_gid world_gid(u32 n)
{
	union ib_gid gid = { .raw = { 0xFE, 0x80 } };

	put_unaligned_be32(n, gid.raw + 12);
	return gid;
}

/* A packet for a destination, hardware address in front. */
static inline struct sk_buff *world_packet(struct kunit *test, const union ib_gid *gid, u32 qpn,
					   unsigned int len)
{
	struct sk_buff *skb = alloc_skb(IPOIB_HARD_LEN + len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	ipoib_hwaddr_set(skb_put_zero(skb, IPOIB_HARD_LEN + len), 0, qpn, gid);
	skb->dev = world->intf->dev;
	return skb;
}

/* Have a packet wait for its destination. */
static inline void world_hold_back(struct kunit *test, struct ipoib_dest *dest)
{
	struct sk_buff *skb = world_packet(test, &dest->gid, 7, 64);

	ipoib_tx_lock_all(world->intf->dev);
	KUNIT_EXPECT_EQ(test, (int)ipoib_hold_add(world->intf, &dest->hold, skb), 0);
	ipoib_tx_unlock_all(world->intf->dev);
}

static const struct ipoib_data_ops world_data = {
	.send_held = ipoib_dest_send_held,
};

static void world_no_work(struct work_struct *work)
{
}

/* Never registered: its queues may be woken all the same. */
static void world_ready_netdev(struct net_device *dev)
{
	unsigned int i;

	for (i = 0; i < dev->num_tx_queues; i++)
		netdev_get_tx_queue(dev, i)->qdisc = &noop_qdisc;
	spin_lock_init(&dev->addr_list_lock);
}

static int world_create(struct kunit *test)
{
	struct ipoib_intf *intf;
	int err, i;

	world = kunit_kzalloc(test, sizeof(*world), GFP_KERNEL);
	if (!world)
		return -ENOMEM;
	world->ca = kunit_kzalloc(test, sizeof(*world->ca), GFP_KERNEL);
	intf = netdev_create(test, IPOIB_TXQ_MAX);
	if (!world->ca || !intf)
		return -ENOMEM;
	world->ca->port_data = kunit_kcalloc(test, WORLD_PORT + 1, sizeof(*world->ca->port_data),
					     GFP_KERNEL);
	if (!world->ca->port_data)
		return -ENOMEM;
	world_ready_netdev(intf->dev);
	world->intf = intf;
	world->pd.device = world->ca;
	world->qp.device = world->ca;
	world->qp.qp_num = 0x111;
	intf->ca = world->ca;
	intf->data = &world_data;
	intf->pd = &world->pd;
	intf->qp = &world->qp;
	intf->port = WORLD_PORT;
	intf->pkey = WORLD_PKEY;
	intf->port_state = IB_PORT_ACTIVE;
	intf->local_gid = world_gid(0x1000);
	INIT_WORK(&intf->reap_work, world_no_work);
	intf->tx_queues = 1;
	for (i = 0; i < IPOIB_TXQ_MAX; i++) {
		intf->txq[i].intf = intf;
		intf->txq[i].index = i;
		intf->txq[i].size = 64;
		intf->txq[i].running = true;
	}
	intf->group_mtu = IPOIB_UD_MTU(2048);
	err = ipoib_dest_table_init(intf);
	if (err)
		return err;
	intf->wq = alloc_ordered_workqueue("ipoib_kunit", 0);
	return intf->wq ? 0 : -ENOMEM;
}

/* Everything made must be gone by now. */
static void world_destroy(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;

	world_settle();
	ipoib_ah_reap(intf, true);
	KUNIT_EXPECT_EQ(test, world->handles, 0U);
	KUNIT_EXPECT_EQ(test, atomic_read(&intf->pending_bytes), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&intf->dest_list));
	ipoib_dest_table_destroy(intf);
	destroy_workqueue(intf->wq);
	free_netdev(intf->dev);
	world = NULL;
	/* entries are freed behind the readers of the table */
	rcu_barrier();
}

#endif /* IPOIB_WORLD_H */
