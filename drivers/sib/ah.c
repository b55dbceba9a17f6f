// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Address handles. What a packet needs of one is worked out when it is made
 * and copied into each work request, so that a handle may go as soon as the
 * request is posted.
 */
#include "sib.h"

/**
 * sib_av_fill - work out what packets need of an address
 * @av: filled in; unchanged on errors
 * @attr: the address
 *
 * Context: any. Return: 0 or -EINVAL.
 */
int sib_av_fill(struct sib_av *av, const struct rdma_ah_attr *attr)
{
	u32 dlid = rdma_ah_get_dlid(attr);
	const struct ib_global_route *grh;
	struct sib_av new = {
		.dlid = dlid,
		.sl = rdma_ah_get_sl(attr) & 0xF,
		.path_bits = rdma_ah_get_path_bits(attr),
	};

	/* Omni-Path's have more bits, of which the link has 16 */
	if (attr->type != RDMA_AH_ATTR_TYPE_IB && attr->type != RDMA_AH_ATTR_TYPE_OPA)
		return -EINVAL;
	if (!dlid || dlid > U16_MAX)
		return -EINVAL;
	if (rdma_ah_get_ah_flags(attr) & IB_AH_GRH) {
		grh = rdma_ah_read_grh(attr);
		if (grh->sgid_index >= SIB_NUM_GUIDS)
			return -EINVAL;
		new.grh = true;
		new.sgid_index = grh->sgid_index;
		new.ghdr.version_tclass_flow = cpu_to_be32(6 << 28 | grh->traffic_class << 20 |
							   (grh->flow_label & 0xFFFFF));
		new.ghdr.hop_limit = grh->hop_limit;
		new.ghdr.dgid = grh->dgid;
	}
	*av = new;
	return 0;
}

/**
 * sib_create_ah - ib_device_ops.create_ah
 * @ibah: zeroed handle
 * @init: its attributes
 * @udata: NULL for kernel consumers
 *
 * Context: any, see RDMA_CREATE_AH_SLEEPABLE. Return: 0, -EINVAL, or -ENOMEM if
 * there are too many.
 */
int sib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct sib_ah *ah = to_sah(ibah);
	int err = sib_av_fill(&ah->av, init->ah_attr);

	ah->share = sib_share_of(udata);
	if (!err)
		err = sib_limit_take(&to_sib(ibah->device)->limit, ah->share, SIB_KIND_AH);
	if (!err)
		rdma_copy_ah_attr(&ah->attr, init->ah_attr);
	return err;
}

/**
 * sib_modify_ah - ib_device_ops.modify_ah
 * @ibah: the handle, not used by a post_send at the same time
 * @attr: its new attributes
 *
 * Return: 0, or -EINVAL with the handle unchanged.
 */
int sib_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct sib_ah *ah = to_sah(ibah);
	int err = sib_av_fill(&ah->av, attr);

	if (!err)
		rdma_replace_ah_attr(&ah->attr, attr);
	return err;
}

/**
 * sib_query_ah - ib_device_ops.query_ah
 * @ibah: the handle
 * @attr: filled in; the caller holds no reference on its SGID
 *
 * Return: 0.
 */
int sib_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_sah(ibah)->attr;
	return 0;
}

/**
 * sib_destroy_ah - ib_device_ops.destroy_ah
 * @ibah: the handle
 * @flags: RDMA_DESTROY_AH_SLEEPABLE or not
 *
 * Return: 0.
 */
int sib_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct sib_ah *ah = to_sah(ibah);

	rdma_destroy_ah_attr(&ah->attr);
	sib_limit_give(&to_sib(ibah->device)->limit, ah->share, SIB_KIND_AH);
	return 0;
}
