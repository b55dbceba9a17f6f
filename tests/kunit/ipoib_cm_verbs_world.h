/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A world of connections on a HCA that is a fake: the driver's own set-ups in both directions,
 * with verbs and a CM that note what they are asked for. With WORLD_REAL_RXQ it has the driver's
 * receive queue, for which the suite fakes what that asks for, and readies the HCA by
 * world_ready_rxq(); else none.
 */
#ifndef IPOIB_CM_VERBS_WORLD_H
#define IPOIB_CM_VERBS_WORLD_H

#define CONFIG_OPENIPOIB_CM 1
#include "ipoib_world.h"

#include "cm_tx.h"

static struct ib_cq *fake_create_cq(const struct ib_cq_init_attr *attr);
static struct ib_qp *fake_create_qp(const struct ib_qp_init_attr *init);
static int fake_modify_qp(struct ib_qp *qp, const struct ib_qp_attr *attr, int mask);
static struct ib_cm_id *fake_create_cm_id(ib_cm_handler handler, void *context);
static int fake_init_qp_attr(struct ib_qp_attr *attr, int *mask);
static void fake_destroy(const void *what, atomic_t *count);
static int fake_send_req(struct ib_cm_id *id, const struct ib_cm_req_param *req);
static void agree(struct ib_cm_id *id);
static void tell(u32 *counter);

#undef ib_create_cq
#define ib_create_cq(ca, handler, event, context, attr) ((void)(handler), fake_create_cq(attr))
#define ib_destroy_cq(cq) kfree(cq)
#define ib_create_qp(pd, init) fake_create_qp(init)
#define ib_modify_qp(qp, attr, mask) fake_modify_qp(qp, attr, mask)
#define ib_destroy_qp(qp) fake_destroy(qp, &hca.qps)
#define ib_create_cm_id(ca, handler, context) fake_create_cm_id(handler, context)
#define ib_destroy_cm_id(id) fake_destroy(id, &hca.ids)
#define ib_cm_listen(id, service) ((void)(service), 0)
#define ib_cm_init_qp_attr(id, attr, mask) fake_init_qp_attr(attr, mask)
#define ib_send_cm_req(id, req) fake_send_req(id, req)
#define ib_send_cm_rep(id, rep) ((void)(rep), tell(&hca.reps), hca.refuse_rep)
#define ib_send_cm_rtu(id, data, len) (tell(&hca.rtus), 0)
#define ib_send_cm_rej(id, why, info, info_len, data, len) (hca.rejs++)
#define ib_send_cm_drep(id, data, len) ((void)(id))
#define ib_cm_notify(id, event) (hca.established++)
#define ib_post_send(qp, wr, bad) ((void)(qp), (void)(wr), hca.drains++, hca.refuse_drain)

#define QPN		0x42
#define PKEYS		128
#define LIMIT		(20 * HZ)
/* The last one, where a search finds it last */
#define PKEY_INDEX	(PKEYS - 1)

/**
 * struct fake_qp - a queue pair
 * @qp: what the driver sees; first, so that freeing one frees the other
 * @has: its receive buffers that the HCA has, by number
 * @in_error: it has failed
 */
struct fake_qp {
	struct ib_qp qp;
	unsigned long has;
	bool in_error;
};

static struct {
	u32 queries;		/* of entries of the table */
	u32 wrong_index;	/* queue pairs with another P_Key */
	u32 indices;
	u32 reqs;
	u32 reps;
	u32 rtus;
	u32 rejs;
	u32 established;	/* that the CM has been told of */
	u8 path_timeout;	/* for an acknowledgement: 4.096 us * 2^n */
	u8 timeout;		/* of the newest queue pair that sends */
	u8 retries;
	u8 peer_rnr_retry;	/* in its answer */
	u8 rnr_retry;		/* of the newest queue pair that sends */
	ib_cm_handler listener;
	bool slow;		/* queue pairs are made once they are let */
	struct completion let;
	bool prompt;		/* the peer agrees at once */
	enum ib_qp_state refuse_state;	/* that no queue pair is modified to */
	int refuse_rep;		/* error of the CM */
	u32 drains;		/* sends that are to be flushed */
	int refuse_drain;	/* error of the HCA */
	atomic_t waiting;	/* for that */
	atomic_t qps;		/* that there are */
	atomic_t ids;
	struct ib_cm_id *id;	/* the newest */
	struct ipoib_path path;
} hca;

#include "dest.c"
#include "cm_conn.c"
#include "cm_cut.c"
#include "cm_dest.c"
#include "cm_turn.c"
#include "adapt.c"
#include "cm.c"
#include "cm_item.c"
#include "cm_tx.c"
#include "cm_rx.c"
#include "cm_rx_qp.c"

unsigned int ipoib_nonsrq_connections = 128;

/* Count. Commands run at the same time. */
static void tell(u32 *counter)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	++*counter;
	spin_unlock(&lock);
}

static struct ib_cq *fake_create_cq(const struct ib_cq_init_attr *attr)
{
	struct ib_cq *cq = kzalloc(sizeof(*cq), GFP_KERNEL);

	if (!cq)
		return ERR_PTR(-ENOMEM);
	cq->device = world->ca;
	cq->cqe = attr->cqe;
	return cq;
}

static struct ib_qp *fake_create_qp(const struct ib_qp_init_attr *init)
{
	struct fake_qp *fake = kzalloc(sizeof(*fake), GFP_KERNEL);

	if (!fake)
		return ERR_PTR(-ENOMEM);
	if (READ_ONCE(hca.slow)) {
		atomic_inc(&hca.waiting);
		wait_for_completion_timeout(&hca.let, LIMIT);
		atomic_dec(&hca.waiting);
	}
	atomic_inc(&hca.qps);
	fake->qp.qp_num = QPN + 1;
	fake->qp.qp_context = init->qp_context;
	return &fake->qp;
}

static void fake_destroy(const void *what, atomic_t *count)
{
	atomic_dec(count);
	kfree(what);
}

static int fake_init_qp_attr(struct ib_qp_attr *attr, int *mask)
{
	*mask = 0;
	if (attr->qp_state == IB_QPS_INIT)
		*mask = IB_QP_PKEY_INDEX;
	if (attr->qp_state == IB_QPS_RTS) {
		attr->timeout = hca.path_timeout;
		attr->rnr_retry = hca.peer_rnr_retry;
		*mask = IB_QP_TIMEOUT | IB_QP_RNR_RETRY;
	}
	return 0;
}

static int fake_modify_qp(struct ib_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (attr->qp_state == hca.refuse_state)
		return -EIO;
	if (mask & IB_QP_STATE)
		container_of(qp, struct fake_qp, qp)->in_error = attr->qp_state == IB_QPS_ERR;
	if (mask & IB_QP_TIMEOUT)
		hca.timeout = attr->timeout;
	if (mask & IB_QP_RNR_RETRY)
		hca.rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_PKEY_INDEX) {
		tell(&hca.indices);
		if (attr->pkey_index != PKEY_INDEX)
			tell(&hca.wrong_index);
	}
	return 0;
}

static struct ib_cm_id *fake_create_cm_id(ib_cm_handler handler, void *context)
{
	struct ib_cm_id *id = kzalloc(sizeof(*id), GFP_KERNEL);

	if (!id)
		return ERR_PTR(-ENOMEM);
	id->cm_handler = handler;
	id->context = context;
	atomic_inc(&hca.ids);
	hca.id = id;
	return id;
}

static int fake_send_req(struct ib_cm_id *id, const struct ib_cm_req_param *req)
{
	hca.retries = req->retry_count;
	tell(&hca.reqs);
	if (hca.prompt)
		agree(id);
	return 0;
}

static int fake_query_pkey(struct ib_device *ca, u32 port, u16 index, u16 *pkey)
{
	hca.queries++;
	*pkey = index == PKEY_INDEX ? WORLD_PKEY : 0x8000 | (index + 1);
	return 0;
}

#ifndef WORLD_REAL_RXQ
static int fake_poll(struct napi_struct *napi, int budget)
{
	napi_complete(napi);
	return 0;
}

int ipoib_cm_rxq_create(struct ipoib_cm *cm)
{
	cm->rxq.cm = cm;
	cm->rxq.shared = true;
	netif_napi_add(cm->intf->dev, &cm->rxq.napi, fake_poll);
	return 0;
}

void ipoib_cm_rxq_destroy(struct ipoib_cm *cm)
{
	netif_napi_del(&cm->rxq.napi);
}

void ipoib_cm_post_tick(struct ipoib_cm_rxq *rxq)
{
}

void ipoib_cm_post_ready(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs)
{
}

void ipoib_cm_post_forget(struct ipoib_cm_rxq *rxq, const struct ipoib_cm_rx_bufs *bufs)
{
}

void ipoib_cm_post_stop(struct ipoib_cm_rxq *rxq)
{
}

int ipoib_cm_rxq_fill(struct ipoib_cm_rxq *rxq)
{
	return 0;
}

void ipoib_cm_rxq_empty(struct ipoib_cm_rxq *rxq)
{
}

int ipoib_cm_rxq_part(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs)
{
	return 0;
}

int ipoib_cm_rxq_post_part(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs,
			   struct ib_qp *qp)
{
	return 0;
}

void ipoib_cm_rxq_unpart(struct ipoib_cm_rxq *rxq, struct ipoib_cm_rx_bufs *bufs)
{
}

void ipoib_cm_rxq_skip_gone(struct ipoib_cm_rxq *rxq, const struct ib_qp *gone)
{
}

u32 ipoib_cm_rxq_frame_max(const struct ipoib_cm_rxq *rxq)
{
	return IPOIB_CM_FRAME_MAX;
}
#endif

void ipoib_cq_discard(struct ib_cq *cq, struct ib_wc *wc)
{
}

bool ipoib_cm_tx_usable(const struct ipoib_cm_tx *link)
{
	return true;
}

bool ipoib_cm_has_room(const struct ipoib_intf *intf)
{
	return true;
}

void ipoib_cm_push(struct ipoib_txq *txq, struct ipoib_conn *conn, struct sk_buff *skb)
{
	kfree_skb(skb);
}

void ipoib_cm_tx_reclaim(struct ipoib_cm_tx *link)
{
}

void ipoib_cm_doorbell(struct ipoib_txq *txq)
{
}

void ipoib_tx_comp_handler(struct ib_cq *cq, void *context)
{
}

void ipoib_tx_datagram(struct ipoib_txq *txq, struct sk_buff *skb)
{
	kfree_skb(skb);
}

void ipoib_intf_update_mtu(struct ipoib_intf *intf, bool connected)
{
}

void ipoib_debugfs_gid(struct seq_file *file, const union ib_gid *gid)
{
}

bool ipoib_match_partition(const struct ipoib_intf *intf, u16 pkey, const union ib_gid *gid)
{
	return pkey == intf->pkey;
}

bool ipoib_path_admit(struct ipoib_intf *intf, bool asked)
{
	return ipoib_dest_admit(intf);
}

struct ipoib_dest *ipoib_path_create(struct ipoib_intf *intf, const union ib_gid *gid)
{
	return &hca.path.dest;
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
	clear_bit(IPOIB_PATH_STALE, &path->state);
	ipoib_cm_path_known(path, false);
}

static struct ipoib_ah some_ah;

static int setup(struct kunit *test)
{
	struct ib_device *ca;
	int err = world_create(test);

	if (err)
		return err;
	memset(&hca, 0, sizeof(hca));
	init_completion(&hca.let);
	hca.refuse_state = -1;
	hca.path.dest.ah = &some_ah;
	INIT_LIST_HEAD(&hca.path.conns);
	ca = world->ca;
	ca->attrs.max_srq = 1;
	ca->attrs.max_srq_sge = 16;
	ca->num_comp_vectors = 1;
	ca->phys_port_cnt = 1;
	ca->ops.query_pkey = fake_query_pkey;
	ca->port_data[WORLD_PORT].immutable.pkey_tbl_len = PKEYS;
	world->intf->pkey_index = PKEY_INDEX;
	world->intf->running = true;
	world->intf->connected = true;
#ifdef WORLD_REAL_RXQ
	ipoib_refused_init(world->intf);
	world_ready_rxq(ca);
#endif
	err = ipoib_cm_create(world->intf);
	if (err)
		return err;
	err = ipoib_cm_start(world->intf);
	if (!err)
		hca.listener = hca.id->cm_handler;
	return err;
}

static void teardown(struct kunit *test)
{
	struct ipoib_intf *intf = world->intf;

	if (intf->cm) {
		KUNIT_EXPECT_EQ(test, hca.wrong_index, 0U);
		WRITE_ONCE(hca.slow, false);
		complete_all(&hca.let);
		intf->running = false;
		ipoib_cm_quiesce(intf);
		ipoib_cm_reclaim(intf);
		ipoib_cm_stop(intf);
		ipoib_cm_destroy(intf);
		KUNIT_EXPECT_EQ(test, atomic_read(&hca.qps), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&hca.ids), 0);
	}
	world_destroy(test);
}

/* The longest life of a connection has so many commands, one after the other. */
#define STEPS	4

/* Neither control nor commands have anything left to do. */
static void settle(void)
{
	int step;

	for (step = 0; step < STEPS; step++) {
		world_settle();
		flush_workqueue(world->intf->cm->commands);
	}
	world_settle();
}

static struct ipoib_conn_key key_of(u32 number)
{
	return (struct ipoib_conn_key) { .qpn = cpu_to_be32(QPN), .gid = world_gid(number) };
}

static struct ipoib_conn *conn_to(u32 number)
{
	struct ipoib_conn_key key = key_of(number);

	return rhashtable_lookup_fast(&world->intf->cm->conns, &key, conn_table_params);
}

/* Send a packet to a peer. */
static void send_to(struct kunit *test, u32 number)
{
	struct ipoib_conn_key key = key_of(number);
	struct sk_buff *skb = world_packet(test, &key.gid, QPN, 64);

	skb->data[0] |= IPOIB_HWADDR_RC;
	ipoib_tx_lock_all(world->intf->dev);
	rcu_read_lock();
	KUNIT_EXPECT_TRUE(test, ipoib_cm_xmit(&world->intf->txq[0], skb));
	rcu_read_unlock();
	ipoib_tx_unlock_all(world->intf->dev);
	world_settle();
}

/* The peer that has been asked through a CM ID agrees. */
static void agree(struct ib_cm_id *id)
{
	struct ib_cm_event event = { .event = IB_CM_REP_RECEIVED };
	u8 data[IB_CM_REP_PRIVATE_DATA_SIZE] = {};

	ipoib_cm_data_set((void *)data, QPN, IPOIB_CM_FRAME_MAX, 0);
	event.private_data = data;
	id->cm_handler(id, &event);
}

/* Send a packet to the peer and have it agree to a connection. */
static __maybe_unused struct ipoib_conn *connect(struct kunit *test)
{
	u32 reqs = hca.reqs;

	send_to(test, 1);
	settle();
	KUNIT_ASSERT_EQ(test, hca.reqs, reqs + 1);
	agree(hca.id);
	settle();
	return conn_to(1);
}

/* A peer asks. */
static int request(u32 number)
{
	struct sa_path_rec path = { .dgid = world_gid(number), .pkey = cpu_to_be16(WORLD_PKEY) };
	struct ib_cm_event event = {
		.event = IB_CM_REQ_RECEIVED,
		.param.req_rcvd = {
			.qp_type = IB_QPT_RC, .port = WORLD_PORT, .primary_path = &path,
		},
	};
	u8 data[IB_CM_REQ_PRIVATE_DATA_SIZE] = {};
	struct ib_cm_id *id;
	int err;

	ipoib_cm_data_set((void *)data, QPN, IPOIB_CM_FRAME_MAX, 0);
	event.private_data = data;
	id = fake_create_cm_id(hca.listener, world->intf->cm);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = hca.listener(id, &event);
	if (err)
		ib_destroy_cm_id(id);
	if (!READ_ONCE(hca.slow))
		settle();
	return err;
}

#endif /* IPOIB_CM_VERBS_WORLD_H */
