// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * HCAs to be like: see profile.h. The numbers are those of the kernel's drivers and of their
 * firmware, where sib can have as much; docs/sib-profiles.md says where they come from.
 */
#include <linux/align.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/string.h>

#include "sib.h"

#define NUM_PROFILES	ARRAY_SIZE(profiles)

static const struct sib_profile profiles[] = {
	{
		.name = "sib",
		.source = "",
		.max_qp_wr = SIB_MAX_WR,
		.max_cqe = SIB_MAX_CQE,
		.max_srq = 65536,
		.max_srq_wr = SIB_MAX_WR,
		.max_mcast = 8192,
		.max_mcast_qp = 256,
		.max_send_sge = SIB_MAX_SGE,
		.max_recv_sge = SIB_MAX_SGE,
		.max_srq_sge = SIB_MAX_SGE,
		.pkeys = 128,
		.mtu_cap = IB_MTU_4096,
		.vectors = 1,
		.ack_min_ms = 20,
		.handler = SIB_HANDLER_SOFTIRQ,
		.csum = true,
		.lso = true,
	}, {
		.name = "mlx4",
		.source = "drivers/infiniband/hw/mlx4",
		.max_qp_wr = 16351,
		.max_cqe = SIB_MAX_CQE - 1,
		.max_srq = 65472,
		.max_srq_wr = 16383,
		.max_mcast = 8192,
		.max_mcast_qp = 248,
		.max_send_sge = 32,
		.max_recv_sge = 32,
		.max_srq_sge = 31,
		.pkeys = 128,
		.mtu_cap = IB_MTU_4096,
		.vectors = 4,
		.ack_min_ms = 500,
		.handler = SIB_HANDLER_HARDIRQ,
		.csum = true,
		.lso = true,
		.block_own = true,
		.cqe_pow2 = true,
		.silent = true,
	}, {
		.name = "mlx5",
		.source = "drivers/infiniband/hw/mlx5",
		.max_qp_wr = SIB_MAX_WR,
		.max_cqe = SIB_MAX_CQE - 1,
		.max_srq = 65536,
		.max_srq_wr = SIB_MAX_WR,
		.max_mcast = 8192,
		.max_mcast_qp = 240,
		.sq_blocks = 32768,
		.max_send_sge = 30,
		.max_recv_sge = 32,
		.max_srq_sge = 31,
		.pkeys = 128,
		.mtu_cap = IB_MTU_4096,
		.vectors = 8,
		.ack_min_ms = 30,
		.handler = SIB_HANDLER_HARDIRQ,
		.csum = true,
		.lso = true,
		.block_own = true,
		.cqe_pow2 = true,
		.silent = true,
	}, {
		.name = "mlx5-enhanced",
		.source = "drivers/net/ethernet/mellanox/mlx5/core/ipoib",
		.max_qp_wr = SIB_MAX_WR,
		.max_cqe = SIB_MAX_CQE - 1,
		.max_srq = 65536,
		.max_srq_wr = SIB_MAX_WR,
		.max_mcast = 8192,
		.max_mcast_qp = 240,
		.sq_blocks = 32768,
		.max_send_sge = 30,
		.max_recv_sge = 32,
		.max_srq_sge = 31,
		.pkeys = 128,
		.mtu_cap = IB_MTU_4096,
		.vectors = 8,
		.ack_min_ms = 30,
		.handler = SIB_HANDLER_HARDIRQ,
		.csum = true,
		.lso = true,
		.block_own = true,
		.netdev = 8,
		.cqe_pow2 = true,
		.silent = true,
	}, {
		.name = "rdmavt",
		.source = "drivers/infiniband/sw/rdmavt",
		.max_qp_wr = 16383,
		.max_cqe = 0x2FFFF,
		.max_srq = 1024,
		.max_srq_wr = SIB_MAX_WR,
		.max_mcast = 16384,
		.max_mcast_qp = 16,
		.max_send_sge = SIB_MAX_SGE,
		.max_recv_sge = SIB_MAX_SGE,
		.max_srq_sge = SIB_MAX_SGE,
		.pkeys = 128,
		.mtu_cap = IB_MTU_4096,
		.vectors = 1,
		.ack_min_ms = 20,
		.handler = SIB_HANDLER_WORKER,
		.strict_groups = true,
		.keep = true,
	}, {
		.name = "omnipath",
		.source = "drivers/infiniband/hw/hfi1",
		.max_qp_wr = 16383,
		.max_cqe = SIB_MAX_CQE,
		.max_srq = 1024,
		.max_srq_wr = SIB_MAX_WR,
		.max_mcast = 16384,
		.max_mcast_qp = 16,
		.max_send_sge = SIB_MAX_SGE,
		.max_recv_sge = SIB_MAX_SGE,
		.max_srq_sge = SIB_MAX_SGE,
		.pkeys = 16,
		.mtu_cap = IB_MTU_4096,
		.phys_mtu = 10240,
		.vectors = 8,
		.ack_min_ms = 20,
		.handler = SIB_HANDLER_WORKER,
		.strict_groups = true,
		.opa = true,
		.keep = true,
	}, {
		.name = "mthca",
		.source = "drivers/infiniband/hw/mthca",
		.max_qp_wr = SIB_MAX_WR,
		.max_cqe = 131071,
		.max_mcast = 8192,
		.max_mcast_qp = 56,
		.max_send_sge = 30,
		.max_recv_sge = 30,
		.pkeys = 64,
		.mtu_cap = IB_MTU_2048,
		.vectors = 1,
		.ack_min_ms = 20,
		.handler = SIB_HANDLER_HARDIRQ,
		.csum = true,
		.cqe_pow2 = true,
		.silent = true,
	}, {
		/* All that consumers find hard, at once */
		.name = "hostile",
		.source = "",
		.max_qp_wr = 1200,
		.max_cqe = 2047,
		.max_srq = 4,
		.max_srq_wr = 100,
		.max_mcast = 64,
		.max_mcast_qp = 16,
		.sq_blocks = 2048,
		.max_send_sge = 4,
		.max_recv_sge = 16,
		.max_srq_sge = 16,
		.pkeys = 128,
		.mtu_cap = IB_MTU_4096,
		.vectors = 3,
		.ack_min_ms = 20,
		.handler = SIB_HANDLER_HARDIRQ,
		.cqe_pow2 = true,
		.keep = true,
		.silent = true,
		.refuse = 20,
		.spurious = 7,
		.late_us = 2000,
	},
};

static const struct sib_profile *chosen = &profiles[0];

/**
 * sib_profile_find - the profile of a name
 * @name: may end with a newline, as what is written to sysfs does
 *
 * Context: any. Return: the profile, or NULL.
 */
const struct sib_profile *sib_profile_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < NUM_PROFILES; i++)
		if (sysfs_streq(name, profiles[i].name))
			return &profiles[i];
	return NULL;
}

static int profile_set(const char *value, const struct kernel_param *param)
{
	const struct sib_profile *profile = sib_profile_find(value);

	if (!profile) {
		pr_err("profile=%s: no such profile\n", value);
		return -EINVAL;
	}
	WRITE_ONCE(chosen, profile);
	return 0;
}

static int profile_show(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", READ_ONCE(chosen)->name);
}

static const struct kernel_param_ops profile_ops = {
	.set = profile_set,
	.get = profile_show,
};
module_param_cb(profile, &profile_ops, NULL, 0644);
MODULE_PARM_DESC(profile,
		 "what HCA new devices are like: mlx4, mlx5, mlx5-enhanced, rdmavt, omnipath, mthca, hostile or sib (default)");

/**
 * sib_profile_get - what a new device is like
 *
 * Context: any. Return: the profile that the module parameter names.
 */
const struct sib_profile *sib_profile_get(void)
{
	return READ_ONCE(chosen);
}

/**
 * sib_profile_sends_fit - whether an HCA has room for a send queue
 * @profile: the HCA
 * @cap: number and pieces of the requests, within what it advertises
 *
 * mlx5 counts in blocks of 64 octets, of which a request that cuts TCP segments takes 96
 * octets and 16 for each piece, rounded up, and has a power of two of them (mlx5's
 * calc_sq_size()): what it advertises as most requests is for short ones.
 *
 * Context: any. Return: true if so.
 */
bool sib_profile_sends_fit(const struct sib_profile *profile, const struct ib_qp_cap *cap)
{
	u32 blocks = ALIGN(96 + 16 * cap->max_send_sge, 64) / 64;

	return !profile->sq_blocks || !cap->max_send_wr ||
	       roundup_pow_of_two(cap->max_send_wr * blocks) <= profile->sq_blocks;
}
