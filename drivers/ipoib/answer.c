// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the SA answers, looked at before anything is done with it: an SA, or whatever answers in
 * its place, may be wrong, and an HCA that is given a LID that no port has, or a rate that there
 * is not, does with it what it likes.
 *
 * An answer that cannot be used is counted, and said with the first field that is wrong. It tells
 * nothing of what was asked for: what is known stays in use, and the SA is asked again as if it
 * had been silent. Whatever can be used is: of a field that nothing here depends on, no value is
 * wrong, and a rate that there is not, or not yet, is that of the port. That is counted, too, as
 * are GIDs in another form than was asked for.
 */
#include <rdma/opa_addr.h>

#include "answer.h"

/* IBA 15.2.5.16: 2.5 Gb/s to 1600 Gb/s, whether or not this kernel has a name for it. */
#define RATE_FIRST	IB_RATE_2_5_GBPS
#define RATE_LAST	25

/* IBA 4.1.1 */
#define LID_MCAST_FIRST	be16_to_cpu(IB_MULTICAST_LID_BASE)
#define LID_PERMISSIVE	be16_to_cpu(IB_LID_PERMISSIVE)

/**
 * struct wrong - the field that is wrong
 * @name: as IBA has it, or NULL if none is
 * @value: what it says
 */
struct wrong {
	const char *name;
	u32 value;
};

/*
 * Those of Omni-Path have more bits, and groups elsewhere (RDMA_CORE_CAP_OPA_AH). If they have more
 * than fit here, the LID is 0, and the one to send to is in the GID.
 */
static bool lid_is_of_port(const struct ipoib_intf *intf, u32 lid)
{
	return (lid && lid < LID_MCAST_FIRST) || rdma_cap_opa_ah(intf->ca, intf->port);
}

static bool lid_is_of_group(const struct ipoib_intf *intf, u16 lid)
{
	return lid && ((lid >= LID_MCAST_FIRST && lid < LID_PERMISSIVE) ||
		       rdma_cap_opa_ah(intf->ca, intf->port));
}

static bool mtu_exists(const struct ipoib_intf *intf, u8 mtu)
{
	return rdma_mtu_enum_to_int(intf->ca, intf->port, mtu) > 0;
}

static bool rate_exists(u8 rate)
{
	return rate >= RATE_FIRST && rate <= RATE_LAST;
}

/* A port has a GID with each prefix of its subnet, and one more in which is its LID (Omni-Path). */
static bool gid_is_of_port(const struct ipoib_intf *intf, const union ib_gid *got,
			   const union ib_gid *gid)
{
	return got->global.interface_id == gid->global.interface_id ||
	       (rdma_cap_opa_ah(intf->ca, intf->port) && ib_is_opa_gid(got));
}

static struct wrong check_path(const struct ipoib_intf *intf, struct sa_path_rec *rec)
{
	u32 dlid = be32_to_cpu(sa_path_get_dlid(rec));

	if (!lid_is_of_port(intf, dlid))
		return (struct wrong) { "DLID", dlid };
	if (!mtu_exists(intf, rec->mtu))
		return (struct wrong) { "MTU", rec->mtu };
	return (struct wrong) {};
}

/*
 * The MTU is that of the broadcast group, for all others (RFC 4391 section 6). So is the Q_Key, of
 * which no value is wrong: 0 is what a fabric manager of Omni-Path says unless told otherwise.
 */
static struct wrong check_member(const struct ipoib_intf *intf, bool broadcast,
				 const struct ib_sa_mcmember_rec *rec)
{
	u16 mlid = be16_to_cpu(rec->mlid);

	if (!lid_is_of_group(intf, mlid))
		return (struct wrong) { "MLID", mlid };
	if (broadcast && !mtu_exists(intf, rec->mtu))
		return (struct wrong) { "MTU", rec->mtu };
	return (struct wrong) {};
}

/* @got: of which GID the record is, if that is another one, or NULL */
static int answer_check(struct ipoib_intf *intf, const char *what, const union ib_gid *gid,
			const union ib_gid *got, struct wrong wrong, u64 *count)
{
	if (likely(!got && !wrong.name))
		return 0;
	ipoib_count(count, 1);
	if (!net_ratelimit())
		return IPOIB_ANSWER_WRONG;
	if (got)
		netdev_warn(intf->dev, "the SA is wrong: asked for the %s of %pI6 it tells that of %pI6\n",
			    what, gid->raw, got->raw);
	else
		netdev_warn(intf->dev, "the SA is wrong: in the %s of %pI6 it says %s 0x%x\n",
			    what, gid->raw, wrong.name, wrong.value);
	return IPOIB_ANSWER_WRONG;
}

/**
 * ipoib_answer_rate - rate that an HCA can be given
 * @rate: in a record of the SA
 *
 * Return: the rate, or that of the port, if there is no such rate.
 */
u8 ipoib_answer_rate(u8 rate)
{
	return rate_exists(rate) ? rate : IB_RATE_PORT_CURRENT;
}

/**
 * ipoib_answer_path - may a path record be used
 * @intf: interface
 * @gid: port that was asked for
 * @rec: the answer; with a rate that there is afterwards
 *
 * Context: control.
 * Return: 0 or IPOIB_ANSWER_WRONG.
 */
int ipoib_answer_path(struct ipoib_intf *intf, const union ib_gid *gid, struct sa_path_rec *rec)
{
	bool is_of_port = gid_is_of_port(intf, &rec->dgid, gid);
	int err = answer_check(intf, "path record", gid, is_of_port ? NULL : &rec->dgid,
			       check_path(intf, rec), &intf->stat_paths_wrong);

	if (err)
		return err;
	if (memcmp(&rec->dgid, gid, sizeof(*gid)) || !rate_exists(rec->rate))
		ipoib_count(&intf->stat_paths_odd, 1);
	rec->rate = ipoib_answer_rate(rec->rate);
	return 0;
}

/**
 * ipoib_answer_member - may the record of a membership be used
 * @intf: interface
 * @mgid: group that was asked for
 * @broadcast: it is the broadcast group
 * @rec: the answer; its rate is for ipoib_answer_rate()
 *
 * Context: control.
 * Return: 0 or IPOIB_ANSWER_WRONG.
 */
int ipoib_answer_member(struct ipoib_intf *intf, const union ib_gid *mgid, bool broadcast,
			const struct ib_sa_mcmember_rec *rec)
{
	bool other = memcmp(&rec->mgid, mgid, sizeof(*mgid));
	int err = answer_check(intf, "membership", mgid, other ? &rec->mgid : NULL,
			       check_member(intf, broadcast, rec), &intf->stat_joins_wrong);

	if (!err && !rate_exists(rec->rate))
		ipoib_count(&intf->stat_joins_odd, 1);
	return err;
}
