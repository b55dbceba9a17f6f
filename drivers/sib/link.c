// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Link training: hellos find the peer, agree on a pair of session numbers and
 * notice its silence or restart. Section "Training" of docs/sib-link.md.
 *
 * A session number lives as long as the link stays up; every frame carries
 * both, so that what was sent before a restart of either end is recognised and
 * dropped. The owner serialises all calls; nothing here sleeps.
 */
#include <linux/jiffies.h>
#include <linux/bitops.h>
#include <net/checksum.h>

#include "link.h"

/* How often hellos are sent while training, ms */
#define HELLO_TRAINING_MS	50
/* A silence limit is divided by this to get the hello interval */
#define HELLO_PER_TIMEOUT	4
#define TIMEOUT_MIN_MS		20

static unsigned long ms(unsigned int t)
{
	return max(1UL, msecs_to_jiffies(t));
}

static unsigned long hello_interval(const struct sib_link *link)
{
	unsigned int t = link->cfg.timeout;

	if (link->state != SIB_LINK_UP)
		return ms(min_t(unsigned int, HELLO_TRAINING_MS, t / HELLO_PER_TIMEOUT));
	t = min_t(unsigned int, t, max_t(unsigned int, link->peer_timeout, TIMEOUT_MIN_MS));
	return ms(t / HELLO_PER_TIMEOUT);
}

static u8 hello_state(const struct sib_link *link)
{
	switch (link->state) {
	case SIB_LINK_UP:
		return SIB_HELLO_UP;
	case SIB_LINK_HEARD:
		return SIB_HELLO_HEARD;
	default:
		return SIB_HELLO_LISTEN;
	}
}

static void send_hello(struct sib_link *link, unsigned long now)
{
	static const u8 broadcast[ETH_ALEN] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
	struct sib_hello *hello;
	struct sk_buff *skb;

	link->hello_at = now + hello_interval(link);
	skb = sib_link_ctl_skb(link, SIB_HELLO_LEN);
	if (!skb)
		return;
	hello = skb_put_zero(skb, SIB_HELLO_LEN);
	hello->state = hello_state(link);
	hello->port = 1;
	hello->timeout = cpu_to_be16(link->cfg.timeout);
	hello->max_frame = cpu_to_be32(link->cfg.max_frame);
	hello->guid = link->cfg.guid;
	sib_link_fill(link, skb, SIB_FRAME_HELLO, 0, 0, link->tx_next, 0,
		      csum_partial(hello, SIB_HELLO_LEN, 0));
	link->stats.tx_hello++;
	link->ops->xmit(link, skb, broadcast);
}

static void heard_now(struct sib_link *link, unsigned long now)
{
	link->silent_at = now + ms(link->cfg.timeout);
}

/* Forget the peer, and be nobody it knows. */
static void listen(struct sib_link *link, unsigned long now)
{
	sib_link_data_reset(link);
	do {
		link->session = link->ops->session(link);
	} while (!link->session);
	link->peer = 0;
	link->state = SIB_LINK_LISTEN;
	link->hello_at = now;
}

static void go_up(struct sib_link *link, unsigned long now)
{
	link->state = SIB_LINK_UP;
	link->stats.up++;
	sib_link_data_open(link, now);
	link->ops->change(link, true);
}

static void go_down(struct sib_link *link, u64 *why, unsigned long now)
{
	bool was_up = link->state == SIB_LINK_UP;

	listen(link, now);
	if (!was_up)
		return;
	(*why)++;
	link->stats.down++;
	link->ops->change(link, false);
}

/* Take the sender of a hello for the peer. */
static void adopt(struct sib_link *link, const struct sib_link_hdr *hdr, const u8 *src,
		  unsigned long now)
{
	link->peer = be32_to_cpu(hdr->session);
	ether_addr_copy(link->peer_mac, src);
	link->state = SIB_LINK_HEARD;
	link->hello_at = now;
}

static void hello_params(struct sib_link *link, const struct sib_link_hdr *hdr,
			 const struct sib_hello *hello)
{
	link->peer_timeout = be16_to_cpu(hello->timeout);
	link->peer_max = be32_to_cpu(hello->max_frame);
	if (link->state != SIB_LINK_UP)
		link->peer_window = be16_to_cpu(hdr->window);
}

/*
 * A hello of a session other than the peer's: of the peer after a restart, of
 * a late or third station. Returns whether it was adopted.
 */
static bool hello_of_other(struct sib_link *link, const struct sib_link_hdr *hdr,
			   const u8 *src, unsigned long now)
{
	u32 echo = be32_to_cpu(hdr->peer);

	if (link->peer && !ether_addr_equal(src, link->peer_mac)) {
		link->stats.rx_foreign++;
		return false;
	}
	if (echo && echo != link->session) {
		/* talks to a past self of ours, or is a late frame of its past self */
		link->stats.rx_session++;
		return false;
	}
	if (link->state == SIB_LINK_UP)
		go_down(link, &link->stats.restart, now);
	adopt(link, hdr, src, now);
	return true;
}

static void hello_rx(struct sib_link *link, struct sk_buff *skb, const struct sib_link_hdr *hdr,
		     const u8 *src, unsigned long now)
{
	struct sib_hello hello;

	if (be16_to_cpu(hdr->length) < SIB_LINK_HLEN + SIB_HELLO_LEN ||
	    skb_copy_bits(skb, SIB_LINK_HLEN, &hello, sizeof(hello)) ||
	    !hdr->window || be32_to_cpu(hello.max_frame) < SIB_FRAME_OVERHEAD + 256) {
		link->stats.rx_length++;
		return;
	}
	link->stats.rx_hello++;
	if (be32_to_cpu(hdr->session) != link->peer) {
		if (!hello_of_other(link, hdr, src, now))
			return;
	} else if (be32_to_cpu(hdr->peer) == link->session) {
		ether_addr_copy(link->peer_mac, src);
	}
	hello_params(link, hdr, &hello);
	if (be32_to_cpu(hdr->peer) == link->session) {
		heard_now(link, now);
		if (link->state == SIB_LINK_HEARD) {
			go_up(link, now);
			link->hello_at = now;
		} else if (hello.state != SIB_HELLO_UP) {
			/* it waits for our echo */
			link->hello_at = now;
		}
	} else if (link->state == SIB_LINK_HEARD) {
		heard_now(link, now);
	}
}

/*
 * Copy the header of a frame, and see whether it is whole and meant for this session.
 * The frame's memory may change at any moment: what is looked at is the copy.
 */
static bool check(struct sib_link *link, struct sk_buff *skb, struct sib_link_hdr *hdr)
{
	unsigned int len;

	if (skb_copy_bits(skb, 0, hdr, sizeof(*hdr))) {
		link->stats.rx_length++;
		return false;
	}
	if (hdr->version != SIB_LINK_VERSION) {
		link->stats.rx_version++;
		return false;
	}
	len = be16_to_cpu(hdr->length);
	if (len < SIB_LINK_HLEN || len > skb->len) {
		link->stats.rx_length++;
		return false;
	}
	if (csum_fold(skb_checksum(skb, 0, len, 0))) {
		link->stats.rx_check++;
		return false;
	}
	if (!hdr->session || be32_to_cpu(hdr->session) == link->session) {
		if (hdr->session)
			link->stats.rx_loop++;
		else
			link->stats.rx_session++;
		return false;
	}
	return true;
}

/**
 * sib_link_rx - a frame arrived from the cable
 * @link: the link
 * @skb: frame, skb->data at the link header; consumed. May be shared with
 *	others (cloned): it is only read.
 * @src: sending station
 * @now: jiffies
 */
void sib_link_rx(struct sib_link *link, struct sk_buff *skb, const u8 *src, unsigned long now)
{
	struct sib_link_hdr hdr;

	if (link->state == SIB_LINK_OFF || !check(link, skb, &hdr))
		goto drop;
	if (hdr.type == SIB_FRAME_HELLO) {
		hello_rx(link, skb, &hdr, src, now);
		goto drop;
	}
	if (hdr.type != SIB_FRAME_DATA && hdr.type != SIB_FRAME_ACK) {
		link->stats.rx_type++;
		goto drop;
	}
	if (!link->peer || be32_to_cpu(hdr.session) != link->peer ||
	    be32_to_cpu(hdr.peer) != link->session) {
		if (link->peer && !ether_addr_equal(src, link->peer_mac))
			link->stats.rx_foreign++;
		else
			link->stats.rx_session++;
		goto drop;
	}
	/* It knows our session, so it has heard us. */
	if (link->state == SIB_LINK_HEARD) {
		go_up(link, now);
		link->hello_at = now;
	}
	heard_now(link, now);
	sib_link_ack_rx(link, &hdr, now);
	if (hdr.type == SIB_FRAME_DATA) {
		sib_link_data_rx(link, skb, &hdr, now);
		return;
	}
	link->stats.rx_ack++;
drop:
	consume_skb(skb);
}

/**
 * sib_link_timer - do what has become due
 * @link: the link
 * @now: jiffies
 */
void sib_link_timer(struct sib_link *link, unsigned long now)
{
	if (link->state == SIB_LINK_OFF)
		return;
	if (link->state != SIB_LINK_LISTEN && time_after_eq(now, link->silent_at))
		go_down(link, &link->stats.timeout, now);
	else if (link->state == SIB_LINK_UP && !sib_link_data_timer(link, now))
		go_down(link, &link->stats.stall, now);
	if (time_after_eq(now, link->hello_at))
		send_hello(link, now);
}

/**
 * sib_link_flush - end of a batch of sib_link_rx() and sib_link_send()
 * @link: the link
 * @now: jiffies
 *
 * Sends the hello and the acknowledgment the batch has made due.
 */
void sib_link_flush(struct sib_link *link, unsigned long now)
{
	if (link->state == SIB_LINK_OFF)
		return;
	if (time_after_eq(now, link->hello_at))
		send_hello(link, now);
	if (link->state == SIB_LINK_UP)
		sib_link_data_flush(link, now);
}

/**
 * sib_link_deadline - when sib_link_timer() must be called
 * @link: the link
 * @now: jiffies
 *
 * Return: jiffies, not before @now + 1; far in the future while stopped.
 */
unsigned long sib_link_deadline(const struct sib_link *link, unsigned long now)
{
	unsigned long at = link->hello_at;

	if (link->state == SIB_LINK_OFF)
		return now + MAX_JIFFY_OFFSET;
	if (link->state != SIB_LINK_LISTEN && time_before(link->silent_at, at))
		at = link->silent_at;
	if (link->state == SIB_LINK_UP)
		at = sib_link_data_deadline(link, at);
	return time_after(at, now) ? at : now + 1;
}

/**
 * sib_link_init - set up a stopped link
 * @link: zeroed memory
 * @ops: services of the owner
 * @cfg: limits of this end; copied, the owner may change link->cfg later
 */
void sib_link_init(struct sib_link *link, const struct sib_link_ops *ops,
		   const struct sib_link_config *cfg)
{
	link->ops = ops;
	link->cfg = *cfg;
	link->state = SIB_LINK_OFF;
}

/**
 * sib_link_start - the cable is in: begin training
 * @link: the link, stopped or not
 * @now: jiffies
 *
 * The owner must call sib_link_timer() soon after.
 */
void sib_link_start(struct sib_link *link, unsigned long now)
{
	if (link->state == SIB_LINK_OFF)
		listen(link, now);
}

/**
 * sib_link_stop - the cable is out: forget everything
 * @link: the link; all frames it holds are freed
 *
 * The owner knows what it did: change() is not called.
 */
void sib_link_stop(struct sib_link *link)
{
	if (link->state == SIB_LINK_UP)
		link->stats.down++;
	link->state = SIB_LINK_OFF;
	link->session = 0;
	link->peer = 0;
	sib_link_data_reset(link);
}

/**
 * sib_link_hello - something a hello tells has changed
 * @link: the link
 * @now: jiffies
 *
 * The next sib_link_flush() sends one.
 */
void sib_link_hello(struct sib_link *link, unsigned long now)
{
	link->hello_at = now;
}
