/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_MCAST_H
#define IPOIB_MCAST_H

#include "ipoib.h"

/**
 * enum ipoib_mcast_state - how far a membership has come
 * @IPOIB_MCAST_IDLE: not a member, or with a wrong record; joins at ipoib_mcast.retry_at
 * @IPOIB_MCAST_JOINING: the SA has been asked
 * @IPOIB_MCAST_JOINED: member
 */
enum ipoib_mcast_state {
	IPOIB_MCAST_IDLE,
	IPOIB_MCAST_JOINING,
	IPOIB_MCAST_JOINED,
};

/**
 * struct ipoib_mcast - a multicast group
 * @dest: what the data path needs; first, so that freeing one frees the other
 * @intf: owner; constant
 * @created: when, in jiffies; constant
 * @todo: link in a list of one pass of the control queue
 * @sendonly: nobody here wants to receive; control
 * @nonmember: the next send-only join is one as non-member, which older SAs know
 *	(RFC 4391 section 5); control
 * @wanted: seen in the stack's list in this pass; control
 * @state: of the membership; control
 * @attached: the queue pair receives the group; control
 * @attached_mlid: LID it was attached with; control
 * @rec: member record; control
 * @sa: membership, or NULL; control
 * @answer: 0 none, 1 an answer waits; set by the SA's callback (release)
 * @status: of the answer
 * @answer_rec: the answer
 * @backoff: before the next attempt [s]; control
 * @retry_at: jiffies of the next attempt, or from which on a non-member joins again;
 *	control
 */
struct ipoib_mcast {
	struct ipoib_dest dest;
	struct ipoib_intf *intf;
	unsigned long created;
	struct list_head todo;
	bool sendonly;
	bool nonmember;
	bool wanted;
	enum ipoib_mcast_state state;
	bool attached;
	u16 attached_mlid;
	struct ib_sa_mcmember_rec rec;
	struct ib_sa_multicast *sa;
	int answer;
	int status;
	struct ib_sa_mcmember_rec answer_rec;
	unsigned int backoff;
	unsigned long retry_at;
};

static inline struct ipoib_mcast *ipoib_mcast_of(struct ipoib_dest *dest)
{
	return container_of(dest, struct ipoib_mcast, dest);
}

/* mcast.c */
struct ipoib_mcast *ipoib_mcast_create(struct ipoib_intf *intf, const union ib_gid *mgid,
				       bool sendonly, gfp_t gfp);
struct ipoib_dest *ipoib_mcast_create_sendonly(struct ipoib_intf *intf,
					       const union ib_gid *mgid);
void ipoib_mcast_detach(struct ipoib_mcast *mcast);
void ipoib_mcast_detach_all(struct ipoib_intf *intf);
void ipoib_mcast_leave(struct ipoib_mcast *mcast);
void ipoib_mcast_destroy(struct ipoib_mcast *mcast);
void ipoib_mcast_collect(struct ipoib_intf *intf, struct list_head *all);
int ipoib_mcast_start(struct ipoib_intf *intf);
void ipoib_mcast_kick(struct ipoib_intf *intf);
void ipoib_mcast_restart(struct ipoib_intf *intf);
void ipoib_mcast_retry(struct ipoib_intf *intf);
void ipoib_mcast_work(struct work_struct *work);

/* mcast_list.c */
void ipoib_mcast_set_umcast(struct ipoib_intf *intf, bool umcast);
void ipoib_mcast_sync_list(struct ipoib_intf *intf);

#endif /* IPOIB_MCAST_H */
