// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sending. The port context takes work requests from the QPs in turn and packs
 * their packets into frames, as many as fit, until the queues are empty or the
 * link's window is full; then they wait on their queues. A packet is built where
 * it leaves from, which is the only copy made: in the frame if it is short or the
 * cable linear, else in a page fragment, which becomes one of the frame or of a
 * looped packet.
 */
#include <linux/etherdevice.h>
#include <linux/bitops.h>
#include <linux/sizes.h>
#include <net/checksum.h>

#include "page_frag.h"
#include "sib.h"

/* Work requests taken per run, and per QP before it is another one's turn */
#define TX_BUDGET	128
#define TX_QP_BUDGET	16
/* Octets of a request that count as another one */
#define TX_COST		SZ_8K

/*
 * Packets to this port that may wait to be received: 1 MiB of the longest. A datagram is
 * complete as soon as it is here, so its sender's queue does not limit them.
 */
#define LOOPQ_MAX	256

/**
 * sib_tx_note - have the port context look at a QP in this run or the next
 * @qp: the QP
 *
 * Context: any; who is not in the port's tasklet wants sib_tx_queue().
 */
void sib_tx_note(struct sib_qp *qp)
{
	struct sib_port *port = &to_sib(qp->ibqp.device)->port;
	unsigned long flags;

	spin_lock_irqsave(&port->tx_lock, flags);
	if (list_empty(&qp->tx)) {
		if (qp->ibqp.qp_type == IB_QPT_SMI)
			list_add(&qp->tx, &port->tx_list);
		else
			list_add_tail(&qp->tx, &port->tx_list);
	}
	spin_unlock_irqrestore(&port->tx_lock, flags);
}

/**
 * sib_tx_queue - have the port context look at a QP's send queue
 * @qp: the QP
 *
 * Context: any.
 */
void sib_tx_queue(struct sib_qp *qp)
{
	struct sib_port *port = &to_sib(qp->ibqp.device)->port;

	sib_tx_note(qp);
	if (irqs_disabled() || in_hardirq()) {
		sib_port_kick(port);
		return;
	}
	/*
	 * A softirq raised by a process waits for ksoftirqd, but one raised with
	 * softirqs off runs as soon as they are on again.
	 */
	local_bh_disable();
	sib_port_kick(port);
	local_bh_enable();
}

/**
 * sib_tx_now - have a QP's send queue looked at before this returns
 * @qp: the QP of a process
 * @idle: it had nothing else to send: its process waits for this, so it is worth
 *	waiting for a run on another processor; otherwise that run may do it
 *
 * Context: process, with no lock held.
 */
void sib_tx_now(struct sib_qp *qp, bool idle)
{
	sib_port_send(&to_sib(qp->ibqp.device)->port, qp, idle);
}

/**
 * sib_tx_unqueue - forget a QP that is about to go
 * @qp: the QP, port locked
 */
void sib_tx_unqueue(struct sib_qp *qp)
{
	struct sib_port *port = &to_sib(qp->ibqp.device)->port;
	unsigned long flags;

	lockdep_assert_held(&port->lock);
	spin_lock_irqsave(&port->tx_lock, flags);
	list_del_init(&qp->tx);
	spin_unlock_irqrestore(&port->tx_lock, flags);
}

/* Next QP with something to send, taken off the list */
static struct sib_qp *next_qp(struct sib_port *port)
{
	struct sib_qp *qp;

	/* Who has put one there since has this run once more. */
	if (list_empty(&port->tx_list))
		return NULL;
	spin_lock_irq(&port->tx_lock);
	qp = list_first_entry_or_null(&port->tx_list, struct sib_qp, tx);
	if (qp)
		list_del_init(&qp->tx);
	spin_unlock_irq(&port->tx_lock);
	return qp;
}

/**
 * sib_tx_loop_has_room - whether another packet to this port may be sent
 * @port: the port, locked
 *
 * Return: true if so; false also while others wait, whose turn comes first.
 */
bool sib_tx_loop_has_room(const struct sib_port *port)
{
	return list_empty(&port->loop_wait) && skb_queue_len(&port->loopq) < LOOPQ_MAX;
}

/* The packets to this port come too fast: their sender waits, all others go on. */
static void wait_for_loop(struct sib_port *port, struct sib_qp *qp)
{
	port->stats.tx_loop_full++;
	spin_lock_irq(&port->tx_lock);
	if (list_empty(&qp->tx))
		list_add_tail(&qp->tx, &port->loop_wait);
	spin_unlock_irq(&port->tx_lock);
}

/**
 * sib_tx_loop_wake - packets to this port have been received: their senders may go on
 * @port: the port, locked
 *
 * Not before half of the room is free, so that each can send several. They come before
 * those that have sent since and queue up again, or these would take all the room each
 * time; only QP0 stays first.
 */
void sib_tx_loop_wake(struct sib_port *port)
{
	struct list_head *before = &port->tx_list;
	struct sib_qp *first;

	lockdep_assert_held(&port->lock);
	if (list_empty(&port->loop_wait) || skb_queue_len(&port->loopq) > LOOPQ_MAX / 2)
		return;
	spin_lock_irq(&port->tx_lock);
	first = list_first_entry_or_null(&port->tx_list, struct sib_qp, tx);
	if (first && first->ibqp.qp_type == IB_QPT_SMI)
		before = &first->tx;
	list_splice_init(&port->loop_wait, before);
	spin_unlock_irq(&port->tx_lock);
}

static void requeue(struct sib_port *port, struct sib_qp *qp, bool first)
{
	spin_lock_irq(&port->tx_lock);
	if (list_empty(&qp->tx)) {
		if (first)
			list_add(&qp->tx, &port->tx_list);
		else
			list_add_tail(&qp->tx, &port->tx_list);
	}
	spin_unlock_irq(&port->tx_lock);
}

static void frame_send(struct sib_port *port, unsigned long now)
{
	struct sk_buff *frame = port->frame;

	lockdep_assert_held(&port->lock);
	if (!frame)
		return;
	port->frame = NULL;
	if (port->frame_count)
		sib_link_send(&port->link, frame, port->frame_count, port->frame_sum, now);
	else
		kfree_skb(frame);	/* its first packet could not be built */
}

/**
 * sib_tx_reset - drop the frame under construction
 * @port: the port, locked
 */
void sib_tx_reset(struct sib_port *port)
{
	lockdep_assert_held(&port->lock);
	kfree_skb(port->frame);
	port->frame = NULL;
}

/**
 * sib_tx_reserve - make room for a packet in the frame under construction
 * @port: the port, locked; its link is up
 * @len: bytes of the packet
 * @now: jiffies
 *
 * Return: 0; -EAGAIN if the window is full; -ENOMEM.
 */
int sib_tx_reserve(struct sib_port *port, u32 len, unsigned long now)
{
	struct sk_buff *frame = port->frame;

	lockdep_assert_held(&port->lock);
	if (frame && (port->frame_count == U8_MAX ||
		      !sib_link_frame_takes(&port->link, frame, len))) {
		frame_send(port, now);
		frame = NULL;
	}
	if (frame)
		return 0;
	if (!sib_link_can_send(&port->link))
		return -EAGAIN;
	frame = sib_link_frame_new(&port->link);
	if (!frame)
		return -ENOMEM;
	port->frame = frame;
	port->frame_count = 0;
	port->frame_sum = 0;
	return 0;
}

/**
 * sib_tx_room - memory for a packet in the frame under construction
 * @port: the port, locked; sib_tx_reserve() made room
 * @len: bytes
 *
 * Return: memory that is the frame's once sib_tx_wire() gets it, or NULL if the
 * packet needs memory of its own.
 */
void *sib_tx_room(struct sib_port *port, u32 len)
{
	lockdep_assert_held(&port->lock);
	return skb_tailroom(port->frame) >= len ? skb_tail_pointer(port->frame) : NULL;
}

/**
 * sib_tx_alloc - memory for a packet
 * @port: the port, locked
 * @len: bytes
 *
 * It comes from a few pages in turn, so that what was in one has been received
 * and freed when it is used again: a page that is, is not allocated again. A cache
 * that got no large page serves what fits into a small one and nothing else, until
 * that is used up: what is longer gets its own pages.
 *
 * Return: memory for skb_free_frag(), or NULL.
 */
void *sib_tx_alloc(struct sib_port *port, u32 len)
{
	struct page *page;
	void *va;

	lockdep_assert_held(&port->lock);
	len = SKB_DATA_ALIGN(len);
	if (port->pages_room < len) {
		port->pages_next = (port->pages_next + 1) % SIB_TX_PAGES;
		port->pages_room = PAGE_FRAG_CACHE_MAX_SIZE;
	}
	va = page_frag_alloc(&port->pages[port->pages_next], len, GFP_ATOMIC | __GFP_NOWARN);
	if (va)
		port->pages_room -= len;
	if (va || len <= PAGE_SIZE)
		return va;
	page = alloc_pages(GFP_ATOMIC | __GFP_NOWARN | __GFP_COMP, get_order(len));
	return page ? page_address(page) : NULL;
}

/**
 * sib_tx_free - give back the pages that packets come from
 * @port: port that sends nothing any more; who still has a packet keeps its page
 */
void sib_tx_free(struct sib_port *port)
{
	int i;

	for (i = 0; i < SIB_TX_PAGES; i++)
		page_frag_cache_drain(&port->pages[i]);
}

static void add_frag(struct sk_buff *skb, void *va, u32 len)
{
	struct page *page = virt_to_head_page(va);

	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, va - page_address(page), len,
			SKB_DATA_ALIGN(len));
}

/**
 * sib_tx_wire - add a packet to the frame under construction
 * @port: the port, locked; sib_tx_reserve() made room
 * @va: the packet, from sib_tx_room() or sib_tx_alloc(), whose reference passes on
 * @len: bytes, a multiple of 4
 * @sum: its unfolded checksum
 */
void sib_tx_wire(struct sib_port *port, void *va, u32 len, __wsum sum)
{
	lockdep_assert_held(&port->lock);
	if (va == skb_tail_pointer(port->frame))
		__skb_put(port->frame, len);
	else
		add_frag(port->frame, va, len);
	port->frame_sum = csum_add(port->frame_sum, sum);
	port->frame_count++;
}

/**
 * sib_tx_loop - receive a packet of this port
 * @port: the port, locked
 * @skb: empty, from alloc_skb(0)
 * @va: the packet, from sib_tx_alloc(); its reference passes on
 * @len: bytes
 */
void sib_tx_loop(struct sib_port *port, struct sk_buff *skb, void *va, u32 len)
{
	lockdep_assert_held(&port->lock);
	add_frag(skb, va, len);
	port->stats.tx_loop++;
	__skb_queue_tail(&port->loopq, skb);
}

static void sq_drained(struct sib_qp *qp)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.event = IB_EVENT_SQ_DRAINED,
		.element.qp = &qp->ibqp,
	};

	qp->attr.en_sqd_async_notify = 0;
	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

/* Connected QPs send responses as well, in states where they send no requests. */
static int run_connected(struct sib_port *port, struct sib_qp *qp)
{
	bool more;
	int n = sib_rc_send(port, qp, &more);

	if (qp->attr.qp_state == IB_QPS_SQD && qp->attr.en_sqd_async_notify &&
	    sib_rc_is_drained(qp))
		sq_drained(qp);
	if (n >= 0 && more)
		requeue(port, qp, false);
	return n;
}

/* Next request to send. In SQD one that was begun is finished, no other is begun. */
static struct sib_swqe *next_datagram(struct sib_qp *qp)
{
	struct sib_swqe *wqe = sib_ring_peek(&qp->sq);
	bool begun = wqe && wqe->opcode == IB_WR_LSO && wqe->lso_off;

	if (qp->attr.qp_state == IB_QPS_RTS || (qp->attr.qp_state == IB_QPS_SQD && begun))
		return wqe;
	return NULL;
}

static int run_datagram(struct sib_port *port, struct sib_qp *qp, unsigned long now)
{
	int n = 0, status, cost;
	struct sib_swqe *wqe;

	if (next_datagram(qp) && !qp->hung)
		qp->hung = sib_loss_hangs(&port->loss, qp->ibqp.qp_num);
	if (unlikely(qp->hung))
		return 0;
	while (n < TX_QP_BUDGET && (wqe = next_datagram(qp))) {
		cost = 1 + wqe->length / TX_COST;
		status = sib_ud_send(port, qp, wqe, now);
		if (status < 0)
			return status;
		status = sib_fault_status(&port_to_dev(port)->fault.sends, qp->ibqp.qp_num, status);
		sib_qp_complete_send(qp, wqe, status);
		n += cost;
		if (status != IB_WC_SUCCESS) {
			sib_qp_send_error(port, qp);
			n += sib_qp_flush(port, qp);
			break;
		}
	}
	if (next_datagram(qp))
		requeue(port, qp, false);
	else if (qp->attr.qp_state == IB_QPS_SQD && qp->attr.en_sqd_async_notify)
		sq_drained(qp);
	return n;
}

/*
 * Send what one QP has. Returns how much was done; -EBUSY if this QP has to wait, or
 * another negative errno if the port cannot send more for now.
 */
static int run_qp(struct sib_port *port, struct sib_qp *qp, unsigned long now)
{
	if (qp->attr.qp_state >= IB_QPS_RTR && qp->attr.qp_state != IB_QPS_ERR &&
	    sib_qp_recv_is_spoilt(qp)) {
		/* its process has spoilt what it receives from */
		sib_qp_fatal(port, qp, IB_EVENT_QP_FATAL);
		return 0;
	}
	if (qp->attr.qp_state == IB_QPS_ERR || qp->attr.qp_state == IB_QPS_SQE)
		return sib_qp_flush(port, qp);
	return qp->rc ? run_connected(port, qp) : run_datagram(port, qp, now);
}

/* The QP whose process is here need not queue up if nobody waits. */
static struct sib_qp *first_qp(struct sib_port *port, struct sib_qp *poster)
{
	if (!poster)
		return next_qp(port);
	if (list_empty(&port->tx_list))
		return poster;
	sib_tx_note(poster);
	return next_qp(port);
}

/**
 * sib_tx_run - send what can be sent
 * @port: the port, locked
 * @poster: a QP with something to send that nobody was told of, or NULL
 * @now: jiffies
 *
 * Context: the port context. Return: true if there is more to do at once.
 */
bool sib_tx_run(struct sib_port *port, struct sib_qp *poster, unsigned long now)
{
	int budget = TX_BUDGET, n = 0;
	struct sib_qp *qp;

	lockdep_assert_held(&port->lock);
	port->tx_starved = false;
	for (qp = first_qp(port, poster); qp; qp = budget > 0 ? next_qp(port) : NULL) {
		n = run_qp(port, qp, now);
		if (n == -EBUSY) {
			wait_for_loop(port, qp);
			n = TX_QP_BUDGET;	/* what it may have sent before */
		} else if (n < 0) {
			requeue(port, qp, true);
			break;
		}
		budget -= max(n, 1);
	}
	if (n == -ENOMEM) {
		port->tx_starved = true;
		port->stats.alloc_fail++;
	}
	frame_send(port, now);
	return budget <= 0;
}
