/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The link protocol of docs/sib-link.md as a state machine: training by
 * hellos, then ordered lossless delivery of DATA frames by sequence number,
 * acknowledgment, gap report and retransmission.
 *
 * It knows neither net devices nor timers: frames leave through
 * &struct sib_link_ops, time comes in as @now (jiffies), and the owner calls
 * sib_link_timer() when sib_link_deadline() has come. All functions on one
 * link must be serialised by its owner; none sleeps.
 */
#ifndef SIB_LINK_H
#define SIB_LINK_H

#include <linux/etherdevice.h>
#include <linux/skbuff.h>

#include "wire.h"

/* Unacknowledged frames either way; a power of two. */
#define SIB_LINK_WINDOW		128
/* Acknowledged frames kept to be used again */
#define SIB_LINK_SPARES		16

struct sib_link;

/**
 * struct sib_link_ops - what a link needs from its owner
 * @xmit: put a frame on the cable. skb->data is at the link header; consumes
 *	@skb. May drop it.
 * @deliver: IB packets arrived: @count whole packets, @len bytes from @off in
 *	@skb, which stays the link's. Called once per DATA frame, in order.
 * @change: the link came up or went down. Not called by sib_link_start() and
 *	sib_link_stop().
 * @session: a new random session number; called again when it returns 0
 *
 * All are called within a call of a function of this file, from its context;
 * @deliver and @change must not call back into the link.
 */
struct sib_link_ops {
	void (*xmit)(struct sib_link *link, struct sk_buff *skb, const u8 *dest);
	void (*deliver)(struct sib_link *link, struct sk_buff *skb, unsigned int off,
			unsigned int len, unsigned int count);
	void (*change)(struct sib_link *link, bool up);
	u32 (*session)(struct sib_link *link);
};

/**
 * struct sib_link_cb - of a frame that was received, in its skb->cb
 * @len: octets of its IB packets, by the header that was checked; not more than there are
 * @count: how many packets there should be, likewise
 *
 * What a frame consists of may be pages that its sender still writes to (a tunnel
 * passes on those of a file that was sent), so its header is read once.
 */
struct sib_link_cb {
	u16 len;
	u8 count;
};

static inline struct sib_link_cb *sib_link_cb(struct sk_buff *skb)
{
	return (struct sib_link_cb *)skb->cb;
}

enum sib_link_state {
	SIB_LINK_OFF,		/* stopped: no carrier, or disabled by the SM */
	SIB_LINK_LISTEN,	/* sending hellos, nobody heard */
	SIB_LINK_HEARD,		/* a peer was heard, it may not hear us */
	SIB_LINK_UP,		/* both directions work */
};

/**
 * struct sib_link_config - limits of this end
 * @timeout: silence after which the peer is given up, ms
 * @max_frame: longest frame this end can take, link header included
 * @linear: what leaves is copied into one piece unless it is one
 * @guid: port GUID for the hello
 */
struct sib_link_config {
	u16 timeout;
	u32 max_frame;
	bool linear;
	__be64 guid;
};

/* struct sib_link_stats - events of one link; names as in hw_counters */
struct sib_link_stats {
	u64 tx_data;		/* DATA frames sent, first transmissions */
	u64 rx_data;		/* DATA frames delivered */
	u64 tx_ack;		/* ACK frames sent */
	u64 rx_ack;		/* ACK frames received */
	u64 tx_hello;
	u64 rx_hello;
	u64 retransmit;		/* DATA frames sent again */
	u64 rto;		/* retransmissions for want of any answer */
	u64 gap_sent;		/* gap reports sent */
	u64 gap_rcvd;		/* gap reports acted on */
	u64 rx_dup;		/* DATA frames already received, dropped */
	u64 rx_reorder;		/* DATA frames ahead of their turn, kept */
	u64 rx_window;		/* frames with a number outside the window, dropped */
	u64 rx_version;		/* dropped: unknown version */
	u64 rx_type;		/* dropped: unknown type */
	u64 rx_length;		/* dropped: length field does not fit the frame */
	u64 rx_check;		/* dropped: bad checksum */
	u64 rx_session;		/* dropped: of another session of peer or self */
	u64 rx_foreign;		/* dropped: from a third station */
	u64 rx_loop;		/* dropped: own frame came back */
	u64 window_full;	/* times sending had to wait for the window */
	u64 alloc_fail;		/* control frames not sent for want of memory */
	u64 up;			/* times the link came up */
	u64 down;		/* times it went down after having been up */
	u64 timeout;		/* of these: peer silent */
	u64 restart;		/* of these: peer restarted */
	u64 stall;		/* of these: peer alive but acknowledges nothing */
};

/**
 * struct sib_link - one end of a cable
 * @ops: services of the owner
 * @cfg: limits of this end
 * @stats: event counts
 * @state: training state
 * @session: own session number, not 0 unless @state is OFF
 * @peer: peer's session number, 0 while LISTEN
 * @peer_mac: peer's station address, valid with @peer
 * @peer_timeout: peer's silence limit, ms
 * @peer_max: longest frame the peer takes
 * @peer_window: first frame number the peer does not take
 * @hello_at: when the next hello is due
 * @silent_at: when the peer is given up
 * @tx_next: number of the next new frame
 * @tx_una: oldest unacked frame
 * @tx_ring: unacked frames by number modulo the window
 * @tx_when: jiffies of each frame's last transmission
 * @spare: acknowledged frames to be used again, a ring
 * @spares: how many
 * @spare_first: the oldest
 * @rto_at: when the oldest frame is sent again, valid while any is
 *	unacked
 * @stall_at: when the link is given up for want of acknowledgments
 * @rto_shift: exponential backoff of the retransmission time
 * @recovering: frames sent again per acknowledgment after a retransmission
 *	time has passed, 0 once @recover_end is acknowledged
 * @recover_next: next frame to be sent again so
 * @recover_end: @tx_next when the time passed
 * @rx_next: number of the frame expected next
 * @rx_acked: @rx_next as last told to the peer
 * @rx_held: frames in @rx_ring
 * @rx_ring: frames ahead of their turn, by number modulo the window
 * @hole_at: when the link is given up because the frame expected next does not come,
 *	valid while frames are held
 * @ack_now: an acknowledgment is due at the end of this batch
 * @ack_armed: an acknowledgment is due at @ack_at
 * @ack_at: see @ack_armed
 * @gap_for: @rx_next when a gap was last reported, valid with @gap_armed
 * @gap_at: when an unfilled gap is reported again
 * @gap_armed: see @gap_for
 *
 * Guarded by the owner's serialisation.
 */
struct sib_link {
	const struct sib_link_ops *ops;
	struct sib_link_config cfg;
	struct sib_link_stats stats;
	enum sib_link_state state;
	u32 session;
	u32 peer;
	u8 peer_mac[ETH_ALEN];
	u16 peer_timeout;
	u32 peer_max;
	u32 peer_window;
	unsigned long hello_at;
	unsigned long silent_at;

	u32 tx_next;
	u32 tx_una;
	struct sk_buff *tx_ring[SIB_LINK_WINDOW];
	unsigned long tx_when[SIB_LINK_WINDOW];
	struct sk_buff *spare[SIB_LINK_SPARES];
	unsigned int spares;
	unsigned int spare_first;
	unsigned long rto_at;
	unsigned long stall_at;
	unsigned int rto_shift;
	unsigned int recovering;
	u32 recover_next;
	u32 recover_end;

	u32 rx_next;
	u32 rx_acked;
	unsigned int rx_held;
	unsigned long hole_at;
	struct sk_buff *rx_ring[SIB_LINK_WINDOW];
	bool ack_now;
	bool ack_armed;
	bool gap_armed;
	unsigned long ack_at;
	u32 gap_for;
	unsigned long gap_at;
};

/* link.c: training and the entry points of the owner */
void sib_link_init(struct sib_link *link, const struct sib_link_ops *ops,
		   const struct sib_link_config *cfg);
void sib_link_start(struct sib_link *link, unsigned long now);
void sib_link_stop(struct sib_link *link);
void sib_link_hello(struct sib_link *link, unsigned long now);
void sib_link_rx(struct sib_link *link, struct sk_buff *skb, const u8 *src, unsigned long now);
void sib_link_timer(struct sib_link *link, unsigned long now);
void sib_link_flush(struct sib_link *link, unsigned long now);
unsigned long sib_link_deadline(const struct sib_link *link, unsigned long now);

/* link_data.c: the sliding window */
bool sib_link_can_send(struct sib_link *link);
void sib_link_send(struct sib_link *link, struct sk_buff *skb, unsigned int count,
		   __wsum sum, unsigned long now);
unsigned int sib_link_max_frame(const struct sib_link *link);

/* link_frame.c: frames to be sent */
struct sk_buff *sib_link_frame_new(struct sib_link *link);
bool sib_link_frame_takes(const struct sib_link *link, const struct sk_buff *skb, u32 len);
void sib_link_frame_done(struct sib_link *link, struct sk_buff *skb);
void sib_link_frame_free(struct sib_link *link);

/* Between link.c and link_data.c */
void sib_link_data_reset(struct sib_link *link);
void sib_link_data_open(struct sib_link *link, unsigned long now);
void sib_link_data_rx(struct sib_link *link, struct sk_buff *skb,
		      const struct sib_link_hdr *hdr, unsigned long now);
void sib_link_ack_rx(struct sib_link *link, const struct sib_link_hdr *hdr, unsigned long now);
bool sib_link_data_timer(struct sib_link *link, unsigned long now);
void sib_link_data_flush(struct sib_link *link, unsigned long now);
void sib_link_fill(struct sib_link *link, struct sk_buff *skb, u8 type, u8 flags,
		   unsigned int count, u32 seq, u16 gap, __wsum sum);
struct sk_buff *sib_link_ctl_skb(struct sib_link *link, unsigned int payload);
unsigned long sib_link_data_deadline(const struct sib_link *link, unsigned long until);

/* Sequence numbers wrap: a is before b */
static inline bool sib_seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

#endif /* SIB_LINK_H */
