// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * PortInfo (IBA vol. 1, 14.2.5.6) of a one-port CA: from the state to the
 * attribute, and a Set, which is checked as a whole before any of it is done.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "sma.h"
#include "wire.h"

#define WIDTH_SUPPORTED	0x03	/* 1x, 4x */
#define WIDTH_ACTIVE	0x02	/* 4x */
#define SPEED_SUPPORTED	0x07	/* SDR, DDR, QDR */
#define SPEED_ACTIVE	0x04	/* QDR */
#define ALL_SUPPORTED	0xFF
#define VLARB_CAP	8
#define RESP_TIME	18	/* 4.096 us * 2^18, about a second */
#define REREGISTER	0x80

/**
 * sib_portinfo_get - PortInfo as it is
 * @sma: attributes, locked
 * @pi: filled in
 * @hide_mkey: report an M_Key of zero
 */
void sib_portinfo_get(struct sib_sma *sma, struct ib_port_info *pi, bool hide_mkey)
{
	lockdep_assert_held(&sma->lock);
	memset(pi, 0, sizeof(*pi));
	pi->mkey = hide_mkey ? 0 : sma->mkey;
	pi->gid_prefix = sma->gid_prefix;
	pi->lid = cpu_to_be16(sma->lid);
	pi->sm_lid = cpu_to_be16(sma->sm_lid);
	pi->cap_mask = cpu_to_be32(sma->cap_mask);
	pi->mkey_lease_period = cpu_to_be16(sma->mkey_lease);
	pi->local_port_num = 1;
	pi->link_width_enabled = sma->width_enabled;
	pi->link_width_supported = WIDTH_SUPPORTED;
	pi->link_width_active = WIDTH_ACTIVE;
	pi->linkspeed_portstate = SPEED_SUPPORTED << 4 | sma->state;
	pi->portphysstate_linkdown = sma->phys << 4 | SIB_PHYS_POLLING;
	pi->mkeyprot_resv_lmc = sma->mkey_prot << 6 | sma->lmc;
	pi->linkspeedactive_enabled = SPEED_ACTIVE << 4 | sma->speed_enabled;
	pi->neighbormtu_mastersmsl = sma->mtu << 4 | sma->sm_sl;
	pi->vlcap_inittype = SIB_VL_CAP << 4;
	pi->vl_high_limit = sma->vl_high_limit;
	pi->vl_arb_high_cap = VLARB_CAP;
	pi->vl_arb_low_cap = VLARB_CAP;
	pi->inittypereply_mtucap = sma->mtu_cap;
	pi->vlstallcnt_hoqlife = sma->hoq_stall;
	pi->operationalvl_pei_peo_fpi_fpo = sma->op_vls << 4 | sma->enforce;
	pi->mkey_violations = cpu_to_be16(sma->mkey_violations);
	pi->pkey_violations = cpu_to_be16(sma->pkey_violations);
	pi->qkey_violations = cpu_to_be16(sma->qkey_violations);
	pi->guid_cap = SIB_NUM_GUIDS;
	pi->clientrereg_resv_subnetto = sma->subnet_timeout;
	pi->resv_resptimevalue = RESP_TIME;
	pi->localphyerrors_overrunerrors = sma->error_thresholds;
	pi->max_credit_hint = cpu_to_be16(sma->max_credit_hint);
}

static u8 new_state(const struct ib_port_info *pi)
{
	return pi->linkspeed_portstate & 0xF;
}

static u8 new_phys(const struct ib_port_info *pi)
{
	return pi->portphysstate_linkdown >> 4;
}

static u8 new_mtu(const struct ib_port_info *pi)
{
	return pi->neighbormtu_mastersmsl >> 4;
}

static bool lids_ok(const struct ib_port_info *pi)
{
	u32 lid = be16_to_cpu(pi->lid), sm = be16_to_cpu(pi->sm_lid);
	u32 last = lid + BIT(pi->mkeyprot_resv_lmc & 7) - 1;

	return lid && last < SIB_LID_MCAST_FIRST && !(lid & (last - lid)) &&
	       sib_lid_is_ucast(sm);
}

static bool enables_ok(const struct ib_port_info *pi)
{
	u8 speed = pi->linkspeedactive_enabled & 0xF;

	if (pi->link_width_enabled != ALL_SUPPORTED && pi->link_width_enabled & ~WIDTH_SUPPORTED)
		return false;
	/* 1, 3, 5, 7: SDR is never disabled; 0: no change; 15: all supported */
	return !speed || speed == 15 || (speed & 1 && !(speed & ~SPEED_SUPPORTED));
}

/* The state machine of IBA vol. 1, 7.2.7, as far as the SM may drive it */
static bool states_ok(const struct sib_sma *sma, const struct ib_port_info *pi)
{
	u8 phys = new_phys(pi), state = new_state(pi), down = pi->portphysstate_linkdown & 0xF;

	if (phys != SIB_PHYS_NOP && phys != SIB_PHYS_POLLING && phys != SIB_PHYS_DISABLED)
		return false;
	if (down && down != SIB_PHYS_POLLING)
		return false;
	if (phys != SIB_PHYS_NOP && state != IB_PORT_NOP && state != IB_PORT_DOWN)
		return false;
	switch (state) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		return true;
	case IB_PORT_ARMED:
		return sma->state == IB_PORT_INIT || sma->state == IB_PORT_ARMED;
	case IB_PORT_ACTIVE:
		return sma->state == IB_PORT_ARMED || sma->state == IB_PORT_ACTIVE;
	default:
		return false;
	}
}

static bool valid(const struct sib_sma *sma, const struct ib_port_info *pi)
{
	u8 vls = pi->operationalvl_pei_peo_fpi_fpo >> 4;

	if (!lids_ok(pi) || !enables_ok(pi) || !states_ok(sma, pi))
		return false;
	if (new_mtu(pi) < IB_MTU_256 || new_mtu(pi) > sma->mtu_cap)
		return false;
	return vls <= SIB_VL_CAP;
}

static void set_identity(struct sib_sma *sma, const struct ib_port_info *pi, u32 *events)
{
	u16 lid = be16_to_cpu(pi->lid), sm_lid = be16_to_cpu(pi->sm_lid);
	u8 lmc = pi->mkeyprot_resv_lmc & 7, sl = pi->neighbormtu_mastersmsl & 0xF;

	if (lid != sma->lid || lmc != sma->lmc)
		*events |= SIB_EV_LID;
	if (sm_lid != sma->sm_lid || sl != sma->sm_sl)
		*events |= SIB_EV_SM;
	if (pi->gid_prefix != sma->gid_prefix)
		*events |= SIB_EV_GID;
	WRITE_ONCE(sma->lmc, lmc);
	WRITE_ONCE(sma->lid, lid);
	sma->sm_lid = sm_lid;
	sma->sm_sl = sl;
	WRITE_ONCE(sma->gid_prefix, pi->gid_prefix);
}

static void set_enables(struct sib_sma *sma, const struct ib_port_info *pi)
{
	u8 speed = pi->linkspeedactive_enabled & 0xF;

	if (pi->link_width_enabled)
		sma->width_enabled = pi->link_width_enabled & WIDTH_SUPPORTED;
	if (speed)
		sma->speed_enabled = speed & SPEED_SUPPORTED;
}

static void set_limits(struct sib_sma *sma, const struct ib_port_info *pi)
{
	u8 vls = pi->operationalvl_pei_peo_fpi_fpo >> 4;

	WRITE_ONCE(sma->mtu, new_mtu(pi));
	sma->vl_high_limit = pi->vl_high_limit;
	sma->hoq_stall = pi->vlstallcnt_hoqlife;
	sma->enforce = pi->operationalvl_pei_peo_fpi_fpo & 0xF;
	if (vls)
		WRITE_ONCE(sma->op_vls, vls);
	sma->error_thresholds = pi->localphyerrors_overrunerrors;
	sma->subnet_timeout = pi->clientrereg_resv_subnetto & 0x1F;
	sma->max_credit_hint = be16_to_cpu(pi->max_credit_hint);
	if (!pi->mkey_violations)
		sma->mkey_violations = 0;
	if (!pi->pkey_violations)
		sma->pkey_violations = 0;
	if (!pi->qkey_violations)
		sma->qkey_violations = 0;
}

static void set_state(struct sib_sma *sma, const struct ib_port_info *pi, u32 *events,
		      enum sib_phys_state *phys)
{
	u8 state = new_state(pi);

	*phys = new_phys(pi);
	if (state == IB_PORT_DOWN && *phys == SIB_PHYS_NOP)
		*phys = SIB_PHYS_POLLING;
	if (*phys != SIB_PHYS_NOP)
		return;		/* the link layer takes the state down */
	if (state == IB_PORT_ACTIVE && sma->state != IB_PORT_ACTIVE)
		*events |= SIB_EV_ACTIVE;
	if (state != IB_PORT_NOP)
		WRITE_ONCE(sma->state, state);
}

/**
 * sib_portinfo_set - SubnSet(PortInfo)
 * @sma: attributes, locked
 * @pi: what the SM wants
 * @events: SIB_EV_* to dispatch are added
 * @phys: set to what is to be done to the link, SIB_PHYS_NOP if nothing
 *
 * Return: false if a field is not valid; then nothing has changed.
 */
bool sib_portinfo_set(struct sib_sma *sma, const struct ib_port_info *pi, u32 *events,
		      enum sib_phys_state *phys)
{
	lockdep_assert_held(&sma->lock);
	*phys = SIB_PHYS_NOP;
	if (!valid(sma, pi))
		return false;
	sma->mkey = pi->mkey;
	sma->mkey_prot = pi->mkeyprot_resv_lmc >> 6;
	sma->mkey_lease = be16_to_cpu(pi->mkey_lease_period);
	set_identity(sma, pi, events);
	set_enables(sma, pi);
	set_limits(sma, pi);
	set_state(sma, pi, events, phys);
	if (pi->clientrereg_resv_subnetto & REREGISTER)
		*events |= SIB_EV_REREG;
	return true;
}
