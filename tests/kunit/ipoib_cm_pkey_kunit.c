// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Connections on a HCA with a long table of P_Keys: neither asking for one nor
 * accepting one looks through it, since each entry may be a command to the HCA. And
 * how long one waits for a peer that is silent. The verbs and the CM are fakes; the table
 * is searched by the core's own functions.
 */
#define CONFIG_OPENIPOIB_CM 1
#include "ipoib_world.h"

#include "cm_tx.h"

static struct ib_cq *fake_create_cq(const struct ib_cq_init_attr *attr);
static struct ib_qp *fake_create_qp(const struct ib_qp_init_attr *init);
static int fake_modify_qp(const struct ib_qp_attr *attr, int mask);
static struct ib_cm_id *fake_create_cm_id(ib_cm_handler handler, void *context);
static int fake_init_qp_attr(struct ib_qp_attr *attr, int *mask);

#undef ib_create_cq
#define ib_create_cq(ca, handler, event, context, attr) fake_create_cq(attr)
#define ib_destroy_cq(cq) kfree(cq)
#define ib_create_qp(pd, init) fake_create_qp(init)
#define ib_modify_qp(qp, attr, mask) fake_modify_qp(attr, mask)
#define ib_destroy_qp(qp) kfree(qp)
#define ib_create_cm_id(ca, handler, context) fake_create_cm_id(handler, context)
#define ib_destroy_cm_id(id) kfree(id)
#define ib_cm_listen(id, service) ((void)(service), 0)
#define ib_cm_init_qp_attr(id, attr, mask) fake_init_qp_attr(attr, mask)
#define ib_send_cm_req(id, req) (hca.retries = (req)->retry_count, hca.reqs++, 0)
#define ib_send_cm_rep(id, rep) ((void)(rep), hca.reps++, 0)
#define ib_send_cm_rtu(id, data, len) (hca.rtus++, 0)
#define ib_send_cm_rej(id, why, info, info_len, data, len) (hca.rejs++)
#define ib_send_cm_drep(id, data, len) ((void)(id))
#define ib_cm_notify(id, event) (hca.established++)

#define QPN		0x42
#define PKEYS		128
/* The last one, where a search finds it last */
#define PKEY_INDEX	(PKEYS - 1)

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
	struct ib_cm_id *id;	/* the newest */
	struct ipoib_path path;
} hca;

#include "dest.c"
#include "cm_conn.c"
#include "cm_dest.c"
#include "cm_turn.c"
#include "adapt.c"
#include "cm.c"
#include "cm_tx.c"
#include "cm_rx.c"

unsigned int ipoib_nonsrq_connections = 128;

static struct ib_cq *fake_create_cq(const struct ib_cq_init_attr *attr)
{
	return kzalloc(sizeof(struct ib_cq), GFP_KERNEL);
}

static struct ib_qp *fake_create_qp(const struct ib_qp_init_attr *init)
{
	struct ib_qp *qp = kzalloc(sizeof(*qp), GFP_KERNEL);

	if (!qp)
		return ERR_PTR(-ENOMEM);
	qp->qp_num = QPN + 1;
	qp->qp_context = init->qp_context;
	return qp;
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

static int fake_modify_qp(const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_TIMEOUT)
		hca.timeout = attr->timeout;
	if (mask & IB_QP_RNR_RETRY)
		hca.rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_PKEY_INDEX) {
		hca.indices++;
		hca.wrong_index += attr->pkey_index != PKEY_INDEX;
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
	hca.id = id;
	return id;
}

static int fake_query_pkey(struct ib_device *ca, u32 port, u16 index, u16 *pkey)
{
	hca.queries++;
	*pkey = index == PKEY_INDEX ? WORLD_PKEY : 0x8000 | (index + 1);
	return 0;
}

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

int ipoib_cm_rxq_post_part(struct ipoib_cm_rxq *rxq, const struct ipoib_cm_rx_bufs *bufs,
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

void ipoib_cq_discard(struct ib_cq *cq, struct ib_wc *wc)
{
}

u32 ipoib_cm_rxq_frame_max(const struct ipoib_cm_rxq *rxq)
{
	return IPOIB_CM_FRAME_MAX;
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
	hca.path.dest.ah = &some_ah;
	INIT_LIST_HEAD(&hca.path.conns);
	ca = world->ca;
	ca->attrs.max_srq = 1;
	ca->attrs.max_srq_sge = 16;
	ca->num_comp_vectors = 1;
	ca->phys_port_cnt = 1;
	ca->ops.query_pkey = fake_query_pkey;
	ca->port_data = kunit_kcalloc(test, WORLD_PORT + 1, sizeof(*ca->port_data), GFP_KERNEL);
	if (!ca->port_data)
		return -ENOMEM;
	ca->port_data[WORLD_PORT].immutable.pkey_tbl_len = PKEYS;
	world->intf->pkey_index = PKEY_INDEX;
	world->intf->running = true;
	world->intf->connected = true;
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
		intf->running = false;
		ipoib_cm_quiesce(intf);
		ipoib_cm_reclaim(intf);
		ipoib_cm_stop(intf);
		ipoib_cm_destroy(intf);
	}
	world_destroy(test);
}

/* Send a packet to the peer and have it agree to a connection. */
static struct ipoib_conn *connect(struct kunit *test)
{
	struct ipoib_conn_key key = { .qpn = cpu_to_be32(QPN), .gid = world_gid(1) };
	struct sk_buff *skb = world_packet(test, &key.gid, QPN, 64);
	struct ib_cm_event event = { .event = IB_CM_REP_RECEIVED };
	u8 data[IB_CM_REP_PRIVATE_DATA_SIZE] = {};
	u32 reqs = hca.reqs;

	skb->data[0] |= IPOIB_HWADDR_RC;
	ipoib_tx_lock_all(world->intf->dev);
	rcu_read_lock();
	KUNIT_EXPECT_TRUE(test, ipoib_cm_xmit(&world->intf->txq[0], skb));
	rcu_read_unlock();
	ipoib_tx_unlock_all(world->intf->dev);
	world_settle();
	KUNIT_ASSERT_EQ(test, hca.reqs, reqs + 1);
	ipoib_cm_data_set((void *)data, QPN, IPOIB_CM_FRAME_MAX, 0);
	event.private_data = data;
	hca.id->cm_handler(hca.id, &event);
	world_settle();
	return rhashtable_lookup_fast(&world->intf->cm->conns, &key, conn_table_params);
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
		kfree(id);
	world_settle();
	return err;
}

/* What the counter says when somebody does look. */
static void a_search_asks_for_every_entry(struct kunit *test)
{
	u16 index;

	KUNIT_ASSERT_EQ(test, ib_find_pkey(world->ca, WORLD_PORT, WORLD_PKEY, &index), 0);
	KUNIT_EXPECT_EQ(test, index, PKEY_INDEX);
	KUNIT_EXPECT_EQ(test, hca.queries, (u32)PKEYS);
}

static void asking_for_a_connection(struct kunit *test)
{
	struct ipoib_conn *conn = connect(test);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_UP);
	KUNIT_EXPECT_EQ(test, hca.rtus, 1U);
	KUNIT_EXPECT_EQ(test, hca.indices, 1U);
	KUNIT_EXPECT_EQ(test, hca.queries, 0U);
}

static void asking_again(struct kunit *test)
{
	struct ipoib_conn *conn = connect(test);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	ipoib_conn_event(conn, IPOIB_CONN_EV_RESET);
	KUNIT_ASSERT_EQ(test, conn->state, IPOIB_CONN_NEW);
	conn = connect(test);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_UP);
	KUNIT_EXPECT_EQ(test, hca.indices, 2U);
	KUNIT_EXPECT_EQ(test, hca.queries, 0U);
}

static void accepting_connections(struct kunit *test)
{
	u32 i;

	for (i = 1; i <= 10; i++)
		KUNIT_EXPECT_EQ(test, request(i), 0);
	KUNIT_EXPECT_EQ(test, hca.reps, 10U);
	KUNIT_EXPECT_EQ(test, hca.rejs, 0U);
	KUNIT_EXPECT_EQ(test, hca.indices, 10U);
	KUNIT_EXPECT_EQ(test, hca.queries, 0U);
}

/*
 * The path says two seconds, as OpenSM's do: the transmit queue must not wait for four of them,
 * nor for what an HCA may make of them: four times as long (IBA vol. 1, 9.7.6.1.3).
 */
static void a_silent_peer_is_given_up_before_the_queue(struct kunit *test)
{
	u64 wait;

	hca.path_timeout = 19;
	KUNIT_ASSERT_NOT_NULL(test, connect(test));
	KUNIT_ASSERT_GT(test, hca.timeout, 0);
	wait = 4 * (4096ULL << hca.timeout) * (hca.retries + 1);
	KUNIT_EXPECT_LT(test, wait, 5ULL * NSEC_PER_SEC);
}

static void the_path_may_want_less_time(struct kunit *test)
{
	hca.path_timeout = 14;
	KUNIT_ASSERT_NOT_NULL(test, connect(test));
	KUNIT_EXPECT_EQ(test, hca.timeout, 14);
}

/* A peer that is late is asked again as often as it says, which may be for ever. */
static void a_peer_says_how_often_it_is_asked_again(struct kunit *test)
{
	hca.peer_rnr_retry = 7;
	KUNIT_ASSERT_NOT_NULL(test, connect(test));
	KUNIT_EXPECT_EQ(test, hca.rnr_retry, 7);
}

/* But not while nothing of it arrives for seconds. */
static void a_peer_that_takes_nothing_is_given_up_before_the_queue(struct kunit *test)
{
	struct ipoib_conn *conn = connect(test);
	struct ipoib_cm_tx *link;
	int tick;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	link = conn->link;
	for (tick = 0; tick < 10; tick++)	/* nothing is on its way */
		ipoib_cm_tx_tick(world->intf->cm);
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_UP);
	link->head = 20;
	link->posted = 20;
	for (tick = 0; tick < 10; tick++) {	/* little by little */
		ipoib_cm_tx_tick(world->intf->cm);
		ipoib_cm_tx_tick(world->intf->cm);
		link->tail++;
	}
	KUNIT_EXPECT_EQ(test, conn->state, IPOIB_CONN_UP);
	for (tick = 0; tick < 5 && conn->state == IPOIB_CONN_UP; tick++)
		ipoib_cm_tx_tick(world->intf->cm);
	KUNIT_EXPECT_NE(test, conn->state, IPOIB_CONN_UP);
	KUNIT_EXPECT_LT(test, tick * IPOIB_CM_TICK, 5 * HZ);
	link->tail = link->head;
}

static void happens(struct ipoib_cm_rx *rx, enum ib_event_type type)
{
	struct ib_event event = { .device = world->ca, .event = type };

	rx_qp_event(&event, rx);
	world_settle();
}

static void events_of_an_incoming_connection(struct kunit *test)
{
	static const enum ib_event_type harmless[] = {
		IB_EVENT_COMM_EST, IB_EVENT_SQ_DRAINED, IB_EVENT_PATH_MIG,
		IB_EVENT_PATH_MIG_ERR,
	};
	static const enum ib_event_type fatal[] = {
		IB_EVENT_QP_FATAL, IB_EVENT_QP_REQ_ERR, IB_EVENT_QP_ACCESS_ERR,
	};
	struct ipoib_cm *cm = world->intf->cm;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(fatal); i++) {
		struct ipoib_cm_rx *rx;

		KUNIT_ASSERT_EQ(test, request(i + 1), 0);
		rx = list_last_entry(&cm->rx_links, struct ipoib_cm_rx, list);
		for (k = 0; k < ARRAY_SIZE(harmless); k++) {
			happens(rx, harmless[k]);
			KUNIT_EXPECT_EQ_MSG(test, rx->state, IPOIB_CM_RX_LIVE, "event %d",
					    harmless[k]);
		}
		KUNIT_EXPECT_EQ(test, hca.established, i + 1);
		happens(rx, fatal[i]);
		KUNIT_EXPECT_NE_MSG(test, rx->state, IPOIB_CM_RX_LIVE, "event %d", fatal[i]);
	}
}

/* Requests can be invented as well; each would be a queue pair. */
static void incoming_connections_are_limited(struct kunit *test)
{
	struct ipoib_cm *cm = world->intf->cm;
	u32 i;

	for (i = 0; i < IPOIB_CONNS_PORT_MAX; i++)
		KUNIT_ASSERT_EQ(test, request(1), 0);
	KUNIT_EXPECT_EQ(test, request(1), -ENOSPC);
	KUNIT_EXPECT_EQ(test, request(2), 0);		/* another port */
	KUNIT_EXPECT_EQ(test, cm->rx_count, IPOIB_CONNS_PORT_MAX + 1U);
	cm->rx_count += IPOIB_CONNS_MAX;
	KUNIT_EXPECT_EQ(test, request(3), -ENOSPC);
	cm->rx_count -= IPOIB_CONNS_MAX;
	KUNIT_EXPECT_EQ(test, cm->stat_in_full, 2ULL);
	KUNIT_EXPECT_EQ(test, cm->stat_rejects, 0ULL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_search_asks_for_every_entry),
	KUNIT_CASE(asking_for_a_connection),
	KUNIT_CASE(asking_again),
	KUNIT_CASE(accepting_connections),
	KUNIT_CASE(events_of_an_incoming_connection),
	KUNIT_CASE(incoming_connections_are_limited),
	KUNIT_CASE(a_silent_peer_is_given_up_before_the_queue),
	KUNIT_CASE(the_path_may_want_less_time),
	KUNIT_CASE(a_peer_says_how_often_it_is_asked_again),
	KUNIT_CASE(a_peer_that_takes_nothing_is_given_up_before_the_queue),
	{}
};

static struct kunit_suite suite = {
	.name = "ipoib_cm_pkey",
	.init = setup,
	.exit = teardown,
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: connections and the table of P_Keys");
