// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Notices to the subnet manager (IBA vol. 1, 13.4.8 and 14.2.5.1): a trap of
 * each kind is sent, repeated a few times until it is repressed, and never
 * more often than once an interval. Traps are recorded in any context and sent
 * by the owner's sib_trap_run().
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "sma.h"
#include "wire.h"

#define TRAP_REPEATS	5
#define TRAP_INTERVAL	HZ

enum trap_slot { SLOT_LOCAL_CHANGE, SLOT_BAD_MKEY, SLOT_BAD_PKEY, SLOT_BAD_QKEY };

static struct ib_mad_notice_attr *notice(struct sib_trap *trap)
{
	return (struct ib_mad_notice_attr *)trap->smp.data;
}

/*
 * Begin a trap in its slot. Returns NULL while an earlier one of the kind is
 * still being repeated, unless the new one replaces it.
 */
static struct ib_mad_notice_attr *begin(struct sib_sma *sma, enum trap_slot slot, u8 type,
					__be16 num, bool replace, unsigned long now)
{
	struct sib_trap *trap = &sma->traps[slot];
	struct ib_mad_notice_attr *ntc = notice(trap);

	lockdep_assert_held(&sma->lock);
	if (trap->left && !replace)
		return NULL;
	memset(&trap->smp, 0, sizeof(trap->smp));
	trap->smp.base_version = IB_MGMT_BASE_VERSION;
	trap->smp.mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	trap->smp.class_version = 1;
	trap->smp.method = IB_MGMT_METHOD_TRAP;
	trap->smp.attr_id = IB_SMP_ATTR_NOTICE;
	trap->smp.tid = cpu_to_be64(++sma->trap_tid);
	ntc->generic_type = type;
	ntc->prod_type_lsb = IB_NOTICE_PROD_CA;
	ntc->trap_num = num;
	ntc->issuer_lid = cpu_to_be16(sma->lid);
	trap->left = TRAP_REPEATS;
	WRITE_ONCE(sma->trap_waits, true);
	if (!trap->at || time_before(trap->at, now))
		trap->at = now;
	return ntc;
}

/**
 * sib_trap_local_change - trap 144: CapabilityMask or NodeDescription changed
 * @sma: attributes, not locked
 * @changes: IB_NOTICE_TRAP_*_CHG, 0 if only the CapabilityMask changed
 * @now: jiffies
 */
void sib_trap_local_change(struct sib_sma *sma, u16 changes, unsigned long now)
{
	struct ib_mad_notice_attr *ntc;
	unsigned long flags;

	spin_lock_irqsave(&sma->lock, flags);
	if (sma->traps[SLOT_LOCAL_CHANGE].left)
		changes |= notice(&sma->traps[SLOT_LOCAL_CHANGE])->details.ntc_144.change_flags;
	ntc = begin(sma, SLOT_LOCAL_CHANGE, IB_NOTICE_TYPE_INFO, IB_NOTICE_TRAP_CAP_MASK_CHG,
		    true, now);
	ntc->details.ntc_144.lid = cpu_to_be16(sma->lid);
	ntc->details.ntc_144.local_changes = !!changes;
	ntc->details.ntc_144.change_flags = changes;
	ntc->details.ntc_144.new_cap_mask = cpu_to_be32(sma->cap_mask);
	spin_unlock_irqrestore(&sma->lock, flags);
}

/**
 * sib_trap_bad_mkey - trap 256
 * @sma: attributes, not locked
 * @bad: SMP that was refused
 * @slid: its source LID
 * @now: jiffies
 */
void sib_trap_bad_mkey(struct sib_sma *sma, const struct ib_smp *bad, u16 slid,
		       unsigned long now)
{
	struct ib_mad_notice_attr *ntc;
	unsigned long flags;
	unsigned int hops;

	spin_lock_irqsave(&sma->lock, flags);
	ntc = begin(sma, SLOT_BAD_MKEY, IB_NOTICE_TYPE_SECURITY, IB_NOTICE_TRAP_BAD_MKEY, false,
		    now);
	if (!ntc)
		goto unlock;
	ntc->details.ntc_256.lid = cpu_to_be16(slid);
	ntc->details.ntc_256.method = bad->method;
	ntc->details.ntc_256.attr_id = bad->attr_id;
	ntc->details.ntc_256.attr_mod = bad->attr_mod;
	ntc->details.ntc_256.mkey = bad->mkey;
	if (bad->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE) {
		hops = min_t(unsigned int, bad->hop_cnt,
			     sizeof(ntc->details.ntc_256.dr_rtn_path));
		ntc->details.ntc_256.dr_slid = bad->dr_slid;
		ntc->details.ntc_256.dr_trunc_hop = IB_NOTICE_TRAP_DR_NOTICE | hops;
		if (hops != bad->hop_cnt)
			ntc->details.ntc_256.dr_trunc_hop |= IB_NOTICE_TRAP_DR_TRUNC;
		memcpy(ntc->details.ntc_256.dr_rtn_path, bad->return_path, hops);
	}
unlock:
	spin_unlock_irqrestore(&sma->lock, flags);
}

/**
 * sib_trap_bad_key - trap 257 (P_Key) or 258 (Q_Key)
 * @sma: attributes, not locked
 * @qkey: 258
 * @key: the key
 * @sl: SL of the packet
 * @qp1: source QP
 * @qp2: destination QP
 * @lid1: source LID
 * @lid2: destination LID
 * @now: jiffies
 */
void sib_trap_bad_key(struct sib_sma *sma, bool qkey, u32 key, u8 sl, u32 qp1, u32 qp2,
		      u16 lid1, u16 lid2, unsigned long now)
{
	struct ib_mad_notice_attr *ntc;
	unsigned long flags;

	spin_lock_irqsave(&sma->lock, flags);
	ntc = begin(sma, qkey ? SLOT_BAD_QKEY : SLOT_BAD_PKEY, IB_NOTICE_TYPE_SECURITY,
		    qkey ? IB_NOTICE_TRAP_BAD_QKEY : IB_NOTICE_TRAP_BAD_PKEY, false, now);
	if (ntc) {
		ntc->details.ntc_257_258.lid1 = cpu_to_be16(lid1);
		ntc->details.ntc_257_258.lid2 = cpu_to_be16(lid2);
		ntc->details.ntc_257_258.key = cpu_to_be32(key);
		ntc->details.ntc_257_258.sl_qp1 = cpu_to_be32((u32)sl << 28 | qp1);
		ntc->details.ntc_257_258.qp2 = cpu_to_be32(qp2);
	}
	spin_unlock_irqrestore(&sma->lock, flags);
}

/**
 * sib_trap_repress - the SM has seen a trap
 * @sma: attributes, not locked
 * @smp: TrapRepress, with the trap's transaction number
 */
void sib_trap_repress(struct sib_sma *sma, const struct ib_smp *smp)
{
	unsigned long flags;
	int i;

	spin_lock_irqsave(&sma->lock, flags);
	for (i = 0; i < SIB_NUM_TRAPS; i++)
		if (sma->traps[i].left && sma->traps[i].smp.tid == smp->tid)
			sma->traps[i].left = 0;
	spin_unlock_irqrestore(&sma->lock, flags);
}

static bool can_send(const struct sib_sma *sma)
{
	return sma->state == IB_PORT_ACTIVE && sib_lid_is_ucast(sma->sm_lid);
}

/* Take what is due from a slot. */
static bool due(struct sib_sma *sma, struct sib_trap *trap, struct ib_smp *smp, u16 *dlid,
		u8 *sl, unsigned long now)
{
	unsigned long flags;
	bool ret = false;

	spin_lock_irqsave(&sma->lock, flags);
	if (trap->left && can_send(sma) && time_after_eq(now, trap->at)) {
		*smp = trap->smp;
		*dlid = sma->sm_lid;
		*sl = sma->sm_sl;
		trap->left--;
		trap->at = now + TRAP_INTERVAL;
		ret = true;
	}
	spin_unlock_irqrestore(&sma->lock, flags);
	return ret;
}

/* Apart from sib_trap_run() for the room on the stack, which that seldom needs. */
static noinline void send_due(struct sib_sma *sma, struct sib_trap *trap, unsigned long now)
{
	struct ib_smp smp;
	u16 dlid;
	u8 sl;

	if (due(sma, trap, &smp, &dlid, &sl, now))
		sma->ops->send(sma, dlid, sl, &smp);
}

/**
 * sib_trap_run - send the traps that are due
 * @sma: attributes, not locked
 * @now: jiffies
 *
 * One that cannot be sent counts as lost; it is repeated.
 */
void sib_trap_run(struct sib_sma *sma, unsigned long now)
{
	unsigned long flags;
	int i;

	if (!READ_ONCE(sma->trap_waits))
		return;
	for (i = 0; i < SIB_NUM_TRAPS; i++)
		send_due(sma, &sma->traps[i], now);
	spin_lock_irqsave(&sma->lock, flags);
	for (i = 0; i < SIB_NUM_TRAPS && !sma->traps[i].left; i++)
		;
	WRITE_ONCE(sma->trap_waits, i < SIB_NUM_TRAPS);
	spin_unlock_irqrestore(&sma->lock, flags);
}

/**
 * sib_trap_deadline - when sib_trap_run() has something to do
 * @sma: attributes, not locked
 * @until: latest answer wanted, jiffies
 *
 * While the port is not ACTIVE there is none: a port that becomes ACTIVE runs.
 *
 * Return: jiffies.
 */
unsigned long sib_trap_deadline(struct sib_sma *sma, unsigned long until)
{
	const struct sib_trap *trap;
	unsigned long flags;

	if (!READ_ONCE(sma->trap_waits))
		return until;
	spin_lock_irqsave(&sma->lock, flags);
	for (trap = sma->traps; trap < sma->traps + SIB_NUM_TRAPS; trap++)
		if (trap->left && can_send(sma) && time_before(trap->at, until))
			until = trap->at;
	spin_unlock_irqrestore(&sma->lock, flags);
	return until;
}
