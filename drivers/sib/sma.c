// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * SubnGet and SubnSet: M_Key check and the attributes (IBA vol. 1, 14.2).
 * Responses are built from a copy of the request, so that what a method does
 * not touch comes back as it was.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "sma.h"

#define STATUS_BAD_VERSION	cpu_to_be16(0x0004)
#define STATUS_BAD_METHOD	cpu_to_be16(0x0008)
#define STATUS_BAD_ATTR		cpu_to_be16(0x000C)
#define STATUS_BAD_FIELD	cpu_to_be16(0x001C)
#define REREGISTER		0x80

/**
 * struct effects - what is left to do when sma->lock has been dropped
 * @events: SIB_EV_*
 * @phys: for sib_sma_ops.phys, SIB_PHYS_NOP for none
 */
struct effects {
	u32 events;
	enum sib_phys_state phys;
};

static __be16 node_info(struct sib_sma *sma, struct ib_smp *smp)
{
	struct ib_node_info *ni = (struct ib_node_info *)smp->data;

	memset(smp->data, 0, sizeof(smp->data));
	ni->base_version = IB_MGMT_BASE_VERSION;
	ni->class_version = 1;
	ni->node_type = RDMA_NODE_IB_CA;
	ni->num_ports = 1;
	ni->sys_guid = sma->node_guid;
	ni->node_guid = sma->node_guid;
	ni->port_guid = sma->node_guid;
	ni->partition_cap = cpu_to_be16(sma->num_pkeys);
	ni->device_id = cpu_to_be16(SIB_DEVICE_ID);
	ni->revision = cpu_to_be32(1);
	ni->local_port_num = 1;
	put_unaligned_be24(SIB_VENDOR_ID, ni->vendor_id);
	return 0;
}

static __be16 node_desc(struct sib_sma *sma, struct ib_smp *smp)
{
	memcpy(smp->data, sma->node_desc, SIB_NODE_DESC_LEN);
	return 0;
}

static __be16 port_info(struct sib_sma *sma, struct ib_smp *smp, bool set, bool hide_mkey,
			struct effects *fx)
{
	struct ib_port_info *pi = (struct ib_port_info *)smp->data;
	u8 rereg = pi->clientrereg_resv_subnetto & REREGISTER;

	if (be32_to_cpu(smp->attr_mod) > 1)
		return STATUS_BAD_FIELD;
	if (set && !sib_portinfo_set(sma, pi, &fx->events, &fx->phys))
		return STATUS_BAD_FIELD;
	sib_portinfo_get(sma, pi, hide_mkey);
	if (set)
		pi->clientrereg_resv_subnetto |= rereg;
	return 0;
}

static __be16 guid_info(struct sib_sma *sma, struct ib_smp *smp, bool set, struct effects *fx)
{
	__be64 guids[SIB_NUM_GUIDS];

	if (smp->attr_mod)		/* there is one block of eight */
		return STATUS_BAD_FIELD;
	if (set) {
		memcpy(guids, smp->data, sizeof(guids));
		guids[0] = sma->node_guid;	/* read only */
		if (memcmp(guids, sma->guids, sizeof(guids)))
			fx->events |= SIB_EV_GID;
		memcpy(sma->guids, guids, sizeof(guids));
	}
	memcpy(smp->data, sma->guids, sizeof(guids));
	return 0;
}

static __be16 pkey_table(struct sib_sma *sma, struct ib_smp *smp, bool set, struct effects *fx)
{
	/* the upper half of the modifier is a switch port */
	u16 block = be32_to_cpu(smp->attr_mod) & 0xFFFF;
	__be16 *table = (__be16 *)smp->data;
	u16 *pkeys;
	int i;

	if (block >= DIV_ROUND_UP(sma->num_pkeys, SIB_PKEY_BLOCK))
		return STATUS_BAD_FIELD;
	pkeys = &sma->pkeys[block * SIB_PKEY_BLOCK];
	for (i = 0; i < SIB_PKEY_BLOCK; i++) {
		if (set && &pkeys[i] < &sma->pkeys[sma->num_pkeys] &&
		    pkeys[i] != be16_to_cpu(table[i])) {
			WRITE_ONCE(pkeys[i], be16_to_cpu(table[i]));
			fx->events |= SIB_EV_PKEY;
		}
		table[i] = cpu_to_be16(pkeys[i]);
	}
	return 0;
}

static __be16 sl2vl(struct sib_sma *sma, struct ib_smp *smp, bool set)
{
	int i;

	if (set)
		for (i = 0; i < 16; i++)
			WRITE_ONCE(sma->sl2vl[i],
				   i & 1 ? smp->data[i / 2] & 0xF : smp->data[i / 2] >> 4);
	memset(smp->data, 0, sizeof(smp->data));
	for (i = 0; i < 16; i++)
		smp->data[i / 2] |= i & 1 ? sma->sl2vl[i] : sma->sl2vl[i] << 4;
	return 0;
}

static __be16 vlarb(struct sib_sma *sma, struct ib_smp *smp, bool set)
{
	u32 half = be32_to_cpu(smp->attr_mod) >> 16;

	if (half < 1 || half > ARRAY_SIZE(sma->vlarb))
		return STATUS_BAD_FIELD;
	if (set)
		memcpy(sma->vlarb[half - 1], smp->data, sizeof(sma->vlarb[0]));
	memcpy(smp->data, sma->vlarb[half - 1], sizeof(sma->vlarb[0]));
	return 0;
}

static __be16 attribute(struct sib_sma *sma, struct ib_smp *smp, bool set, bool hide_mkey,
			struct effects *fx)
{
	switch (smp->attr_id) {
	case IB_SMP_ATTR_NODE_INFO:
		return set ? STATUS_BAD_ATTR : node_info(sma, smp);
	case IB_SMP_ATTR_NODE_DESC:
		return set ? STATUS_BAD_ATTR : node_desc(sma, smp);
	case IB_SMP_ATTR_PORT_INFO:
		return port_info(sma, smp, set, hide_mkey, fx);
	case IB_SMP_ATTR_GUID_INFO:
		return guid_info(sma, smp, set, fx);
	case IB_SMP_ATTR_PKEY_TABLE:
		return pkey_table(sma, smp, set, fx);
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
		return sl2vl(sma, smp, set);
	case IB_SMP_ATTR_VL_ARB_TABLE:
		return vlarb(sma, smp, set);
	default:
		return STATUS_BAD_ATTR;
	}
}

/*
 * M_Key check, IBA vol. 1, 14.2.4.1. Returns false if the MAD must be dropped;
 * *hide is set if it may see PortInfo without the M_Key.
 */
static bool mkey_ok(struct sib_sma *sma, const struct ib_smp *smp, bool *hide, unsigned long now)
{
	bool match = !sma->mkey || smp->mkey == sma->mkey;

	lockdep_assert_held(&sma->lock);
	*hide = !match && sma->mkey_prot == 1;
	if (match) {
		sma->lease_armed = false;
		return true;
	}
	if (smp->method == IB_MGMT_METHOD_GET && sma->mkey_prot < 2)
		return true;
	if (sma->mkey_violations != U16_MAX)
		sma->mkey_violations++;
	sib_sma_lease_start(sma, now);
	return false;
}

static int respond(struct sib_sma *sma, struct ib_smp *out, bool hide_mkey)
{
	bool set = out->method == IB_MGMT_METHOD_SET;
	struct effects fx = { 0, SIB_PHYS_NOP };
	__be16 status = STATUS_BAD_VERSION;
	unsigned long flags;

	if (out->base_version == IB_MGMT_BASE_VERSION && out->class_version == 1) {
		spin_lock_irqsave(&sma->lock, flags);
		status = attribute(sma, out, set, hide_mkey, &fx);
		spin_unlock_irqrestore(&sma->lock, flags);
	}
	if (fx.phys != SIB_PHYS_NOP)
		sma->ops->phys(sma, fx.phys);
	sib_sma_dispatch(sma, fx.events);
	out->method = IB_MGMT_METHOD_GET_RESP;
	out->status = status;
	if (out->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		out->status |= IB_SMP_DIRECTION;
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

/* SMInfo is for the SM, if there is one on this port. */
static int sm_info(struct sib_sma *sma, struct ib_smp *out)
{
	u32 caps = READ_ONCE(sma->cap_mask);

	if (caps & IB_PORT_SM_DISABLED)
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	if (caps & IB_PORT_SM)
		return IB_MAD_RESULT_SUCCESS;
	return respond(sma, out, false);
}

/**
 * sib_sma_process - answer a subnet management packet
 * @sma: attributes
 * @check_mkey: apply the M_Key check
 * @slid: source LID, for trap 256
 * @in: request; directed route handling has been done by ib_mad
 * @out: response
 * @now: jiffies
 *
 * Context: process; may dispatch events. Return: IB_MAD_RESULT_*.
 */
int sib_sma_process(struct sib_sma *sma, bool check_mkey, u16 slid, const struct ib_smp *in,
		    struct ib_smp *out, unsigned long now)
{
	bool hide = false, ok = true;
	unsigned long flags;

	if (in->method != IB_MGMT_METHOD_GET && in->method != IB_MGMT_METHOD_SET &&
	    in->method != IB_MGMT_METHOD_TRAP_REPRESS)
		return IB_MAD_RESULT_SUCCESS;
	spin_lock_irqsave(&sma->lock, flags);
	sib_sma_lease_check(sma, now);
	if (check_mkey && in->attr_id != IB_SMP_ATTR_SM_INFO)
		ok = mkey_ok(sma, in, &hide, now);
	spin_unlock_irqrestore(&sma->lock, flags);
	if (!ok) {
		sib_trap_bad_mkey(sma, in, slid, now);
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	}
	if (in->method == IB_MGMT_METHOD_TRAP_REPRESS) {
		sib_trap_repress(sma, in);
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	}
	*out = *in;
	if (in->attr_id == IB_SMP_ATTR_SM_INFO)
		return sm_info(sma, out);
	return respond(sma, out, hide);
}

/**
 * sib_sma_init - attributes as after power-on
 * @sma: zeroed memory
 * @ops: services of the owner
 * @guid: node, port and system image GUID
 */
void sib_sma_init(struct sib_sma *sma, const struct sib_sma_ops *ops, __be64 guid)
{
	spin_lock_init(&sma->lock);
	sma->ops = ops;
	sma->node_guid = guid;
	sma->guids[0] = guid;
	sma->num_pkeys = SIB_NUM_PKEYS;
	sma->pkeys[0] = IB_DEFAULT_PKEY_FULL;
	sma->gid_prefix = cpu_to_be64(0xFE80ULL << 48);
	sma->cap_mask = IB_PORT_TRAP_SUP | IB_PORT_SL_MAP_SUP | IB_PORT_SYS_IMAGE_GUID_SUP |
			IB_PORT_CLIENT_REG_SUP | IB_PORT_CAP_MASK_NOTICE_SUP |
			IB_PORT_OTHER_LOCAL_CHANGES_SUP;
	sma->state = IB_PORT_DOWN;
	sma->phys = SIB_PHYS_POLLING;
	sma->width_enabled = 0x3;
	sma->speed_enabled = 0x7;
	sma->mtu = IB_MTU_256;
	sma->mtu_cap = IB_MTU_256;
	sma->op_vls = SIB_VL_CAP;
}
