/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_DEST_H
#define IPOIB_DEST_H

#include <linux/list.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

struct ipoib_intf;

/* Destinations of an interface, at most: more than the largest subnets have ports and groups. */
#define IPOIB_DESTS_MAX		16384
/* With so many, those that have not been used of late are forgotten early. */
#define IPOIB_DESTS_MANY	(IPOIB_DESTS_MAX / 4 * 3)

/**
 * struct ipoib_hold - packets that wait
 * @lock: guards @packets and @bytes
 * @packets: oldest first, hardware address still in front
 * @bytes: sum of their truesize
 */
struct ipoib_hold {
	spinlock_t lock; /* guards what says so above */
	struct sk_buff_head packets;
	unsigned int bytes;
};

/**
 * struct ipoib_ah - an address handle
 * @ah: the handle; constant
 * @retired: link in ipoib_intf.retired or reaping; control
 *
 * Belongs to one destination. A handle that is replaced is retired: sends in the rings
 * may still refer to it, so it is destroyed only when each ring's tail has passed where
 * its head was afterwards.
 */
struct ipoib_ah {
	struct ib_ah *ah;
	struct list_head retired;
};

/**
 * struct ipoib_path_turns - paths that the SA is, or has to be, asked for
 * @asked: how many it is asked for now; control
 * @fewer: by how many less than the most it may be asked for, since it is late; control
 * @in_time: how many it has told in time since @fewer changed; control
 * @narrowed_at: jiffies when @fewer became more; control
 * @wait: those whose turn comes after; control
 * @fresh: how many paths it has not told yet
 */
struct ipoib_path_turns {
	u32 asked;
	u32 fewer;
	u32 in_time;
	unsigned long narrowed_at;
	struct list_head wait;
	atomic_t fresh;
};

/**
 * struct ipoib_dest - where packets go: a port or a multicast group
 * @node: link in ipoib_intf.dests (RCU)
 * @gid: key, a port GID or an MGID; constant
 * @ah: address handle, or NULL while there is none; written under all transmit
 *	queue locks, read under one of them
 * @used: jiffies of the newest send; written by whoever sends
 * @hold: packets that wait for @ah
 * @backlog: link in ipoib_intf.backlog while packets wait for room in a transmit
 *	ring; written under all transmit locks, read under one of them
 * @told_mtu: a packet too long for it has been logged; written by whoever sends
 * @all: link in ipoib_intf.dest_list; guarded by ipoib_intf.dest_lock
 * @rcu: for freeing behind readers of the table
 *
 * Embedded in a struct ipoib_path or struct ipoib_mcast; which of them follows
 * from the GID.
 */
struct ipoib_dest {
	struct rhash_head node;
	union ib_gid gid;
	struct ipoib_ah *ah;
	unsigned long used;
	struct ipoib_hold hold;
	struct list_head backlog;
	bool told_mtu;
	struct list_head all;
	struct rcu_head rcu;
};

/* Senders on several processors share the line, so it is written once a tick. */
static inline void ipoib_note_use(unsigned long *used)
{
	unsigned long now = jiffies;

	if (READ_ONCE(*used) != now)
		WRITE_ONCE(*used, now);
}

static inline bool ipoib_dest_is_mcast(const struct ipoib_dest *dest)
{
	return dest->gid.raw[0] == 0xff;
}

int ipoib_dest_table_init(struct ipoib_intf *intf);
void ipoib_dest_table_destroy(struct ipoib_intf *intf);
struct ipoib_dest *ipoib_dest_find(struct ipoib_intf *intf,
				   const union ib_gid *gid);
u32 ipoib_dest_bucket(struct ipoib_intf *intf, const struct ipoib_dest *dest);
void ipoib_dest_init(struct ipoib_dest *dest, const union ib_gid *gid);
u32 ipoib_dest_count(const struct ipoib_intf *intf);
bool ipoib_dest_admit(struct ipoib_intf *intf);
void ipoib_dest_refused(struct ipoib_intf *intf);
int ipoib_dest_insert(struct ipoib_intf *intf, struct ipoib_dest *dest);
void ipoib_dest_unlink(struct ipoib_intf *intf, struct ipoib_dest *dest);

void ipoib_hold_init(struct ipoib_hold *hold);
enum skb_drop_reason ipoib_hold_add(struct ipoib_intf *intf,
				    struct ipoib_hold *hold,
				    struct sk_buff *skb);
struct sk_buff *ipoib_hold_take(struct ipoib_intf *intf,
				struct ipoib_hold *hold);
void ipoib_hold_drop(struct ipoib_intf *intf, struct ipoib_hold *hold,
		     enum skb_drop_reason reason);
void ipoib_dest_drop_pending(struct ipoib_intf *intf, struct ipoib_dest *dest);
void ipoib_dests_port_lost(struct ipoib_intf *intf);
int ipoib_dest_set_ah(struct ipoib_intf *intf, struct ipoib_dest *dest,
		      struct rdma_ah_attr *attr);
void ipoib_dest_clear_ah(struct ipoib_intf *intf, struct ipoib_dest *dest);
void ipoib_dest_wait_for_room(struct ipoib_intf *intf, struct ipoib_dest *dest);
void ipoib_dest_send_held(struct ipoib_intf *intf, struct ipoib_dest *dest);
void ipoib_dest_send_backlog(struct ipoib_intf *intf);
void ipoib_tx_doorbells(struct ipoib_intf *intf);

void ipoib_ah_reap(struct ipoib_intf *intf, bool all);

#endif /* IPOIB_DEST_H */
