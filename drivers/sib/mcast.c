// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Multicast attachment: which QPs take packets of which group. The table
 * belongs to the port context (port->lock).
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "sib.h"

static struct hlist_head *bucket(struct sib_port *port, const union ib_gid *gid, u16 lid)
{
	u32 hash = jhash(gid->raw, sizeof(gid->raw), port->mcast_seed);

	/* a process chooses both: not such that its groups are all in one place */
	return &port->mcast[jhash_1word(lid, hash) % SIB_MCAST_HASH];
}

static bool is(const struct sib_mcast *mc, const union ib_gid *gid, u16 lid)
{
	return mc->mlid == lid && !memcmp(mc->mgid.raw, gid->raw, sizeof(gid->raw));
}

/* struct members - the QPs of a group */
struct members {
	u32 all;
	u32 of_processes;
	u32 of_process;	/* of one of them */
};

static struct members count(struct sib_port *port, const union ib_gid *gid, u16 lid,
			    const struct sib_share *share)
{
	struct members n = {};
	struct sib_mcast *mc;

	lockdep_assert_held(&port->lock);
	hlist_for_each_entry(mc, bucket(port, gid, lid), node) {
		if (!is(mc, gid, lid))
			continue;
		n.all++;
		n.of_processes += !!mc->qp->share;
		n.of_process += mc->qp->share == share;
	}
	return n;
}

static struct sib_mcast *find(struct sib_port *port, const struct sib_qp *qp,
			      const union ib_gid *gid, u16 lid)
{
	struct sib_mcast *mc;

	lockdep_assert_held(&port->lock);
	hlist_for_each_entry(mc, bucket(port, gid, lid), node)
		if (mc->qp == qp && is(mc, gid, lid))
			return mc;
	return NULL;
}

/* Whether a group with these members takes no other one of @share */
static bool is_full(const struct members *n, const struct sib_share *share, u32 max)
{
	if (n->all >= max)
		return true;
	return share && (n->of_process >= sib_limit_of_process(max) ||
			 n->of_processes >= sib_limit_of_processes(max));
}

/* Whether a group has another MLID than this member wants */
static bool has_other_mlid(const struct sib_port *port, const struct sib_mcast *wanted)
{
	const struct sib_mcast *mc;
	int i;

	lockdep_assert_held(&port->lock);
	for (i = 0; i < SIB_MCAST_HASH; i++)
		hlist_for_each_entry(mc, &port->mcast[i], node)
			if (is(mc, &wanted->mgid, mc->mlid) && mc->mlid != wanted->mlid)
				return true;
	return false;
}

/* Attach a QP. Returns 0; -EEXIST if it is attached already; -EINVAL; -ENOMEM. */
static int attach(struct sib_dev *dev, struct sib_mcast *mc)
{
	struct sib_share *share = mc->qp->share;
	struct sib_port *port = &dev->port;
	struct members n;

	if (dev->profile->strict_groups &&
	    (mc->qp->attr.qp_state == IB_QPS_RESET || has_other_mlid(port, mc)))
		return -EINVAL;
	if (find(port, mc->qp, &mc->mgid, mc->mlid))
		return -EEXIST;
	n = count(port, &mc->mgid, mc->mlid, share);
	if (is_full(&n, share, dev->profile->max_mcast_qp) ||
	    (!n.all && port->mcast_groups >= dev->limit.max[SIB_KIND_MCAST]))
		return -ENOMEM;
	if (share && !n.of_process && sib_limit_take(&dev->limit, share, SIB_KIND_MCAST))
		return -ENOMEM;
	port->mcast_groups += !n.all;
	hlist_add_head(&mc->node, bucket(port, &mc->mgid, mc->mlid));
	mc->qp->mcast++;
	return 0;
}

/**
 * sib_attach_mcast - ib_device_ops.attach_mcast
 * @ibqp: UD QP
 * @gid: multicast GID
 * @lid: multicast LID
 *
 * Attaching twice is one attachment. Of the groups, and of a group's QPs, one process may
 * have half, and all together seven eighths (limit.h): whatever they do, IPoIB can join.
 * Context: process. Return: 0; -ENOMEM also if there are too many groups, or QPs in
 * the group; -EINVAL if the HCA is like one that minds the queue pair's state or the MLID.
 */
int sib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct sib_dev *dev = to_sib(ibqp->device);
	struct sib_mcast *mc;
	int err;

	err = sib_fault_command(&dev->fault);
	if (err)
		return err;
	mc = kzalloc(sizeof(*mc), GFP_KERNEL_ACCOUNT);
	if (!mc)
		return -ENOMEM;
	mc->mgid = *gid;
	mc->mlid = lid;
	mc->qp = to_sqp(ibqp);
	spin_lock_bh(&dev->port.lock);
	err = attach(dev, mc);
	spin_unlock_bh(&dev->port.lock);
	if (err)
		kfree(mc);
	return err == -EEXIST ? 0 : err;
}

/* Detach a QP: of a group that has it. */
static void detach(struct sib_dev *dev, struct sib_mcast *mc)
{
	struct sib_share *share = mc->qp->share;
	struct sib_port *port = &dev->port;
	struct members n;

	hlist_del(&mc->node);
	mc->qp->mcast--;
	n = count(port, &mc->mgid, mc->mlid, share);
	port->mcast_groups -= !n.all;
	if (share && !n.of_process)
		sib_limit_give(&dev->limit, share, SIB_KIND_MCAST);
}

/**
 * sib_detach_mcast - ib_device_ops.detach_mcast
 * @ibqp: UD QP
 * @gid: multicast GID
 * @lid: multicast LID
 *
 * Context: process. Return: 0, or -EINVAL if it was not attached.
 */
int sib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct sib_dev *dev = to_sib(ibqp->device);
	struct sib_mcast *mc;

	spin_lock_bh(&dev->port.lock);
	mc = find(&dev->port, to_sqp(ibqp), gid, lid);
	if (mc)
		detach(dev, mc);
	spin_unlock_bh(&dev->port.lock);
	kfree(mc);
	return mc ? 0 : -EINVAL;
}

/**
 * sib_mcast_any - whether a QP of this port takes packets of a group
 * @port: the port, locked
 * @gid: multicast GID
 * @lid: multicast LID
 *
 * Return: true if so.
 */
bool sib_mcast_any(struct sib_port *port, const union ib_gid *gid, u16 lid)
{
	struct sib_mcast *mc;

	lockdep_assert_held(&port->lock);
	hlist_for_each_entry(mc, bucket(port, gid, lid), node)
		if (is(mc, gid, lid))
			return true;
	return false;
}

/* Whether more may be copied to a process now, after what it and others have got */
static bool may_copy(struct sib_port *port, struct sib_share *share)
{
	if (share->copies_turn != port->copies_turn) {
		share->copies_turn = port->copies_turn;
		share->copies_left = sib_limit_of_process(SIB_COPY_BUDGET);
	}
	if (port->copies_left > 0 && share->copies_left > 0)
		return true;
	port->stats.rx_mcast_limit++;
	return false;
}

/* A packet for a QP of a process: only what is copied counts. */
static void recv_limited(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt,
			 struct sk_buff *skb, unsigned int off)
{
	struct sib_share *share = qp->share;

	if (!may_copy(port, share) || !sib_ud_recv(port, qp, pkt, skb, off))
		return;
	port->copies_left -= pkt->len;
	share->copies_left -= pkt->len;
}

/* Whether a QP has sent a packet itself */
static bool is_own(struct sib_port *port, const struct sib_qp *qp, const struct sib_pkt *pkt)
{
	return pkt->sqpn == qp->ibqp.qp_num && pkt->slid == READ_ONCE(port->sma.lid);
}

/**
 * sib_mcast_recv - give a packet to every QP attached to its group
 * @port: the port, locked
 * @pkt: its headers; it has a GRH
 * @skb: where its payload is
 * @off: at which offset
 *
 * The kernel's QPs get it in any case, those of processes as long as the port may copy
 * (SIB_COPY_BUDGET): half of that for one of them, so that the others get something, too.
 *
 * Return: false if there is none.
 */
bool sib_mcast_recv(struct sib_port *port, const struct sib_pkt *pkt, struct sk_buff *skb,
		    unsigned int off)
{
	struct sib_mcast *mc;
	bool any = false;

	lockdep_assert_held(&port->lock);
	hlist_for_each_entry(mc, bucket(port, &pkt->ghdr.dgid, pkt->dlid), node) {
		if (!is(mc, &pkt->ghdr.dgid, pkt->dlid))
			continue;
		any = true;
		if (mc->qp->block_own && is_own(port, mc->qp, pkt))
			continue;
		if (mc->qp->share)
			recv_limited(port, mc->qp, pkt, skb, off);
		else
			sib_ud_recv(port, mc->qp, pkt, skb, off);
	}
	return any;
}
