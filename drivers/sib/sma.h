/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Subnet management agent of a one-port channel adapter (IBA vol. 1, ch. 14):
 * the attributes and what SubnGet/SubnSet do to them. Independent of
 * ib_device; what a change means to others goes through &struct sib_sma_ops.
 */
#ifndef SIB_SMA_H
#define SIB_SMA_H

#include <linux/spinlock.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

/* An OUI from the range that is administered locally: no company's */
#define SIB_VENDOR_ID	0x025342
#define SIB_DEVICE_ID	0x51B0
#define SIB_NUM_PKEYS	128
#define SIB_PKEY_BLOCK	32	/* entries in an SMP, IBA 14.2.5.7 */
#define SIB_NUM_GUIDS	8
#define SIB_NODE_DESC_LEN	64
#define SIB_VL_CAP	4	/* PortInfo:VLCap, VL0 to VL7 */

/* PortInfo:PortPhysicalState */
enum sib_phys_state {
	SIB_PHYS_NOP = 0,
	SIB_PHYS_SLEEP = 1,
	SIB_PHYS_POLLING = 2,
	SIB_PHYS_DISABLED = 3,
	SIB_PHYS_TRAINING = 4,
	SIB_PHYS_LINK_UP = 5,
};

struct sib_sma;

/**
 * struct sib_sma_ops - how the agent acts on its surroundings
 * @event: dispatch an asynchronous event; called without sma->lock
 * @phys: bring the link down and train again (@phys SIB_PHYS_POLLING) or keep
 *	it down (SIB_PHYS_DISABLED); called without sma->lock
 * @send: send a LID-routed SMP (a trap) from QP0; called without sma->lock.
 *	Returns 0 or a negative errno
 */
struct sib_sma_ops {
	void (*event)(struct sib_sma *sma, enum ib_event_type event);
	void (*phys)(struct sib_sma *sma, enum sib_phys_state phys);
	int (*send)(struct sib_sma *sma, u16 dlid, u8 sl, const struct ib_smp *smp);
};

#define SIB_NUM_TRAPS	4

/**
 * struct sib_trap - a notice that is repeated until the SM represses it
 * @smp: the trap as it is sent
 * @left: times still to be sent, 0 if the slot is free
 * @at: jiffies of the next sending
 */
struct sib_trap {
	struct ib_smp smp;
	unsigned int left;
	unsigned long at;
};

/**
 * struct sib_sma - attributes of node and port
 * @lock: guards all below but @ops, which is constant; taken irqsave in any
 *	context. The single words read without it are read with READ_ONCE.
 * @ops: see &struct sib_sma_ops
 * @node_guid: node, port and system image GUID
 * @node_desc: NodeDescription, not always terminated
 * @guids: GUIDInfo block 0; entry 0 is @node_guid
 * @num_pkeys: entries of @pkeys that there are; constant
 * @pkeys: P_Key table
 * @sl2vl: VL of each SL
 * @vlarb: low and high priority arbitration tables, two halves each
 * @mkey: PortInfo:M_Key
 * @gid_prefix: PortInfo:GidPrefix
 * @cap_mask: PortInfo:CapabilityMask
 * @lid: PortInfo:LID
 * @lmc: PortInfo:LMC
 * @sm_lid: PortInfo:MasterSMLID
 * @sm_sl: PortInfo:MasterSMSL
 * @mkey_lease: PortInfo:M_KeyLeasePeriod, seconds
 * @mkey_prot: PortInfo:M_KeyProtectBits
 * @lease_armed: the lease runs out at @lease_at (jiffies)
 * @lease_at: see @lease_armed
 * @state: PortInfo:PortState
 * @phys: PortInfo:PortPhysicalState
 * @width_enabled: PortInfo:LinkWidthEnabled
 * @speed_enabled: PortInfo:LinkSpeedEnabled
 * @mtu: PortInfo:NeighborMTU
 * @mtu_cap: PortInfo:MTUCap
 * @op_vls: PortInfo:OperationalVLs
 * @vl_high_limit: PortInfo:VLHighLimit
 * @hoq_stall: PortInfo:VLStallCount and HOQLife, kept as they came
 * @enforce: PortInfo partition and filter bits, kept as they came
 * @error_thresholds: PortInfo:LocalPhyErrors and OverrunErrors
 * @subnet_timeout: PortInfo:SubnetTimeOut
 * @max_credit_hint: PortInfo:MaxCreditHint
 * @mkey_violations: saturating count
 * @pkey_violations: saturating count
 * @qkey_violations: saturating count
 * @traps: notices not yet repressed
 * @trap_waits: one of them may have to be sent
 * @trap_tid: transaction number of the last trap
 */
struct sib_sma {
	spinlock_t lock;	/* see above */
	const struct sib_sma_ops *ops;
	__be64 node_guid;
	u8 node_desc[SIB_NODE_DESC_LEN];
	__be64 guids[SIB_NUM_GUIDS];
	u16 num_pkeys;
	u16 pkeys[SIB_NUM_PKEYS];
	u8 sl2vl[16];
	u8 vlarb[4][64];
	__be64 mkey;
	__be64 gid_prefix;
	u32 cap_mask;
	u16 lid;
	u8 lmc;
	u16 sm_lid;
	u8 sm_sl;
	u16 mkey_lease;
	u8 mkey_prot;
	bool lease_armed;
	unsigned long lease_at;
	u8 state;
	u8 phys;
	u8 width_enabled;
	u8 speed_enabled;
	u8 mtu;
	u8 mtu_cap;
	u8 op_vls;
	u8 vl_high_limit;
	u8 hoq_stall;
	u8 enforce;
	u8 error_thresholds;
	u8 subnet_timeout;
	u16 max_credit_hint;
	u16 mkey_violations;
	u16 pkey_violations;
	u16 qkey_violations;
	struct sib_trap traps[SIB_NUM_TRAPS];
	bool trap_waits;
	u64 trap_tid;
};

/* sma.c */
void sib_sma_init(struct sib_sma *sma, const struct sib_sma_ops *ops, __be64 guid);
int sib_sma_process(struct sib_sma *sma, bool check_mkey, u16 slid, const struct ib_smp *in,
		    struct ib_smp *out, unsigned long now);

/* sma_state.c: port state from the other side, and what the data path asks */
void sib_sma_link_up(struct sib_sma *sma);
void sib_sma_link_down(struct sib_sma *sma, enum sib_phys_state phys);
int sib_sma_swap_pkeys(struct sib_sma *sma, u64 index);
void sib_sma_set_gid_prefix(struct sib_sma *sma, __be64 prefix);
void sib_sma_set_mtu_cap(struct sib_sma *sma, u8 mtu_cap);
void sib_sma_set_node_desc(struct sib_sma *sma, const char *desc, unsigned long now);
void sib_sma_set_caps(struct sib_sma *sma, u32 set, u32 clear, unsigned long now);
void sib_sma_lease_start(struct sib_sma *sma, unsigned long now);
void sib_sma_lease_check(struct sib_sma *sma, unsigned long now);
int sib_sma_pkey_find(struct sib_sma *sma, u16 pkey, int index);
void sib_sma_violation(struct sib_sma *sma, bool qkey, u32 key, u8 sl, u32 qp1, u32 qp2,
		       u16 lid1, u16 lid2, unsigned long now);

/* Whether OperationalVLs has this data lane */
static inline bool sib_sma_has_lane(const struct sib_sma *sma, u8 vl)
{
	return vl < BIT(READ_ONCE(sma->op_vls) - 1);
}

/* portinfo.c */
void sib_portinfo_get(struct sib_sma *sma, struct ib_port_info *pi, bool hide_mkey);
bool sib_portinfo_set(struct sib_sma *sma, const struct ib_port_info *pi, u32 *events,
		      enum sib_phys_state *phys);

/* Bits of the events sib_portinfo_set() reports, in order of dispatch */
#define SIB_EV_LID		BIT(0)
#define SIB_EV_SM		BIT(1)
#define SIB_EV_GID		BIT(2)
#define SIB_EV_PKEY		BIT(3)
#define SIB_EV_ERR		BIT(4)
#define SIB_EV_ACTIVE		BIT(5)
#define SIB_EV_REREG		BIT(6)

void sib_sma_dispatch(struct sib_sma *sma, u32 events);

/* trap.c */
void sib_trap_bad_mkey(struct sib_sma *sma, const struct ib_smp *bad, u16 slid,
		       unsigned long now);
void sib_trap_bad_key(struct sib_sma *sma, bool qkey, u32 key, u8 sl, u32 qp1, u32 qp2,
		      u16 lid1, u16 lid2, unsigned long now);
void sib_trap_local_change(struct sib_sma *sma, u16 changes, unsigned long now);
void sib_trap_repress(struct sib_sma *sma, const struct ib_smp *smp);
void sib_trap_run(struct sib_sma *sma, unsigned long now);
unsigned long sib_trap_deadline(struct sib_sma *sma, unsigned long until);

#endif /* SIB_SMA_H */
