// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Port state as the link and the administrator change it, events, M_Key lease,
 * and the key checks of the data path.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "sma.h"

/**
 * sib_sma_dispatch - dispatch events in the order clients expect them
 * @sma: attributes, not locked
 * @events: SIB_EV_*
 */
void sib_sma_dispatch(struct sib_sma *sma, u32 events)
{
	static const enum ib_event_type types[] = {
		IB_EVENT_LID_CHANGE, IB_EVENT_SM_CHANGE, IB_EVENT_GID_CHANGE,
		IB_EVENT_PKEY_CHANGE, IB_EVENT_PORT_ERR, IB_EVENT_PORT_ACTIVE,
		IB_EVENT_CLIENT_REREGISTER,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (events & BIT(i))
			sma->ops->event(sma, types[i]);
}

/**
 * sib_sma_link_up - the link has trained: the port is INIT
 * @sma: attributes
 *
 * Context: any.
 */
void sib_sma_link_up(struct sib_sma *sma)
{
	unsigned long flags;

	spin_lock_irqsave(&sma->lock, flags);
	WRITE_ONCE(sma->state, IB_PORT_INIT);
	sma->phys = SIB_PHYS_LINK_UP;
	spin_unlock_irqrestore(&sma->lock, flags);
}

/**
 * sib_sma_link_down - the link is down
 * @sma: attributes
 * @phys: POLLING or DISABLED
 *
 * Dispatches PORT_ERR if the port was ACTIVE. Context: any.
 */
void sib_sma_link_down(struct sib_sma *sma, enum sib_phys_state phys)
{
	unsigned long flags;
	bool was_active;

	spin_lock_irqsave(&sma->lock, flags);
	was_active = sma->state == IB_PORT_ACTIVE;
	WRITE_ONCE(sma->state, IB_PORT_DOWN);
	sma->phys = phys;
	spin_unlock_irqrestore(&sma->lock, flags);
	if (was_active)
		sib_sma_dispatch(sma, SIB_EV_ERR);
}

/**
 * sib_sma_set_mtu_cap - the lower device's MTU leaves room for this much
 * @sma: attributes
 * @mtu_cap: enum ib_mtu
 *
 * Until the SM says otherwise the port also uses it. Context: any; the link
 * is, or is about to be, down.
 */
void sib_sma_set_mtu_cap(struct sib_sma *sma, u8 mtu_cap)
{
	unsigned long flags;

	spin_lock_irqsave(&sma->lock, flags);
	if (mtu_cap != sma->mtu_cap) {
		sma->mtu_cap = mtu_cap;
		WRITE_ONCE(sma->mtu, mtu_cap);
	}
	spin_unlock_irqrestore(&sma->lock, flags);
}

/**
 * sib_sma_swap_pkeys - two entries of the P_Key table change places
 * @sma: attributes
 * @index: of the first; the other follows
 *
 * Context: process. Return: 0, or -EINVAL if there are no such entries.
 */
int sib_sma_swap_pkeys(struct sib_sma *sma, u64 index)
{
	unsigned long flags;
	u16 first;

	if (index >= sma->num_pkeys - 1)
		return -EINVAL;
	spin_lock_irqsave(&sma->lock, flags);
	first = sma->pkeys[index];
	WRITE_ONCE(sma->pkeys[index], sma->pkeys[index + 1]);
	WRITE_ONCE(sma->pkeys[index + 1], first);
	spin_unlock_irqrestore(&sma->lock, flags);
	sib_sma_dispatch(sma, SIB_EV_PKEY);
	return 0;
}

/**
 * sib_sma_set_gid_prefix - the port gets other GIDs
 * @sma: attributes
 * @prefix: their first half
 *
 * Context: process.
 */
void sib_sma_set_gid_prefix(struct sib_sma *sma, __be64 prefix)
{
	unsigned long flags;

	spin_lock_irqsave(&sma->lock, flags);
	WRITE_ONCE(sma->gid_prefix, prefix);
	spin_unlock_irqrestore(&sma->lock, flags);
	sib_sma_dispatch(sma, SIB_EV_GID);
}

/**
 * sib_sma_set_node_desc - the administrator renamed the node
 * @sma: attributes
 * @desc: SIB_NODE_DESC_LEN bytes
 * @now: jiffies
 */
void sib_sma_set_node_desc(struct sib_sma *sma, const char *desc, unsigned long now)
{
	unsigned long flags;

	spin_lock_irqsave(&sma->lock, flags);
	memcpy(sma->node_desc, desc, SIB_NODE_DESC_LEN);
	spin_unlock_irqrestore(&sma->lock, flags);
	sib_trap_local_change(sma, IB_NOTICE_TRAP_NODE_DESC_CHG, now);
}

/**
 * sib_sma_set_caps - change PortInfo:CapabilityMask
 * @sma: attributes
 * @set: bits to set
 * @clear: bits to clear
 * @now: jiffies
 */
void sib_sma_set_caps(struct sib_sma *sma, u32 set, u32 clear, unsigned long now)
{
	unsigned long flags;
	bool changed;
	u32 caps;

	spin_lock_irqsave(&sma->lock, flags);
	caps = (sma->cap_mask & ~clear) | set;
	changed = caps != sma->cap_mask;
	WRITE_ONCE(sma->cap_mask, caps);
	spin_unlock_irqrestore(&sma->lock, flags);
	if (changed)
		sib_trap_local_change(sma, 0, now);
}

/**
 * sib_sma_lease_start - an M_Key violation starts the lease countdown
 * @sma: attributes, locked
 * @now: jiffies
 */
void sib_sma_lease_start(struct sib_sma *sma, unsigned long now)
{
	lockdep_assert_held(&sma->lock);
	if (!sma->mkey_lease || sma->lease_armed)
		return;
	sma->lease_armed = true;
	sma->lease_at = now + sma->mkey_lease * HZ;
}

/**
 * sib_sma_lease_check - drop the M_Key protection when the lease has run out
 * @sma: attributes, locked
 * @now: jiffies
 *
 * The lease matters only when an SMP asks, so nobody needs to watch it.
 */
void sib_sma_lease_check(struct sib_sma *sma, unsigned long now)
{
	lockdep_assert_held(&sma->lock);
	if (!sma->lease_armed || time_before(now, sma->lease_at))
		return;
	sma->lease_armed = false;
	sma->mkey_prot = 0;
}

static bool pkey_match(u16 a, u16 b)
{
	return (a & 0x7FFF) && !((a ^ b) & 0x7FFF) && ((a | b) & 0x8000);
}

/**
 * sib_sma_pkey_find - check a received P_Key
 * @sma: attributes
 * @pkey: BTH P_Key
 * @index: entry of the QP, or -1 for any
 *
 * Two limited members do not match (IBA vol. 1, 10.9.3).
 *
 * Context: any, no lock needed. Return: index of the matching entry, or
 * -ENOENT.
 */
int sib_sma_pkey_find(struct sib_sma *sma, u16 pkey, int index)
{
	int i;

	if (index >= 0)
		return pkey_match(READ_ONCE(sma->pkeys[index]), pkey) ? index : -ENOENT;
	for (i = 0; i < SIB_NUM_PKEYS; i++)
		if (pkey_match(READ_ONCE(sma->pkeys[i]), pkey))
			return i;
	return -ENOENT;
}

/**
 * sib_sma_violation - a packet with a bad P_Key or Q_Key was dropped
 * @sma: attributes
 * @qkey: it was the Q_Key
 * @key: the key
 * @sl: SL of the packet
 * @qp1: source QP
 * @qp2: destination QP
 * @lid1: source LID
 * @lid2: destination LID
 * @now: jiffies
 *
 * Counts, and notifies the SM (traps 257 and 258). Context: any.
 */
void sib_sma_violation(struct sib_sma *sma, bool qkey, u32 key, u8 sl, u32 qp1, u32 qp2,
		       u16 lid1, u16 lid2, unsigned long now)
{
	u16 *count = qkey ? &sma->qkey_violations : &sma->pkey_violations;
	unsigned long flags;

	spin_lock_irqsave(&sma->lock, flags);
	if (*count != U16_MAX)
		(*count)++;
	spin_unlock_irqrestore(&sma->lock, flags);
	sib_trap_bad_key(sma, qkey, key, sl, qp1, qp2, lid1, lid2, now);
}
