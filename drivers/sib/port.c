// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The port context and the cable: frames from and to the lower device, the
 * tasklet that does the work of a port in order, processes that send for
 * themselves, and the timer.
 *
 * All hold port->lock for a whole run. dev_queue_xmit() is called with it held;
 * that is safe because a lower device does not call back into a port: received
 * frames come through the backlog to sib_rcv(), which does not wait for the lock.
 */
#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <net/pkt_sched.h>

#include "cover.h"
#include "sib.h"

/* Frames that may wait for the tasklet */
#define RXQ_MAX		4096
/*
 * Packets taken per run and before it, as many as a NAPI poll takes: between two runs
 * the consumers get their turn to post receive requests again. Those from the cable and
 * those of this port have a budget each, so that neither keeps the other waiting.
 */
#define RX_BUDGET	64

/* What the SM does to the link takes effect after this */
#define PHYS_DELAY_MS	20

/* Bits of port->retrain */
#define RETRAIN		0

/* Bits of port->run */
#define RUN_ACTIVE	0	/* the tasklet runs */
#define RUN_AGAIN	1	/* and has something to do after that */

/**
 * sib_port_mtu_cap - largest IB MTU a lower MTU leaves room for
 * @lower_mtu: bytes
 *
 * Return: enum ib_mtu, 0 if not even 256 bytes fit.
 */
u8 sib_port_mtu_cap(unsigned int lower_mtu)
{
	u8 mtu;

	for (mtu = IB_MTU_4096; mtu >= IB_MTU_256; mtu--)
		if (lower_mtu >= ib_mtu_enum_to_int(mtu) + SIB_FRAME_OVERHEAD)
			return mtu;
	return 0;
}

/**
 * sib_port_kick - have the port context run soon
 * @port: the port
 *
 * Context: any.
 */
void sib_port_kick(struct sib_port *port)
{
	/*
	 * A tasklet that runs on another processor could only be tried again and
	 * again on this one; it sees for itself that there is more.
	 */
	smp_mb__before_atomic();	/* what there is to do comes first */
	set_bit(RUN_AGAIN, &port->run);
	smp_mb__after_atomic();		/* pairs with both in port_task() */
	if (!test_bit(RUN_ACTIVE, &port->run))
		tasklet_schedule(&port->task);
}

/**
 * sib_port_barrier - wait until a running tasklet has finished its run
 * @port: the port
 *
 * Context: process.
 */
void sib_port_barrier(struct sib_port *port)
{
	tasklet_disable(&port->task);
	tasklet_enable(&port->task);
}

static void frame_rx(struct sib_port *port, struct sk_buff *skb, unsigned long now)
{
	u8 src[ETH_ALEN];

	port->rx_left--;
	ether_addr_copy(src, eth_hdr(skb)->h_source);
	sib_link_rx(&port->link, skb, src, now);
}

/*
 * A frame that is alone need not wait for the tasklet, which sends what is to be
 * answered: that is on time for several frames at once, and who waits for a
 * completion has it sooner. Returns whether the frame was consumed.
 */
static bool frame_rx_at_once(struct sib_port *port, struct sk_buff *skb)
{
	bool alone;

	if (!skb_queue_empty_lockless(&port->rxq) || !spin_trylock(&port->lock))
		return false;
	alone = skb_queue_empty_lockless(&port->rxq) && port->rx_left > 0 &&
		port->copies_left > 0;
	if (alone)
		frame_rx(port, skb, jiffies);
	spin_unlock(&port->lock);
	return alone;
}

/* Frames in. Softirq; the skb may be shared with packet sockets. */
static int sib_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt,
		   struct net_device *orig)
{
	struct sib_port *port = container_of(pt, struct sib_port, pt);
	bool taken;

	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	if (skb->pkt_type == PACKET_OTHERHOST || !skb_mac_header_was_set(skb)) {
		kfree_skb(skb);
		return NET_RX_DROP;
	}
	if (skb_queue_len_lockless(&port->rxq) >= RXQ_MAX) {
		atomic_long_inc(&port->rx_overrun);
		kfree_skb(skb);
		return NET_RX_DROP;
	}
	sib_cover_start();
	taken = frame_rx_at_once(port, skb);
	sib_cover_stop();
	if (!taken) {
		spin_lock(&port->rxq.lock);
		__skb_queue_tail(&port->rxq, skb);
		spin_unlock(&port->rxq.lock);
	}
	sib_port_kick(port);
	return NET_RX_SUCCESS;
}

static struct sib_port *link_to_port(struct sib_link *link)
{
	return container_of(link, struct sib_port, link);
}

/* sib_link_ops.xmit; in the port context, so with softirqs off */
static void port_xmit(struct sib_link *link, struct sk_buff *skb, const u8 *dest)
{
	struct sib_port *port = link_to_port(link);
	struct net_device *lower;

	rcu_read_lock();
	lower = rcu_dereference(port->lower);
	if (!lower)
		goto drop;
	skb->dev = lower;
	skb->protocol = htons(SIB_ETHERTYPE);
	skb->priority = TC_PRIO_CONTROL;
	skb_reset_network_header(skb);
	if (skb_cow_head(skb, LL_RESERVED_SPACE(lower)))
		goto drop;
	if (dev_hard_header(skb, lower, SIB_ETHERTYPE, dest, lower->dev_addr, skb->len) < 0)
		goto drop;
	skb_reset_mac_header(skb);
	dev_queue_xmit(skb);
	rcu_read_unlock();
	return;
drop:
	rcu_read_unlock();
	kfree_skb(skb);
}

static void port_deliver(struct sib_link *link, struct sk_buff *skb, unsigned int off,
			 unsigned int len, unsigned int count)
{
	struct sib_port *port = link_to_port(link);

	port->rx_left -= count;
	sib_rx_packets(port, skb, off, len, count);
}

static void port_change(struct sib_link *link, bool up)
{
	struct sib_port *port = link_to_port(link);

	if (up) {
		sib_sma_link_up(&port->sma);
	} else {
		sib_tx_reset(port);
		sib_sma_link_down(&port->sma, SIB_PHYS_POLLING);
	}
}

static u32 port_session(struct sib_link *link)
{
	return get_random_u32();
}

static const struct sib_link_ops port_link_ops = {
	.xmit = port_xmit,
	.deliver = port_deliver,
	.change = port_change,
	.session = port_session,
};

/* Carrier gone, cable removed, disabled by the SM, or to be trained again */
static void link_stop(struct sib_port *port)
{
	lockdep_assert_held(&port->lock);
	sib_tx_reset(port);
	sib_link_stop(&port->link);
	sib_sma_link_down(&port->sma, port->enabled ? SIB_PHYS_POLLING : SIB_PHYS_DISABLED);
}

static bool lower_ready(struct sib_port *port)
{
	struct net_device *lower;
	bool ready;

	rcu_read_lock();
	lower = rcu_dereference(port->lower);
	ready = lower && netif_running(lower) && netif_carrier_ok(lower);
	rcu_read_unlock();
	return ready;
}

/* What the SM wanted of the link, once the answer to it has had time to leave */
static void phys_follow(struct sib_port *port, unsigned long now)
{
	if (port->phys_next == SIB_PHYS_NOP || time_before(now, port->phys_at))
		return;
	port->enabled = port->phys_next != SIB_PHYS_DISABLED;
	port->phys_next = SIB_PHYS_NOP;
	set_bit(RETRAIN, &port->retrain);
}

static void link_follow(struct sib_port *port, unsigned long now)
{
	bool run;

	lockdep_assert_held(&port->lock);
	phys_follow(port, now);
	run = lower_ready(port) && port->enabled && port->link.cfg.max_frame;
	if (test_and_clear_bit(RETRAIN, &port->retrain) && port->carrier) {
		port->carrier = false;
		link_stop(port);
	}
	if (run == port->carrier)
		return;
	port->carrier = run;
	if (run)
		sib_link_start(&port->link, now);
	else
		link_stop(port);
}

static void copies_renew(struct sib_port *port)
{
	port->copies_left = SIB_COPY_BUDGET;
	port->copies_turn++;
}

/* Who has added a frame since has this run once more. */
static void port_rx(struct sib_port *port, unsigned long now)
{
	struct sk_buff *skb;

	while (port->rx_left > 0 && port->copies_left > 0 &&
	       !skb_queue_empty_lockless(&port->rxq)) {
		spin_lock(&port->rxq.lock);
		skb = __skb_dequeue(&port->rxq);
		spin_unlock(&port->rxq.lock);
		if (skb)
			frame_rx(port, skb, now);
	}
}

/* Returns whether there was any: there may be answers to send. */
static bool port_loop(struct sib_port *port)
{
	struct sk_buff *skb;
	int n;

	for (n = 0; n < RX_BUDGET && port->copies_left > 0 &&
	     (skb = __skb_dequeue(&port->loopq)); n++) {
		sib_rx_packet(port, skb, 0, skb->len);
		consume_skb(skb);
	}
	sib_tx_loop_wake(port);
	return n;
}

static void timer_follow(struct sib_port *port, unsigned long now)
{
	unsigned long at = sib_link_deadline(&port->link, now);

	sib_rc_timer_follow(port);
	at = sib_trap_deadline(&port->sma, at);
	if (port->phys_next != SIB_PHYS_NOP && time_before(port->phys_at, at))
		at = port->phys_at;
	at = sib_late_deadline(port, at);
	if (port->tx_starved)
		at = now + 1;
	if (at - now >= MAX_JIFFY_OFFSET)
		return;
	/* A timer that is early does no harm: it schedules a run, which re-arms. */
	if (!timer_pending(&port->timer) || time_before(at, port->timer.expires))
		mod_timer(&port->timer, at);
}

static void port_task(struct tasklet_struct *t)
{
	struct sib_port *port = from_tasklet(port, t, task);
	unsigned long now = jiffies;
	bool more;

	sib_cover_start();
	set_bit(RUN_ACTIVE, &port->run);
	clear_bit(RUN_AGAIN, &port->run);
	smp_mb__after_atomic();		/* look for work only now */
	spin_lock(&port->lock);
	link_follow(port, now);
	port->rx_left = RX_BUDGET;
	copies_renew(port);
	port_rx(port, now);
	sib_link_timer(&port->link, now);
	sib_trap_run(&port->sma, now);
	sib_rc_timers(port);
	sib_late_run(port, now);
	more = sib_tx_run(port, NULL, now);
	copies_renew(port);
	more |= port_loop(port);
	sib_link_flush(&port->link, now);
	timer_follow(port, now);
	spin_unlock(&port->lock);
	if (sib_vectors_are_due(port_to_dev(port)))
		sib_vectors_run(port_to_dev(port));
	clear_bit(RUN_ACTIVE, &port->run);
	smp_mb__after_atomic();		/* from now on others schedule it */
	if (more || test_bit(RUN_AGAIN, &port->run) || !skb_queue_empty_lockless(&port->rxq) ||
	    !skb_queue_empty_lockless(&port->loopq))
		tasklet_schedule(&port->task);
	sib_cover_stop();
}

/**
 * sib_port_send - send what is queued, here and now
 * @port: the port
 * @qp: the QP of a process that has just posted to it
 * @wait: even if it has to wait until a run on another processor is over;
 *	otherwise it is left to that
 *
 * The tasklet calls the completion handlers that become due.
 * Context: process, with no lock held.
 */
void sib_port_send(struct sib_port *port, struct sib_qp *qp, bool wait)
{
	unsigned long now = jiffies;
	bool more;

	local_bh_disable();
	if (wait) {
		spin_lock(&port->lock);
	} else if (!spin_trylock(&port->lock)) {
		sib_tx_note(qp);
		sib_port_kick(port);
		goto out;
	}
	more = sib_tx_run(port, qp, now);
	sib_link_flush(&port->link, now);
	timer_follow(port, now);
	more |= !skb_queue_empty(&port->loopq);
	spin_unlock(&port->lock);
	if (more || sib_vectors_are_due(port_to_dev(port)))
		sib_port_kick(port);
out:
	local_bh_enable();
}

static void port_timer(struct timer_list *t)
{
	struct sib_port *port = timer_container_of(port, t, timer);

	sib_port_kick(port);
}

static void limits_follow(struct sib_port *port, const struct net_device *lower)
{
	unsigned int lower_mtu = READ_ONCE(lower->mtu);
	u8 cap = min(sib_port_mtu_cap(lower_mtu), port_to_dev(port)->profile->mtu_cap);
	u32 max = cap ? lower_mtu : 0;

	lockdep_assert_held(&port->lock);
	max = min_t(u32, max, 65535);
	if (max < port->link.cfg.max_frame || cap != port->sma.mtu_cap)
		set_bit(RETRAIN, &port->retrain);
	port->link.cfg.max_frame = max;
	port->link.cfg.linear = !(lower->features & NETIF_F_SG);
	if (cap)
		sib_sma_set_mtu_cap(&port->sma, cap);
}

/**
 * sib_port_lower_changed - the lower device changed its state, MTU, features or address
 * @port: attached port
 *
 * Context: rtnl. A link that has become unusable is down when this returns.
 */
void sib_port_lower_changed(struct sib_port *port)
{
	struct net_device *lower = rtnl_dereference(port->lower);

	spin_lock_bh(&port->lock);
	if (lower)
		limits_follow(port, lower);
	link_follow(port, jiffies);
	sib_link_hello(&port->link, jiffies);
	spin_unlock_bh(&port->lock);
	sib_port_kick(port);
}

/**
 * sib_port_attach - plug the cable in
 * @port: initialised port of a device that is about to be registered
 * @lower: the cable; a reference is taken
 *
 * Context: rtnl.
 */
void sib_port_attach(struct sib_port *port, struct net_device *lower)
{
	netdev_hold(lower, &port->lower_tracker, GFP_KERNEL);
	rcu_assign_pointer(port->lower, lower);
	port->pt.type = htons(SIB_ETHERTYPE);
	port->pt.dev = lower;
	port->pt.func = sib_rcv;
	spin_lock_bh(&port->lock);
	limits_follow(port, lower);
	spin_unlock_bh(&port->lock);
	dev_add_pack(&port->pt);
}

/**
 * sib_port_detach - unplug the cable for good
 * @port: the port, attached or not
 *
 * Context: rtnl; sleeps. No frame is received or sent when this returns.
 */
void sib_port_detach(struct sib_port *port)
{
	struct net_device *lower = rtnl_dereference(port->lower);

	if (!lower)
		return;
	dev_remove_pack(&port->pt);
	spin_lock_bh(&port->lock);
	RCU_INIT_POINTER(port->lower, NULL);
	link_follow(port, jiffies);
	spin_unlock_bh(&port->lock);
	synchronize_net();
	skb_queue_purge(&port->rxq);
	netdev_put(lower, &port->lower_tracker);
	sib_port_kick(port);
}

/**
 * sib_port_init - set up a port without a cable
 * @port: zeroed memory
 * @guid: its GUID
 */
void sib_port_init(struct sib_port *port, __be64 guid)
{
	struct sib_link_config cfg = { .timeout = 1000, .guid = guid };

	spin_lock_init(&port->lock);
	spin_lock_init(&port->tx_lock);
	INIT_LIST_HEAD(&port->tx_list);
	INIT_LIST_HEAD(&port->loop_wait);
	INIT_LIST_HEAD(&port->late);
	skb_queue_head_init(&port->rxq);
	skb_queue_head_init(&port->loopq);
	port->mcast_seed = get_random_u32();
	xa_init_flags(&port->qps, XA_FLAGS_ALLOC);
	port->enabled = true;
	port->rx_left = RX_BUDGET;
	port->copies_left = SIB_COPY_BUDGET;
	tasklet_setup(&port->task, port_task);
	timer_setup(&port->timer, port_timer, 0);
	sib_rc_timer_init(port);
	sib_sma_init(&port->sma, &sib_mad_sma_ops, guid);
	sib_link_init(&port->link, &port_link_ops, &cfg);
}

/**
 * sib_port_cleanup - stop the port context and free what it holds
 * @port: detached port that no verb uses any more
 *
 * Context: process; sleeps.
 */
void sib_port_cleanup(struct sib_port *port)
{
	sib_rc_timer_cleanup(port);
	timer_shutdown_sync(&port->timer);
	tasklet_kill(&port->task);
	spin_lock_bh(&port->lock);
	sib_tx_reset(port);
	sib_link_stop(&port->link);
	spin_unlock_bh(&port->lock);
	skb_queue_purge(&port->rxq);
	skb_queue_purge(&port->loopq);
	sib_tx_free(port);
	xa_destroy(&port->qps);
}

/**
 * sib_port_set_phys - have the link train from the beginning, or keep it down
 * @port: the port
 * @phys: SIB_PHYS_POLLING or SIB_PHYS_DISABLED
 *
 * It is done a moment later, so that the response to the SMP that asked for it
 * is still sent. Context: process.
 */
void sib_port_set_phys(struct sib_port *port, enum sib_phys_state phys)
{
	spin_lock_bh(&port->lock);
	port->phys_next = phys;
	port->phys_at = jiffies + msecs_to_jiffies(PHYS_DELAY_MS);
	spin_unlock_bh(&port->lock);
	sib_port_kick(port);
}

/**
 * sib_port_pma_refresh - take over counts that are kept elsewhere
 * @port: the port
 *
 * Context: process.
 */
void sib_port_pma_refresh(struct sib_port *port)
{
	const struct sib_link_stats *link = &port->link.stats;
	struct sib_pma *pma = &port->pma;

	spin_lock_bh(&port->lock);
	WRITE_ONCE(pma->count[SIB_PC_SYMBOL_ERROR], link->rx_check + link->rx_length);
	WRITE_ONCE(pma->count[SIB_PC_LINK_RECOVERY], link->rto);
	WRITE_ONCE(pma->count[SIB_PC_LINK_DOWNED], link->down);
	WRITE_ONCE(pma->count[SIB_PC_LOCAL_INTEGRITY], link->stall);
	WRITE_ONCE(pma->count[SIB_PC_XMIT_WAIT], link->window_full);
	WRITE_ONCE(pma->count[SIB_PC_BUFFER_OVERRUN], atomic_long_read(&port->rx_overrun));
	spin_unlock_bh(&port->lock);
}
