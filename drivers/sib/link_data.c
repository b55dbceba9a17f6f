// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The sliding window of a trained link: every DATA frame is kept until it is
 * acknowledged, the receiver keeps what came ahead of its turn and reports the
 * gap before it, and only what is missing is sent again. Section "Data" of
 * docs/sib-link.md. The owner serialises all calls; nothing here sleeps.
 */
#include <linux/jiffies.h>
#include <linux/bitops.h>
#include <net/checksum.h>

#include "link.h"

#define RING_MASK	(SIB_LINK_WINDOW - 1)
/* Frames received before an acknowledgment is sent without being asked */
#define ACK_EVERY	(SIB_LINK_WINDOW / 8)
#define ACK_DELAY_MS	5
/* First retransmission time; doubled RTO_SHIFT_MAX times at most */
#define RTO_MS		40
#define RTO_SHIFT_MAX	4
/* Times the silence limit without any progress until the link is given up */
#define STALL_TIMEOUTS	4

static unsigned long ticks(unsigned int t)
{
	return max(2UL, msecs_to_jiffies(t));
}

static void rto_arm(struct sib_link *link, unsigned long now)
{
	link->rto_at = now + (ticks(RTO_MS) << link->rto_shift);
}

static void stall_arm(struct sib_link *link, unsigned long now)
{
	link->stall_at = now + STALL_TIMEOUTS * ticks(link->cfg.timeout);
}

/* The frame expected next is missing, and those after it are held. */
static void hole_arm(struct sib_link *link, unsigned long now)
{
	link->hole_at = now + STALL_TIMEOUTS * ticks(link->cfg.timeout);
}

/**
 * sib_link_data_reset - drop all frames of the session that ends
 * @link: the link
 */
void sib_link_data_reset(struct sib_link *link)
{
	unsigned int i;

	for (i = 0; i < SIB_LINK_WINDOW; i++) {
		kfree_skb(link->tx_ring[i]);
		link->tx_ring[i] = NULL;
		kfree_skb(link->rx_ring[i]);
		link->rx_ring[i] = NULL;
	}
	sib_link_frame_free(link);
	link->tx_next = 0;
	link->tx_una = 0;
	link->rto_shift = 0;
	link->recovering = 0;
	link->rx_next = 0;
	link->rx_acked = 0;
	link->rx_held = 0;
	link->ack_now = false;
	link->ack_armed = false;
	link->gap_armed = false;
	link->peer_window = 0;
}

/**
 * sib_link_data_open - the session begins
 * @link: the link, just up
 * @now: jiffies
 */
void sib_link_data_open(struct sib_link *link, unsigned long now)
{
	stall_arm(link, now);
	rto_arm(link, now);
}

/**
 * sib_link_ctl_skb - an empty frame
 * @link: the link
 * @payload: bytes to be put after the link header
 *
 * Return: frame with headroom for all headers, or NULL, which is counted.
 */
struct sk_buff *sib_link_ctl_skb(struct sib_link *link, unsigned int payload)
{
	unsigned int head = LL_MAX_HEADER + SIB_LINK_HLEN;
	struct sk_buff *skb = alloc_skb(head + payload, GFP_ATOMIC | __GFP_NOWARN);

	if (!skb) {
		link->stats.alloc_fail++;
		return NULL;
	}
	skb_reserve(skb, head);
	return skb;
}

/**
 * sib_link_fill - put the link header in front of a payload
 * @link: the link
 * @skb: payload, with SIB_LINK_HLEN bytes of headroom
 * @type: enum sib_frame_type
 * @flags: SIB_LINK_F_*
 * @count: IB packets in the payload
 * @seq: see &struct sib_link_hdr
 * @gap: see &struct sib_link_hdr
 * @sum: unfolded checksum of the payload
 */
void sib_link_fill(struct sib_link *link, struct sk_buff *skb, u8 type, u8 flags,
		   unsigned int count, u32 seq, u16 gap, __wsum sum)
{
	struct sib_link_hdr *hdr = skb_push(skb, SIB_LINK_HLEN);

	hdr->version = SIB_LINK_VERSION;
	hdr->type = type;
	hdr->length = cpu_to_be16(skb->len);
	hdr->check = 0;
	hdr->flags = flags;
	hdr->count = count;
	hdr->session = cpu_to_be32(link->session);
	hdr->peer = cpu_to_be32(link->peer);
	hdr->seq = cpu_to_be32(seq);
	hdr->ack = cpu_to_be32(link->rx_next);
	hdr->gap = cpu_to_be16(gap);
	hdr->window = cpu_to_be16(SIB_LINK_WINDOW);
	hdr->check = (__force __be16)csum_fold(csum_partial(hdr, SIB_LINK_HLEN, sum));
}

static void note_acked(struct sib_link *link)
{
	link->rx_acked = link->rx_next;
	link->ack_now = false;
	link->ack_armed = false;
}

/* Send a copy of an unacked frame, the original stays in the ring. */
static void xmit_copy(struct sib_link *link, u32 seq, unsigned long now)
{
	struct sk_buff *skb = link->tx_ring[seq & RING_MASK];
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);

	link->tx_when[seq & RING_MASK] = now;
	if (!copy) {
		link->stats.alloc_fail++;	/* the retransmission timer has it */
		return;
	}
	link->ops->xmit(link, copy, link->peer_mac);
}

/**
 * sib_link_can_send - whether sib_link_send() may be called
 * @link: the link
 *
 * Return: true if the link is up and the window open.
 */
bool sib_link_can_send(struct sib_link *link)
{
	if (link->state != SIB_LINK_UP)
		return false;
	if (link->tx_next - link->tx_una < SIB_LINK_WINDOW &&
	    sib_seq_before(link->tx_next, link->peer_window))
		return true;
	link->stats.window_full++;
	return false;
}

/**
 * sib_link_max_frame - longest frame both ends take, link header included
 * @link: the link
 *
 * Return: bytes.
 */
unsigned int sib_link_max_frame(const struct sib_link *link)
{
	return min3(link->cfg.max_frame, link->peer_max, 65535U);
}

/**
 * sib_link_send - send IB packets, in order and as often as need be
 * @link: the link; sib_link_can_send() is true
 * @skb: whole IB packets in a frame of sib_link_frame_new(); consumed
 * @count: how many, 1 to 255
 * @sum: unfolded checksum of the payload
 * @now: jiffies
 */
void sib_link_send(struct sib_link *link, struct sk_buff *skb, unsigned int count,
		   __wsum sum, unsigned long now)
{
	u32 seq = link->tx_next;
	u32 flight = seq - link->tx_una;
	u8 flags = 0;

	if (!flight) {
		link->rto_shift = 0;
		rto_arm(link, now);
		stall_arm(link, now);
	}
	if (flight && flight % (SIB_LINK_WINDOW / 4) == 0)
		flags = SIB_LINK_F_ACK_REQ;
	sib_link_fill(link, skb, SIB_FRAME_DATA, flags, count, seq, 0, sum);
	note_acked(link);
	link->tx_ring[seq & RING_MASK] = skb;
	link->tx_next = seq + 1;
	link->stats.tx_data++;
	xmit_copy(link, seq, now);
}

/* Send again, unless that was done a moment ago or it has not left yet. */
static void retransmit(struct sib_link *link, u32 seq, unsigned long now)
{
	if (time_before(now, link->tx_when[seq & RING_MASK] + 2))
		return;
	link->stats.retransmit++;
	xmit_copy(link, seq, now);
}

/*
 * After a retransmission for want of any answer everything sent before it may
 * be lost, and the peer cannot tell: send it again too, twice as many frames
 * with each acknowledgment that shows progress.
 */
static void recover(struct sib_link *link, unsigned long now)
{
	unsigned int n;

	if (!link->recovering)
		return;
	if (!sib_seq_before(link->tx_una, link->recover_end)) {
		link->recovering = 0;
		return;
	}
	link->recovering = min(link->recovering * 2, SIB_LINK_WINDOW / 4U);
	if (sib_seq_before(link->recover_next, link->tx_una))
		link->recover_next = link->tx_una;
	for (n = link->recovering; n && sib_seq_before(link->recover_next, link->recover_end); n--)
		retransmit(link, link->recover_next++, now);
}

/**
 * sib_link_ack_rx - take acknowledgment, window and gap from a header
 * @link: the link
 * @hdr: header of a DATA or ACK frame of this session
 * @now: jiffies
 */
void sib_link_ack_rx(struct sib_link *link, const struct sib_link_hdr *hdr, unsigned long now)
{
	u32 ack = be32_to_cpu(hdr->ack);
	u32 edge = ack + min_t(u32, be16_to_cpu(hdr->window), SIB_LINK_WINDOW);
	u32 seq, end;

	if (sib_seq_before(ack, link->tx_una))
		return;			/* overtaken by a later one */
	if (sib_seq_before(link->tx_next, ack)) {
		link->stats.rx_window++;
		return;
	}
	if (sib_seq_before(link->peer_window, edge))
		link->peer_window = edge;
	if (ack != link->tx_una) {
		for (seq = link->tx_una; seq != ack; seq++) {
			sib_link_frame_done(link, link->tx_ring[seq & RING_MASK]);
			link->tx_ring[seq & RING_MASK] = NULL;
		}
		link->tx_una = ack;
		link->rto_shift = 0;
		rto_arm(link, now);
		stall_arm(link, now);
		recover(link, now);
	}
	if (hdr->type != SIB_FRAME_ACK || !hdr->gap)
		return;
	end = ack + min_t(u32, be16_to_cpu(hdr->gap), link->tx_next - ack);
	if (ack != end)
		link->stats.gap_rcvd++;
	for (seq = ack; seq != end; seq++)
		retransmit(link, seq, now);
}

static void deliver(struct sib_link *link, struct sk_buff *skb)
{
	const struct sib_link_cb *cb = sib_link_cb(skb);

	link->stats.rx_data++;
	link->ops->deliver(link, skb, SIB_LINK_HLEN, cb->len, cb->count);
	consume_skb(skb);
}

static void deliver_held(struct sib_link *link)
{
	struct sk_buff *skb;

	while (link->rx_held) {
		skb = link->rx_ring[link->rx_next & RING_MASK];
		if (!skb)
			return;
		link->rx_ring[link->rx_next & RING_MASK] = NULL;
		link->rx_held--;
		link->rx_next++;
		deliver(link, skb);
	}
}

static void want_ack(struct sib_link *link, u8 flags, unsigned long now)
{
	if (flags & SIB_LINK_F_ACK_REQ || link->rx_next - link->rx_acked >= ACK_EVERY)
		link->ack_now = true;
	if (!link->ack_armed) {
		link->ack_armed = true;
		link->ack_at = now + max(1UL, msecs_to_jiffies(ACK_DELAY_MS));
	}
}

/**
 * sib_link_data_rx - a DATA frame of this session arrived
 * @link: the link
 * @skb: the frame; consumed
 * @hdr: a copy of its header, whose length has been checked against @skb
 * @now: jiffies
 */
void sib_link_data_rx(struct sib_link *link, struct sk_buff *skb,
		      const struct sib_link_hdr *hdr, unsigned long now)
{
	u32 seq = be32_to_cpu(hdr->seq);
	u32 ahead = seq - link->rx_next;
	struct sk_buff **slot;

	sib_link_cb(skb)->len = be16_to_cpu(hdr->length) - SIB_LINK_HLEN;
	sib_link_cb(skb)->count = hdr->count;
	if (!ahead) {
		want_ack(link, hdr->flags, now);
		link->rx_next++;
		deliver(link, skb);
		deliver_held(link);
		hole_arm(link, now);
		return;
	}
	if (ahead >= SIB_LINK_WINDOW) {
		if (link->rx_next - seq <= SIB_LINK_WINDOW)
			link->stats.rx_dup++;	/* our acknowledgment was lost */
		else
			link->stats.rx_window++;
		link->ack_now = true;
		consume_skb(skb);
		return;
	}
	slot = &link->rx_ring[seq & RING_MASK];
	if (*slot) {
		link->stats.rx_dup++;
		consume_skb(skb);
		return;
	}
	link->stats.rx_reorder++;
	if (!link->rx_held)
		hole_arm(link, now);
	link->rx_held++;
	*slot = skb;
}

/* Frames missing from rx_next on, before the first one held */
static u16 gap(const struct sib_link *link)
{
	u16 n = 0;

	if (!link->rx_held)
		return 0;
	while (!link->rx_ring[(link->rx_next + n) & RING_MASK])
		n++;
	return n;
}

static void send_ack(struct sib_link *link, u16 missing)
{
	struct sk_buff *skb = sib_link_ctl_skb(link, 0);

	if (!skb)
		return;
	sib_link_fill(link, skb, SIB_FRAME_ACK, 0, 0, link->tx_next, missing, 0);
	note_acked(link);
	link->stats.tx_ack++;
	if (missing)
		link->stats.gap_sent++;
	link->ops->xmit(link, skb, link->peer_mac);
}

/**
 * sib_link_data_flush - end of a batch: tell the peer what it waits for
 * @link: the link, up
 * @now: jiffies
 */
void sib_link_data_flush(struct sib_link *link, unsigned long now)
{
	u16 missing = gap(link);

	if (!missing)
		link->gap_armed = false;
	if (missing && (!link->gap_armed || link->gap_for != link->rx_next ||
			time_after_eq(now, link->gap_at))) {
		link->gap_armed = true;
		link->gap_for = link->rx_next;
		link->gap_at = now + ticks(RTO_MS / 2);
		send_ack(link, missing);
	} else if (link->ack_now) {
		send_ack(link, 0);
	}
}

/**
 * sib_link_data_timer - retransmissions and acknowledgments that are due
 * @link: the link, up
 * @now: jiffies
 *
 * Return: false if the peer has acknowledged nothing, or not sent again what is missing,
 * for so long that the link must be trained again.
 */
bool sib_link_data_timer(struct sib_link *link, unsigned long now)
{
	if (link->tx_una != link->tx_next) {
		if (time_after_eq(now, link->stall_at))
			return false;
		if (time_after_eq(now, link->rto_at)) {
			link->stats.rto++;
			link->stats.retransmit++;
			link->recovering = 1;
			link->recover_end = link->tx_next;
			link->recover_next = link->tx_una + 1;
			xmit_copy(link, link->tx_una, now);
			if (link->rto_shift < RTO_SHIFT_MAX)
				link->rto_shift++;
			rto_arm(link, now);
		}
	}
	if (link->rx_held && time_after_eq(now, link->hole_at))
		return false;
	if (link->ack_armed && time_after_eq(now, link->ack_at))
		link->ack_now = true;
	sib_link_data_flush(link, now);
	return true;
}

/**
 * sib_link_data_deadline - when sib_link_data_timer() has something to do
 * @link: the link, up
 * @until: latest answer wanted, jiffies
 *
 * Return: jiffies.
 */
unsigned long sib_link_data_deadline(const struct sib_link *link, unsigned long until)
{
	if (link->tx_una != link->tx_next) {
		if (time_before(link->rto_at, until))
			until = link->rto_at;
		if (time_before(link->stall_at, until))
			until = link->stall_at;
	}
	if (link->rx_held && time_before(link->hole_at, until))
		until = link->hole_at;
	if (link->ack_armed && time_before(link->ack_at, until))
		until = link->ack_at;
	if (link->gap_armed && time_before(link->gap_at, until))
		until = link->gap_at;
	return until;
}
