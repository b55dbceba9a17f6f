// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Multicast attachment: which QPs take packets of which group. The table
 * belongs to the port context (port->lock).
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "sib.h"

static struct hlist_head *bucket(struct sib_port *port, const union ib_gid *gid)
{
	return &port->mcast[jhash(gid->raw, sizeof(gid->raw), 0) % SIB_MCAST_HASH];
}

static bool is(const struct sib_mcast *mc, const union ib_gid *gid, u16 lid)
{
	return mc->mlid == lid && !memcmp(mc->mgid.raw, gid->raw, sizeof(gid->raw));
}

/**
 * sib_attach_mcast - ib_device_ops.attach_mcast
 * @ibqp: UD QP
 * @gid: multicast GID
 * @lid: multicast LID
 *
 * Attaching twice is one attachment. Context: process. Return: 0, or -ENOMEM also
 * if there are too many groups or QPs in the group.
 */
int sib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct sib_port *port = &to_sib(ibqp->device)->port;
	struct sib_qp *qp = to_sqp(ibqp);
	struct sib_mcast *mc, *other;
	u32 members = 0;
	int err = 0;

	mc = kzalloc(sizeof(*mc), GFP_KERNEL);
	if (!mc)
		return -ENOMEM;
	mc->mgid = *gid;
	mc->mlid = lid;
	mc->qp = qp;
	spin_lock_bh(&port->lock);
	hlist_for_each_entry(other, bucket(port, gid), node) {
		if (!is(other, gid, lid))
			continue;
		members++;
		if (other->qp == qp)
			goto unlock;
	}
	if (members >= SIB_MAX_MCAST_QP || (!members && port->mcast_groups >= SIB_MAX_MCAST)) {
		err = -ENOMEM;
		goto unlock;
	}
	port->mcast_groups += !members;
	hlist_add_head(&mc->node, bucket(port, gid));
	qp->mcast++;
	mc = NULL;
unlock:
	spin_unlock_bh(&port->lock);
	kfree(mc);
	return err;
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
	struct sib_port *port = &to_sib(ibqp->device)->port;
	struct sib_mcast *mc, *found = NULL;
	struct sib_qp *qp = to_sqp(ibqp);

	spin_lock_bh(&port->lock);
	hlist_for_each_entry(mc, bucket(port, gid), node) {
		if (mc->qp == qp && is(mc, gid, lid)) {
			found = mc;
			hlist_del(&mc->node);
			qp->mcast--;
			break;
		}
	}
	if (found && !sib_mcast_any(port, gid, lid))
		port->mcast_groups--;
	spin_unlock_bh(&port->lock);
	kfree(found);
	return found ? 0 : -EINVAL;
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
	hlist_for_each_entry(mc, bucket(port, gid), node)
		if (is(mc, gid, lid))
			return true;
	return false;
}

/**
 * sib_mcast_recv - give a packet to every QP attached to its group
 * @port: the port, locked
 * @pkt: its headers; it has a GRH
 * @skb: where its payload is
 * @off: at which offset
 *
 * Return: false if there is none.
 */
bool sib_mcast_recv(struct sib_port *port, const struct sib_pkt *pkt, struct sk_buff *skb,
		    unsigned int off)
{
	struct sib_mcast *mc;
	bool any = false;

	lockdep_assert_held(&port->lock);
	hlist_for_each_entry(mc, bucket(port, &pkt->ghdr.dgid), node) {
		if (!is(mc, &pkt->ghdr.dgid, pkt->dlid))
			continue;
		any = true;
		sib_ud_recv(port, mc->qp, pkt, skb, off);
	}
	return any;
}
