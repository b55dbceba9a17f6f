// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Multicast groups: joining, leaving and attaching (RFC 4391 sections 4 to 6,
 * IBA 15.2.5.17).
 *
 * The broadcast group comes first: until it is joined nothing else is, because
 * its record holds the Q_Key, MTU, rate and so on of all others. Full
 * memberships follow the stack's list of addresses; groups that are only sent
 * to are joined send-only by the first packet, which waits for that, and are
 * forgotten when long unused.
 *
 * All of it runs on the control queue. The SA's callback only copies the answer
 * and wakes that queue, so a request is never answered while it is being made.
 * A join that fails is repeated after 1, 2, 4 … MCAST_BACKOFF_MAX seconds, less up to a
 * quarter, so that interfaces which failed together do not ask together. How many may
 * be in flight is said in join.c. A group ends with its last full member, of which a
 * non-member that sends to it is not told, and may come back under another LID: such
 * memberships are made again as often.
 *
 * A membership whose record is wrong (answer.c) stays one until the next attempt.
 */
#include <linux/random.h>

#include "answer.h"
#include "ipoib_trace.h"
#include "mcast.h"

#define MCAST_BACKOFF_MAX	16	/* seconds */
#define MCAST_PATIENCE	4	/* seconds of backoff to keep packets and handle */
/* Until the kernel has left a group: before, it answers who joins with the record that it has. */
#define MCAST_LEAVE_TIME	(HZ / 8)

/* What a join without creating the group has to say. */
#define MCAST_COMP_JOIN \
	(IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID | \
	 IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_JOIN_STATE)

/* And what lets the SA create it. */
#define MCAST_COMP_CREATE \
	(MCAST_COMP_JOIN | IB_SA_MCMEMBER_REC_QKEY | \
	 IB_SA_MCMEMBER_REC_MTU_SELECTOR | IB_SA_MCMEMBER_REC_MTU | \
	 IB_SA_MCMEMBER_REC_TRAFFIC_CLASS | IB_SA_MCMEMBER_REC_RATE_SELECTOR | \
	 IB_SA_MCMEMBER_REC_RATE | IB_SA_MCMEMBER_REC_SL | \
	 IB_SA_MCMEMBER_REC_FLOW_LABEL | IB_SA_MCMEMBER_REC_HOP_LIMIT)

/**
 * ipoib_mcast_kick - have the control queue look at the groups now
 * @intf: interface
 *
 * Context: any.
 */
void ipoib_mcast_kick(struct ipoib_intf *intf)
{
	mod_delayed_work(intf->wq, &intf->mcast_work, 0);
}

static int mcast_answer(int status, struct ib_sa_multicast *sa)
{
	struct ipoib_mcast *mcast = sa->context;

	WRITE_ONCE(mcast->status, status);
	if (!status)
		mcast->answer_rec = sa->rec;
	/* Pairs with the exchange in mcast_take_answer(). */
	smp_store_release(&mcast->answer, 1);
	ipoib_mcast_kick(mcast->intf);
	return 0;
}

/**
 * ipoib_mcast_create - a group that is to be joined
 * @intf: interface
 * @mgid: group, which @intf has no membership of
 * @sendonly: nobody here wants to receive it
 * @gfp: how to allocate
 *
 * Context: control, or a transmit queue's lock; ipoib_mcast_kick() is the caller's.
 * Return: the group, or NULL without memory.
 */
struct ipoib_mcast *ipoib_mcast_create(struct ipoib_intf *intf, const union ib_gid *mgid,
				       bool sendonly, gfp_t gfp)
{
	struct ipoib_mcast *mcast = kzalloc(sizeof(*mcast), gfp);
	int err;

	if (!mcast)
		return NULL;
	ipoib_dest_init(&mcast->dest, mgid);
	mcast->intf = intf;
	mcast->sendonly = sendonly;
	mcast->backoff = 1;
	mcast->created = jiffies;
	mcast->retry_at = mcast->created;
	local_bh_disable();
	err = ipoib_dest_insert(intf, &mcast->dest);
	local_bh_enable();
	if (err) {
		kfree(mcast);
		return NULL;
	}
	return mcast;
}

/**
 * ipoib_mcast_create_sendonly - a group for the first packet sent to it
 * @intf: interface
 * @mgid: group
 *
 * Context: transmit queue lock.
 * Return: the destination, or NULL without memory.
 */
struct ipoib_dest *ipoib_mcast_create_sendonly(struct ipoib_intf *intf,
					       const union ib_gid *mgid)
{
	struct ipoib_mcast *mcast = ipoib_mcast_create(intf, mgid, true, GFP_ATOMIC);

	if (!mcast)
		return NULL;
	ipoib_mcast_kick(intf);
	return &mcast->dest;
}

/**
 * ipoib_mcast_detach - no longer receive a group
 * @mcast: group; its next answer of the SA attaches it again
 *
 * Context: control.
 */
void ipoib_mcast_detach(struct ipoib_mcast *mcast)
{
	struct ipoib_intf *intf = mcast->intf;
	int err;

	if (!mcast->attached)
		return;
	mcast->attached = false;
	err = intf->data->detach_mcast(intf, &mcast->dest.gid,
				       mcast->attached_mlid);
	if (err)
		netdev_warn(intf->dev, "detaching from %pI6: error %d\n",
			    mcast->dest.gid.raw, err);
}

static int mcast_attach(struct ipoib_mcast *mcast)
{
	struct ipoib_intf *intf = mcast->intf;
	u16 mlid = be16_to_cpu(mcast->rec.mlid);
	int err;

	if (mcast->sendonly || (mcast->attached &&
				mcast->attached_mlid == mlid))
		return 0;
	ipoib_mcast_detach(mcast);
	err = intf->data->attach_mcast(intf, &mcast->dest.gid, mlid);
	if (err)
		return err;
	mcast->attached = true;
	mcast->attached_mlid = mlid;
	return 0;
}

static void mcast_set_state(struct ipoib_mcast *mcast,
			    enum ipoib_mcast_state state)
{
	struct ipoib_intf *intf = mcast->intf;

	if (mcast->state == IPOIB_MCAST_JOINING && state != IPOIB_MCAST_JOINING)
		ipoib_join_end(intf);
	WRITE_ONCE(mcast->state, state);
}

/**
 * ipoib_mcast_leave - give a membership back
 * @mcast: group, joined or not; the SA's callback has returned for good afterwards
 *
 * Context: control.
 */
void ipoib_mcast_leave(struct ipoib_mcast *mcast)
{
	if (mcast->sa)
		ib_sa_free_multicast(mcast->sa);
	mcast->sa = NULL;
	mcast->answer = 0;
	mcast_set_state(mcast, IPOIB_MCAST_IDLE);
}

/**
 * ipoib_mcast_destroy - leave a group and forget it
 * @mcast: group
 *
 * Context: control.
 */
void ipoib_mcast_destroy(struct ipoib_mcast *mcast)
{
	struct ipoib_intf *intf = mcast->intf;

	ipoib_dest_unlink(intf, &mcast->dest);
	ipoib_mcast_detach(mcast);
	ipoib_mcast_leave(mcast);
	if (intf->broadcast == mcast)
		intf->broadcast = NULL;
	kfree_rcu(mcast, dest.rcu);
}

/**
 * ipoib_mcast_start - make the broadcast group and begin to join
 * @intf: interface
 *
 * Context: control.
 * Return: 0 or -ENOMEM.
 */
int ipoib_mcast_start(struct ipoib_intf *intf)
{
	union ib_gid mgid = ipoib_hwaddr_gid(intf->dev->broadcast);

	intf->broadcast = ipoib_mcast_create(intf, &mgid, false, GFP_KERNEL);
	if (!intf->broadcast)
		return -ENOMEM;
	WRITE_ONCE(intf->mcast_dirty, true);
	ipoib_mcast_kick(intf);
	return 0;
}

/* Every group is like the broadcast group (RFC 4391 section 6). */
static void mcast_fill_request(const struct ipoib_intf *intf,
			       struct ib_sa_mcmember_rec *rec)
{
	const struct ib_sa_mcmember_rec *model = &intf->broadcast->rec;

	rec->qkey = model->qkey;
	rec->mtu_selector = IB_SA_EQ;
	rec->mtu = model->mtu;
	rec->traffic_class = model->traffic_class;
	rec->rate_selector = IB_SA_EQ;
	rec->rate = model->rate;
	rec->sl = model->sl;
	rec->flow_label = model->flow_label;
	rec->hop_limit = model->hop_limit;
}

static void mcast_failed(struct ipoib_mcast *mcast, int status)
{
	bool refused = status != -ETIMEDOUT && status != IPOIB_ANSWER_WRONG;
	struct ipoib_intf *intf = mcast->intf;
	unsigned long delay = mcast->backoff * HZ;

	if (mcast == intf->broadcast && mcast->backoff == MCAST_BACKOFF_MAX / 2)
		netdev_warn(intf->dev,
			    "cannot join the broadcast group %pI6: error %d, still trying\n",
			    mcast->dest.gid.raw, status);
	netdev_dbg(intf->dev, "joining %pI6: error %d, again within %u s\n",
		   mcast->dest.gid.raw, status, mcast->backoff);
	/*
	 * A silent SA, or one that is wrong, says nothing against the membership we had, and
	 * one that has just started may refuse it until it knows the subnet.
	 */
	if (refused && mcast->backoff >= MCAST_PATIENCE)
		ipoib_dest_clear_ah(intf, &mcast->dest);
	/* An SA that knows no send-only full members may know non-members. */
	mcast->nonmember = refused && !mcast->nonmember;
	if (mcast->backoff >= MCAST_PATIENCE)
		ipoib_dest_drop_pending(intf, &mcast->dest);
	mcast->retry_at = jiffies + delay - get_random_u32() % (delay / 4);
	mcast->backoff = min(mcast->backoff * 2, MCAST_BACKOFF_MAX);
}

/* After ipoib_join_begin() */
static void mcast_join(struct ipoib_mcast *mcast)
{
	struct ipoib_intf *intf = mcast->intf;
	struct ib_sa_mcmember_rec rec = {
		.mgid = mcast->dest.gid,
		.port_gid = intf->local_gid,
		.pkey = cpu_to_be16(intf->pkey),
		.join_state = BIT(FULLMEMBER_JOIN),
	};
	ib_sa_comp_mask mask = MCAST_COMP_JOIN;
	struct ib_sa_multicast *sa;

	if (mcast != intf->broadcast) {
		mcast_fill_request(intf, &rec);
		mask = MCAST_COMP_CREATE;
	}
	if (mcast->sendonly && !mcast->nonmember) {
		rec.join_state = BIT(SENDONLY_FULLMEMBER_JOIN);
	} else if (mcast->sendonly) {
		rec.join_state = BIT(SENDONLY_NONMEBER_JOIN);
		mask = MCAST_COMP_JOIN;
	}
	ipoib_count(&intf->stat_joins, 1);
	mcast_set_state(mcast, IPOIB_MCAST_JOINING);
	sa = ib_sa_join_multicast(&ipoib_sa_client, intf->ca, intf->port, &rec,
				  mask, GFP_KERNEL, mcast_answer, mcast);
	if (IS_ERR(sa)) {
		mcast_set_state(mcast, IPOIB_MCAST_IDLE);
		mcast_failed(mcast, PTR_ERR(sa));
		return;
	}
	mcast->sa = sa;
}

static int mcast_use_broadcast(struct ipoib_mcast *mcast)
{
	struct ipoib_intf *intf = mcast->intf;
	/* Omni-Path has groups of 8192 and 10240 octets. */
	int mtu = rdma_mtu_enum_to_int(intf->ca, intf->port, mcast->rec.mtu);
	int err;

	WRITE_ONCE(intf->group_mtu, IPOIB_UD_MTU(mtu));
	if (intf->group_mtu > intf->rxq.buf_len) {
		intf->data->stop(intf);
		err = intf->data->start(intf);
		if (err) {
			ipoib_start_later(intf);
			return err;
		}
	}
	err = intf->data->set_qkey(intf, be32_to_cpu(mcast->rec.qkey));
	if (err)
		return err;
	ipoib_intf_notify_stack(intf);
	return 0;
}

static int mcast_accept(struct ipoib_mcast *mcast)
{
	struct ipoib_intf *intf = mcast->intf;
	struct rdma_ah_attr attr = {};
	int err;

	err = ipoib_answer_member(intf, &mcast->dest.gid, mcast == intf->broadcast,
				  &mcast->answer_rec);
	if (err)
		return err;
	mcast->rec = mcast->answer_rec;
	if (mcast == intf->broadcast) {
		err = mcast_use_broadcast(mcast);
		if (err)
			return err;
	}
	err = mcast_attach(mcast);
	if (err)
		return err;
	err = ib_init_ah_from_mcmember(intf->ca, intf->port, &mcast->rec, NULL,
				       IB_GID_TYPE_IB, &attr);
	if (err)
		return err;
	rdma_ah_set_static_rate(&attr, ipoib_answer_rate(mcast->rec.rate));
	err = ipoib_dest_set_ah(intf, &mcast->dest, &attr);
	rdma_destroy_ah_attr(&attr);
	return err;
}

/* Is it a membership that the SA may end without a word? */
static bool mcast_is_loose(const struct ipoib_mcast *mcast)
{
	return mcast->state == IPOIB_MCAST_JOINED && mcast->sendonly &&
	       mcast->nonmember;
}

/*
 * A membership has failed. One with a wrong answer is a membership all the same: until the next
 * attempt, the subnet goes on to deliver what is sent to the group.
 */
static void mcast_give_back(struct ipoib_mcast *mcast, int status)
{
	if (status == IPOIB_ANSWER_WRONG)
		mcast_set_state(mcast, IPOIB_MCAST_IDLE);
	else
		ipoib_mcast_leave(mcast);
}

/* Return: true if there is a membership that could not be used, for the next attempt to leave. */
static bool mcast_is_kept(const struct ipoib_mcast *mcast)
{
	return mcast->state == IPOIB_MCAST_IDLE && mcast->sa;
}

static void mcast_take_answer(struct ipoib_mcast *mcast)
{
	int status;

	/* Pairs with the release in mcast_answer(); a later answer is not lost. */
	if (!xchg(&mcast->answer, 0))
		return;
	status = READ_ONCE(mcast->status);
	if (status == -ENETRESET) {
		trace_ipoib_join(mcast->intf, &mcast->dest.gid, status, 0);
		/* The SA has lost it: not a failure, ask again at once. */
		ipoib_mcast_leave(mcast);
		mcast->retry_at = jiffies;
		return;
	}
	if (!status)
		status = mcast_accept(mcast);
	trace_ipoib_join(mcast->intf, &mcast->dest.gid, status,
			 status ? 0 : be16_to_cpu(mcast->rec.mlid));
	if (status) {
		mcast_give_back(mcast, status);
		mcast_failed(mcast, status);
		return;
	}
	mcast_set_state(mcast, IPOIB_MCAST_JOINED);
	mcast->backoff = 1;
	if (mcast_is_loose(mcast))
		mcast->retry_at = jiffies + MCAST_BACKOFF_MAX * HZ;
}

static bool mcast_may_join(const struct ipoib_mcast *mcast)
{
	const struct ipoib_intf *intf = mcast->intf;

	return (mcast->state == IPOIB_MCAST_IDLE || mcast_is_loose(mcast)) && intf->running &&
	       intf->port_state == IB_PORT_ACTIVE &&
	       (mcast == intf->broadcast ||
		intf->broadcast->state == IPOIB_MCAST_JOINED);
}

/**
 * ipoib_mcast_collect - all groups, as a list that only this pass of the control queue walks
 * @intf: interface
 * @all: gets them, by ipoib_mcast.todo
 *
 * Context: control.
 */
void ipoib_mcast_collect(struct ipoib_intf *intf, struct list_head *all)
{
	struct ipoib_dest *dest;

	spin_lock_bh(&intf->dest_lock);
	list_for_each_entry(dest, &intf->dest_list, all)
		if (ipoib_dest_is_mcast(dest))
			list_add_tail(&ipoib_mcast_of(dest)->todo, all);
	spin_unlock_bh(&intf->dest_lock);
}

/**
 * ipoib_mcast_detach_all - no longer receive any group
 * @intf: interface, to be restarted or down
 *
 * Context: control.
 */
void ipoib_mcast_detach_all(struct ipoib_intf *intf)
{
	struct ipoib_mcast *mcast;
	LIST_HEAD(all);

	ipoib_mcast_collect(intf, &all);
	list_for_each_entry(mcast, &all, todo)
		ipoib_mcast_detach(mcast);
}

/**
 * ipoib_mcast_restart - join every group afresh
 * @intf: interface
 *
 * Context: control; for when the subnet may have forgotten us. Packets wait
 * until the answers have come.
 *
 * Nothing is left while the port is down: nobody would answer, and since Linux 6.16 no more than
 * 16 requests to the SA are on their way at a time, each for 12 s. The kernel tells with
 * -ENETRESET that the membership has gone with the port.
 */
void ipoib_mcast_restart(struct ipoib_intf *intf)
{
	struct ipoib_mcast *mcast;
	LIST_HEAD(all);

	ipoib_mcast_collect(intf, &all);
	list_for_each_entry(mcast, &all, todo) {
		ipoib_dest_clear_ah(intf, &mcast->dest);
		mcast->backoff = 1;
		mcast->retry_at = jiffies;
		if ((mcast->state != IPOIB_MCAST_JOINED && !mcast_is_kept(mcast)) ||
		    intf->port_state == IB_PORT_ACTIVE)
			ipoib_mcast_leave(mcast);
	}
	ipoib_mcast_kick(intf);
}

/**
 * ipoib_mcast_retry - ask for the broadcast group now, if it could not be joined
 * @intf: interface
 *
 * Context: control; for when its partition may just have been made.
 */
void ipoib_mcast_retry(struct ipoib_intf *intf)
{
	struct ipoib_mcast *mcast = intf->broadcast;

	if (!mcast || !mcast_may_join(mcast))
		return;
	mcast->backoff = 1;
	mcast->retry_at = jiffies;
	ipoib_mcast_kick(intf);
}

/* The group that has been due for longest, or NULL: none is kept back by one that always fails. */
static struct ipoib_mcast *mcast_next_due(struct list_head *all)
{
	struct ipoib_mcast *mcast, *next = NULL;

	list_for_each_entry(mcast, all, todo)
		if (mcast_may_join(mcast) && !time_before(jiffies, mcast->retry_at) &&
		    (!next || time_before(mcast->retry_at, next->retry_at)))
			next = mcast;
	return next;
}

/* Return: true if more is due, and ipoib_mcast_work() runs when it is our turn to ask. */
static bool mcast_join_due(struct ipoib_intf *intf, struct list_head *all)
{
	struct ipoib_mcast *mcast;

	while ((mcast = mcast_next_due(all))) {
		if (mcast_is_kept(mcast)) {
			/* First of two steps */
			ipoib_mcast_leave(mcast);
			mcast->retry_at = jiffies + MCAST_LEAVE_TIME;
			continue;
		}
		if (!ipoib_join_begin(intf, mcast == intf->broadcast))
			return true;
		if (mcast_is_loose(mcast)) {
			ipoib_mcast_leave(mcast);
			mcast->nonmember = false;
		}
		mcast_join(mcast);
	}
	ipoib_join_settle(intf);
	return false;
}

/* @waits: what is due now needs no timer; mcast_join_due() */
static void mcast_rearm(struct ipoib_intf *intf, struct list_head *all, bool waits)
{
	struct ipoib_mcast *mcast;
	unsigned long next = 0;
	bool any = false;

	list_for_each_entry(mcast, all, todo) {
		if (!mcast_may_join(mcast))
			continue;
		if (waits && !time_before(jiffies, mcast->retry_at))
			continue;
		if (!any || time_before(mcast->retry_at, next))
			next = mcast->retry_at;
		any = true;
	}
	if (READ_ONCE(intf->mcast_dirty)) {
		/* The stack's list was not taken over for want of memory. */
		next = jiffies + HZ;
		any = true;
	}
	if (!any)
		return;
	next = time_after(next, jiffies) ? next - jiffies : 0;
	queue_delayed_work(intf->wq, &intf->mcast_work, next);
}

/**
 * ipoib_mcast_work - bring the memberships forward
 * @work: ipoib_intf.mcast_work
 *
 * Takes the answers that have come, follows the stack's list, joins what is
 * due, and comes back for what is due later.
 */
void ipoib_mcast_work(struct work_struct *work)
{
	struct ipoib_intf *intf = container_of(to_delayed_work(work),
					       struct ipoib_intf, mcast_work);
	struct ipoib_mcast *mcast;
	LIST_HEAD(all);
	bool waits;

	if (!intf->up)
		return;
	if (READ_ONCE(intf->mcast_dirty)) {
		WRITE_ONCE(intf->mcast_dirty, false);
		ipoib_mcast_sync_list(intf);
	}
	ipoib_mcast_collect(intf, &all);
	list_for_each_entry(mcast, &all, todo)
		mcast_take_answer(mcast);
	waits = mcast_join_due(intf, &all);
	ipoib_carrier_update(intf);
	mcast_rearm(intf, &all, waits);
}
