/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_PATH_H
#define IPOIB_PATH_H

#include <linux/completion.h>
#include "ipoib.h"

/**
 * struct ipoib_path - the way to a port, as the SA tells it
 * @dest: what the data path needs; first, so that freeing one frees the other
 * @intf: owner; constant
 * @state: bits of enum ipoib_path_state
 * @dlid: LID in use, 0 while unknown; control, read anywhere
 * @heard_wait: how long [jiffies] foreign LIDs mean nothing after @heard; written by NAPI and
 *	control
 * @attempts: queries failed in a row; control
 * @heard: jiffies of the newest query that a foreign LID caused; NAPI
 * @query: request in flight; control
 * @query_id: its number; control
 * @asked_at: jiffies of the newest query; control
 * @asking: counted in ipoib_path_turns.asked; control
 * @wait: link in ipoib_path_turns.wait while too many others are asked for; control
 * @answered: completed by the answer
 * @answered_at: jiffies of the answer; handed over by @answer_work
 * @status: of the answer; handed over by @answer_work
 * @rec: the answer; handed over by @answer_work
 * @current_rec: the record in use; valid with an address handle; control
 * @conns: connections that go this way; control
 * @conn_count: how many; control
 * @query_work: asks; control
 * @answer_work: takes the answer; control
 */
struct ipoib_path {
	struct ipoib_dest dest;
	struct ipoib_intf *intf;
	unsigned long state;
	u32 dlid;
	unsigned long heard_wait;
	unsigned int attempts;
	unsigned long heard;
	struct ib_sa_query *query;
	int query_id;
	unsigned long asked_at;
	bool asking;
	struct list_head wait;
	struct completion answered;
	unsigned long answered_at;
	int status;
	struct sa_path_rec rec;
	struct sa_path_rec current_rec;
	struct list_head conns;
	u32 conn_count;
	struct delayed_work query_work;
	struct work_struct answer_work;
};

/**
 * enum ipoib_path_state - bits of ipoib_path.state
 * @IPOIB_PATH_BUSY: a query is due or in flight
 * @IPOIB_PATH_STALE: the record may no longer be true; ask on the next send
 * @IPOIB_PATH_SPREAD: there is no haste to ask, and all nodes may be about to; set by control
 * @IPOIB_PATH_FRESH: the SA has never told it; counted in ipoib_path_turns.fresh
 */
enum ipoib_path_state {
	IPOIB_PATH_BUSY,
	IPOIB_PATH_STALE,
	IPOIB_PATH_SPREAD,
	IPOIB_PATH_FRESH,
};

static inline struct ipoib_path *ipoib_path_of(struct ipoib_dest *dest)
{
	return container_of(dest, struct ipoib_path, dest);
}

/**
 * ipoib_path_is_idle - may a path that nobody sends to be forgotten
 * @path: path
 *
 * Context: control.
 */
static inline bool ipoib_path_is_idle(const struct ipoib_path *path)
{
	return !test_bit(IPOIB_PATH_BUSY, &path->state) &&
	       list_empty(&path->conns);
}

bool ipoib_path_admit(struct ipoib_intf *intf, bool asked);
struct ipoib_dest *ipoib_path_create(struct ipoib_intf *intf,
				     const union ib_gid *gid);
void ipoib_path_resolve(struct ipoib_path *path);
void ipoib_path_hurry(struct ipoib_path *path);
void ipoib_path_changed(struct ipoib_path *path);
void ipoib_path_destroy(struct ipoib_path *path);
void ipoib_paths_mark_stale(struct ipoib_intf *intf);
void ipoib_paths_forget_ah(struct ipoib_intf *intf);
void ipoib_path_heard(struct ipoib_intf *intf, const union ib_gid *gid,
		      u32 slid);

/**
 * ipoib_tx_gid - whom a packet is for
 * @intf: interface
 * @hwaddr: hardware address in front of the packet
 *
 * That of a group has the P_Key of the interface, whatever the stack's neighbour or a bond has
 * kept from before that has changed.
 *
 * Context: transmit queue lock.
 */
static inline union ib_gid ipoib_tx_gid(const struct ipoib_intf *intf, const u8 *hwaddr)
{
	union ib_gid gid = ipoib_hwaddr_gid(hwaddr);

	if (gid.raw[0] == 0xff)
		put_unaligned_be16(intf->pkey, &gid.raw[4]);
	return gid;
}

/**
 * ipoib_path_follow_up - a packet was for a destination: ask the SA if need be
 * @dest: path or group; groups are joined without this
 *
 * Context: transmit queue lock, RCU read side.
 */
static inline void ipoib_path_follow_up(struct ipoib_dest *dest)
{
	struct ipoib_path *path;

	if (ipoib_dest_is_mcast(dest))
		return;
	path = ipoib_path_of(dest);
	if (unlikely(!dest->ah || test_bit(IPOIB_PATH_STALE, &path->state)))
		ipoib_path_resolve(path);
}

#endif /* IPOIB_PATH_H */
