// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whose turn it is to send: queue pairs that never run out of requests to this port itself,
 * which receives less than they send, get on alike, and keep nobody else from sending.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "tx.c"

#define SENDERS		24
#define RUNS		1000
#define RECEIVED	64	/* packets that a run of the port receives */

/* struct sender - a QP and what it has to send */
struct sender {
	struct sib_qp qp;
	bool wire;		/* to the cable */
	unsigned int left;	/* requests in its queue */
	unsigned int sent;
};

struct world {
	struct sib_dev dev;
	struct sender senders[SENDERS + 1];
};

/* What tx.c calls; the requests of all QPs are this one. */
static struct sib_swqe request;

void *sib_ring_peek(struct sib_ring *ring)
{
	return container_of(ring, struct sender, qp.sq)->left ? &request : NULL;
}

int sib_ud_send(struct sib_port *port, struct sib_qp *qp, struct sib_swqe *wqe,
		unsigned long now)
{
	struct sender *sender = container_of(qp, struct sender, qp);
	struct sk_buff *skb;

	if (!sender->wire) {
		if (!sib_tx_loop_has_room(port))
			return -EBUSY;
		skb = alloc_skb(0, GFP_ATOMIC);
		if (!skb)
			return -ENOMEM;
		__skb_queue_tail(&port->loopq, skb);
	}
	sender->sent++;
	return IB_WC_SUCCESS;
}

void sib_qp_complete_send(struct sib_qp *qp, const struct sib_swqe *wqe,
			  enum ib_wc_status status)
{
	container_of(qp, struct sender, qp)->left--;
}

void sib_qp_send_error(struct sib_port *port, struct sib_qp *qp)
{
}

int sib_qp_flush(struct sib_port *port, struct sib_qp *qp)
{
	return 0;
}

void sib_qp_fatal(struct sib_port *port, struct sib_qp *qp, int event)
{
}

bool sib_qp_recv_is_spoilt(struct sib_qp *qp)
{
	return false;
}

int sib_rc_send(struct sib_port *port, struct sib_qp *qp, bool *more)
{
	return 0;
}

bool sib_rc_is_drained(struct sib_qp *qp)
{
	return true;
}

bool sib_loss_hangs(struct sib_loss *loss, u32 qpn)
{
	return false;
}

bool sib_link_can_send(struct sib_link *link)
{
	return false;
}

bool sib_link_frame_takes(const struct sib_link *link, const struct sk_buff *skb, u32 len)
{
	return false;
}

struct sk_buff *sib_link_frame_new(struct sib_link *link)
{
	return NULL;
}

void sib_link_send(struct sib_link *link, struct sk_buff *skb, unsigned int count,
		   __wsum sum, unsigned long now)
{
}

void sib_port_kick(struct sib_port *port)
{
}

void sib_port_send(struct sib_port *port, struct sib_qp *qp, bool wait)
{
}

static int world_init(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	struct sib_port *port;
	struct sib_qp *qp;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	port = &w->dev.port;
	spin_lock_init(&port->lock);
	spin_lock_init(&port->tx_lock);
	INIT_LIST_HEAD(&port->tx_list);
	INIT_LIST_HEAD(&port->loop_wait);
	skb_queue_head_init(&port->loopq);
	for (i = 0; i < ARRAY_SIZE(w->senders); i++) {
		qp = &w->senders[i].qp;
		INIT_LIST_HEAD(&qp->tx);
		qp->ibqp.device = &w->dev.ibdev;
		qp->ibqp.qp_type = IB_QPT_UD;
		w->senders[i].left = UINT_MAX;
		qp->attr.qp_state = IB_QPS_RTS;
	}
	test->priv = w;
	return 0;
}

static void world_exit(struct kunit *test)
{
	struct world *w = test->priv;

	if (w)
		__skb_queue_purge(&w->dev.port.loopq);
}

/* As the port's tasklet, so many times */
static void run(struct world *w, unsigned int times)
{
	struct sib_port *port = &w->dev.port;
	int n;

	while (times--) {
		spin_lock_bh(&port->lock);
		sib_tx_run(port, NULL, jiffies);
		for (n = 0; n < RECEIVED; n++)
			kfree_skb(__skb_dequeue(&port->loopq));
		sib_tx_loop_wake(port);
		spin_unlock_bh(&port->lock);
	}
}

static void start(struct world *w, int count)
{
	int i;

	for (i = 0; i < count; i++)
		sib_tx_note(&w->senders[i].qp);
}

/* Nobody is locked out, whoever was first. */
static void alike(struct kunit *test)
{
	struct world *w = test->priv;
	unsigned int least = UINT_MAX, most = 0, all = 0;
	int i;

	start(w, SENDERS);
	run(w, RUNS);
	for (i = 0; i < SENDERS; i++) {
		least = min(least, w->senders[i].sent);
		most = max(most, w->senders[i].sent);
		all += w->senders[i].sent;
	}
	KUNIT_EXPECT_GE(test, least, most / 2);
	KUNIT_EXPECT_GE(test, all, RUNS * RECEIVED * 9 / 10);
}

/* Who sends to the cable has its turn among them. */
static void others_go_on(struct kunit *test)
{
	struct world *w = test->priv;
	struct sender *other = &w->senders[SENDERS];

	other->wire = true;
	start(w, SENDERS + 1);
	run(w, RUNS);
	KUNIT_EXPECT_GE(test, other->sent + TX_QP_BUDGET, w->senders[0].sent);
}

/* What QP0 has goes in the next run, also before those that have waited. */
static void management_first(struct kunit *test)
{
	struct world *w = test->priv;
	struct sender *qp0 = &w->senders[SENDERS];
	int i;

	qp0->wire = true;
	qp0->left = 0;
	qp0->qp.ibqp.qp_type = IB_QPT_SMI;
	start(w, SENDERS);
	for (i = 0; i < RUNS; i++) {
		qp0->left = 1;
		sib_tx_note(&qp0->qp);
		spin_lock_bh(&w->dev.port.lock);
		__skb_queue_purge(&w->dev.port.loopq);
		sib_tx_loop_wake(&w->dev.port);
		spin_unlock_bh(&w->dev.port.lock);
		run(w, 1);
		KUNIT_ASSERT_EQ(test, qp0->left, 0U);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(alike),
	KUNIT_CASE(others_go_on),
	KUNIT_CASE(management_first),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_tx",
	.init = world_init,
	.exit = world_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
MODULE_DESCRIPTION("KUnit suite of whose turn it is to send");
MODULE_LICENSE("Dual MIT/GPL");
