/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Transmit queues of an interface on a HCA that is a fake: it notes the requests that it
 * is given and completes them when it is told to. Destinations are real, NAPI is the
 * kernel's.
 */
#ifndef IPOIB_TX_WORLD_H
#define IPOIB_TX_WORLD_H

#define WORLD_REAL_TX
#include "ipoib_world.h"

static struct ib_cq *fake_create_cq(struct ib_device *ca, ib_comp_handler comp,
				    void (*event)(struct ib_event *, void *), void *context,
				    const struct ib_cq_init_attr *attr, const char *caller);

#undef __ib_create_cq
#define __ib_create_cq fake_create_cq
#define ib_destroy_cq(cq) ((void)(cq))
#define ib_destroy_qp(qp) ((void)(qp))
#include "dest.c"
/* by its path: the software HCA has a file of this name as well */
#include "tx_map.c"
#include "tx_lso.c"

/* The machine's, as the driver sees them */
static unsigned int processors = 1;

#undef num_online_cpus
#define num_online_cpus() (processors)
#include "txq.c"
#include "../../drivers/ipoib/tx.c"
#include "tx_done.c"
#include "refused.c"

#define RING	8U
#define QUEUES	4U

/* What the HCA has been given and what it will say. */
static struct {
	struct ib_cq cq;
	struct ib_cq link_cq;	/* of connections */
	struct ib_cq *wc_cq;	/* whose completions are due */
	struct ib_qp qps[IPOIB_TXQ_MAX + 1];	/* the last is that of a connection */
	enum ib_qp_state state[IPOIB_TXQ_MAX + 1];
	u32 astray;		/* calls for a queue pair that sends nothing */
	u32 queues;		/* that the HCA gives */
	u32 ring_max;		/* requests that a send queue has at most; 0: no limit */
	u64 posted[64];		/* wr_id, in order */
	u32 posts;
	u16 queue[64];
	u32 qpn[64];
	u32 flags[64];
	u32 bytes[64];
	u32 calls;
	u32 unlocked;		/* calls without the transmit queue's lock */
	int refuse_from;	/* requests accepted in a call, or -1 for all */
	bool refuse_on;		/* once it has refused, it accepts nothing */
	int refuse_error;
	enum telling telling;
	struct ib_wc wc[16];
	int wcs;
	u32 restarts;
	u32 resolved;
	bool no_dest;
	enum skb_drop_reason reasons[16];
	u32 drops;
} hca;

static struct ib_cq *fake_create_cq(struct ib_device *ca, ib_comp_handler comp,
				    void (*event)(struct ib_event *, void *), void *context,
				    const struct ib_cq_init_attr *attr, const char *caller)
{
	hca.cq.device = ca;
	return &hca.cq;
}

static int fake_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad)
{
	u16 queue = qp - hca.qps;
	int accepted = 0, i;

	hca.calls++;
	hca.astray += hca.state[queue] != IB_QPS_RTS;
#ifdef CONFIG_LOCKDEP
	hca.unlocked += queue < IPOIB_TXQ_MAX &&
			!lockdep_is_held(&netdev_get_tx_queue(world->intf->dev, queue)->_xmit_lock);
#endif
	for (; wr; wr = wr->next) {
		if (accepted++ == hca.refuse_from) {
			if (hca.telling != TELLS_NOTHING)
				*bad = hca.telling == TELLS ? wr : NULL;
			if (hca.refuse_on)
				hca.refuse_from = 0;
			return hca.refuse_error;
		}
		if (hca.posts == ARRAY_SIZE(hca.posted))
			continue;
		hca.posted[hca.posts] = wr->wr_id;
		hca.queue[hca.posts] = queue;
		hca.qpn[hca.posts] = queue < IPOIB_TXQ_MAX ? ud_wr(wr)->remote_qpn : 0;
		hca.flags[hca.posts] = wr->send_flags;
		hca.bytes[hca.posts] = 0;
		for (i = 0; i < wr->num_sge; i++)
			hca.bytes[hca.posts] += wr->sg_list[i].length;
		hca.posts++;
	}
	return 0;
}

static int fake_poll_cq(struct ib_cq *cq, int most, struct ib_wc *wc)
{
	int n = min(most, hca.wcs);

	if (cq != hca.wc_cq)
		return 0;
	memcpy(wc, hca.wc, n * sizeof(*wc));
	hca.wcs = 0;
	return n;
}

static int fake_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	return 0;
}

#ifndef WORLD_REAL_QP
struct ib_qp *ipoib_qp_make(struct ipoib_intf *intf, const struct ipoib_txq *txq,
			    const struct ipoib_rxq *rxq)
{
	struct ib_qp *qp = &hca.qps[txq->index];

	/* only the first one receives */
	if (txq->index >= hca.queues || !rxq != !!txq->index ||
	    (hca.ring_max && txq->size > hca.ring_max))
		return ERR_PTR(-ENOMEM);
	qp->device = intf->ca;
	qp->qp_num = 0x800 + txq->index;
	return qp;
}
#endif

void ipoib_flush(struct ipoib_intf *intf, enum ipoib_flush level)
{
	hca.restarts += level == IPOIB_FLUSH_RESTART;
}

void ipoib_rx_post_refused(struct ipoib_rxq *rxq)
{
}

void ipoib_pmtu_too_long(struct ipoib_txq *txq, struct sk_buff *skb, u32 mtu, bool *told)
{
	*told = true;
	ipoib_tx_error(txq, skb, SKB_DROP_REASON_PKT_TOO_BIG);
}

static struct ipoib_dest *make_dest(struct ipoib_intf *intf, const union ib_gid *gid, size_t size)
{
	struct ipoib_dest *dest;

	if (hca.no_dest)
		return NULL;
	dest = kzalloc(size, GFP_ATOMIC);
	if (!dest)
		return NULL;
	ipoib_dest_init(dest, gid);
	if (!ipoib_dest_insert(intf, dest))
		return dest;
	kfree(dest);
	return NULL;
}

bool ipoib_path_admit(struct ipoib_intf *intf, bool asked)
{
	return ipoib_dest_admit(intf);
}

struct ipoib_dest *ipoib_path_create(struct ipoib_intf *intf, const union ib_gid *gid)
{
	return make_dest(intf, gid, sizeof(struct ipoib_path));
}

struct ipoib_dest *ipoib_mcast_create_sendonly(struct ipoib_intf *intf, const union ib_gid *mgid)
{
	return make_dest(intf, mgid, sizeof(struct ipoib_mcast));
}

void ipoib_path_resolve(struct ipoib_path *path)
{
	hca.resolved++;
}

/* Byte limits would stop the queue before the ring is full, but need not. */
static void lift_byte_limits(void)
{
#ifdef CONFIG_BQL
	int i;

	for (i = 0; i < IPOIB_TXQ_MAX; i++) {
		struct netdev_queue *queue = netdev_get_tx_queue(world->intf->dev, i);

		queue->dql.min_limit = DQL_MAX_LIMIT;
		queue->dql.adj_limit = DQL_MAX_LIMIT;
	}
#endif
}

static int setup(struct kunit *test)
{
	struct ipoib_intf *intf;
	int err = world_create(test);
	u32 i;

	if (err)
		return err;
	memset(&hca, 0, sizeof(hca));
	hca.refuse_from = -1;
	hca.refuse_error = -ENOMEM;
	hca.queues = QUEUES;
	hca.wc_cq = &hca.cq;
	for (i = 0; i < ARRAY_SIZE(hca.state); i++)
		hca.state[i] = IB_QPS_RTS;
	intf = world->intf;
	world->ca->num_comp_vectors = 1;
	world->ca->ops.post_send = fake_post_send;
	world->ca->ops.poll_cq = fake_poll_cq;
	world->ca->ops.req_notify_cq = fake_req_notify_cq;
	for (i = 0; i < IPOIB_TXQ_MAX; i++)
		intf->txq[i].size = RING;
	intf->tx_sge = 4;
	intf->running = true;
	intf->queues.tx_queues = QUEUES;
	init_waitqueue_head(&intf->drained);
	ipoib_refused_init(intf);
	err = ipoib_txqs_create(intf);
	if (err)
		return err;
	for (i = 0; i < QUEUES; i++) {
		intf->txq[i].running = true;
		napi_enable(&intf->txq[i].napi);
	}
	lift_byte_limits();
	netif_tx_start_all_queues(intf->dev);
	return 0;
}

static void reclaim(void)
{
	u32 i;

	ipoib_tx_lock_all(world->intf->dev);
	for (i = 0; i < QUEUES; i++)
		ipoib_txq_reclaim(&world->intf->txq[i]);
	ipoib_tx_unlock_all(world->intf->dev);
}

static void teardown(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;
	struct ipoib_dest *dest, *next;
	u32 i;

	ipoib_refused_stop(intf);
	for (i = 0; i < QUEUES; i++) {
		struct ipoib_txq *txq = &intf->txq[i];

		napi_disable(&txq->napi);
		if (txq->head - txq->tail > RING)	/* fail, not crash */
			txq->tail = txq->head - RING;
	}
	reclaim();
	for (i = 0; i < QUEUES; i++)
		KUNIT_EXPECT_EQ(test, intf->txq[i].head, intf->txq[i].tail);
	KUNIT_EXPECT_EQ(test, hca.unlocked, 0U);
	KUNIT_EXPECT_EQ(test, hca.astray, 0U);
	list_for_each_entry_safe(dest, next, &intf->dest_list, all) {
		ipoib_dest_unlink(intf, dest);
		kfree_rcu(dest, rcu);
	}
	ipoib_txqs_destroy(intf);
	world_destroy(test);
}

/* As the stack does: not to a stopped queue. Return: false if it is stopped. */
static bool transmit(struct sk_buff *skb)
{
	struct net_device *dev = world->intf->dev;
	struct netdev_queue *queue = netdev_get_tx_queue(dev, skb_get_queue_mapping(skb));
	bool ok;

	local_bh_disable();
	__netif_tx_lock(queue, smp_processor_id());
	ok = !netif_xmit_stopped(queue) && ipoib_start_xmit(skb, dev) == NETDEV_TX_OK;
	__netif_tx_unlock(queue);
	local_bh_enable();
	if (!ok)
		kfree_skb(skb);
	return ok;
}

static inline bool send_by(struct kunit *test, u16 queue, u32 n, unsigned int len)
{
	union ib_gid gid = world_gid(n);
	struct sk_buff *skb = world_packet(test, &gid, 0x700 + n, len);

	skb_set_queue_mapping(skb, queue);
	return transmit(skb);
}

static inline bool send_to(struct kunit *test, u32 n, unsigned int len)
{
	return send_by(test, 0, n, len);
}

static struct ipoib_dest *find(u32 n)
{
	union ib_gid gid = world_gid(n);
	struct ipoib_dest *dest;

	rcu_read_lock();
	dest = ipoib_dest_find(world->intf, &gid);
	rcu_read_unlock();
	return dest;
}

static inline struct ipoib_dest *resolved(struct kunit *test, u32 n)
{
	union ib_gid gid = world_gid(n);
	struct rdma_ah_attr attr = {};
	struct ipoib_dest *dest = find(n);

	if (!dest) {
		local_bh_disable();
		dest = make_dest(world->intf, &gid, sizeof(struct ipoib_path));
		local_bh_enable();
	}
	KUNIT_ASSERT_NOT_NULL(test, dest);
	KUNIT_ASSERT_EQ(test, ipoib_dest_set_ah(world->intf, dest, &attr), 0);
	return dest;
}

/* One completion, for ring position @wr_id. NAPI may run in a thread of its own. */
static inline void complete_by(u16 queue, u64 wr_id, enum ib_wc_status status)
{
	struct ipoib_txq *txq = &world->intf->txq[queue];
	unsigned long deadline = jiffies + 10 * HZ;

	hca.wc[0] = (struct ib_wc) {
		.wr_id = wr_id, .status = status,
		.qp = &hca.qps[hca.wc_cq == &hca.cq ? queue : IPOIB_TXQ_MAX],
	};
	hca.wcs = 1;
	local_bh_disable();
	ipoib_tx_comp_handler(&hca.cq, txq);
	local_bh_enable();
	while (test_bit(NAPI_STATE_SCHED, &txq->napi.state) && time_before(jiffies, deadline))
		schedule_timeout_uninterruptible(1);
}

static inline void complete_one(u64 wr_id, enum ib_wc_status status)
{
	complete_by(0, wr_id, status);
}

/* So many packets, one list: their destination gets its handle behind them. */
static __maybe_unused void send_list(struct kunit *test, u16 queue, u32 n, u32 packets)
{
	struct ipoib_dest *dest = find(n);

	if (dest)
		ipoib_dest_clear_ah(world->intf, dest);
	while (packets--)
		KUNIT_ASSERT_TRUE(test, send_by(test, queue, n, 100));
	resolved(test, n);
}

/* Control posts again, so often, what a HCA refuses that has done so for a while. */
static __maybe_unused void retry_refused(struct ipoib_refused *refused, u32 times,
					 unsigned long ago)
{
	struct delayed_work *work = &world->intf->refused_work;

	while (times--) {
		cancel_delayed_work_sync(work);
		refused->since = jiffies - ago;
		refused->last = refused->since;
		world_hurry(work);
	}
	cancel_delayed_work_sync(work);
}

static inline u32 in_ring(void)
{
	return world->intf->txq[0].head - world->intf->txq[0].tail;
}

static inline u64 done(u64_stats_t *counter)
{
	return u64_stats_read(counter);
}

#endif /* IPOIB_TX_WORLD_H */
