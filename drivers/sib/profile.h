/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * HCAs to be like: what a device says of itself, holds its consumers to, and does where
 * HCAs differ and a consumer can notice.
 */
#ifndef SIB_PROFILE_H
#define SIB_PROFILE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#define SIB_VECTORS_MAX		16

/**
 * enum sib_handler - in which context completion handlers are called
 * @SIB_HANDLER_SOFTIRQ: by the port's softirq, after what completed has been done
 * @SIB_HANDLER_HARDIRQ: by a hard interrupt
 * @SIB_HANDLER_WORKER: by a kernel thread, with softirqs off
 */
enum sib_handler {
	SIB_HANDLER_SOFTIRQ,
	SIB_HANDLER_HARDIRQ,
	SIB_HANDLER_WORKER,
};

/**
 * struct sib_profile - an HCA to be like
 * @name: as the module parameter has it
 * @source: whose driver in the kernel it imitates; "" for what is sib's own
 * @max_qp_wr: requests in a queue
 * @max_cqe: completions in a CQ
 * @max_srq: shared receive queues, 0 if it has none
 * @max_srq_wr: requests in one
 * @max_mcast: multicast groups
 * @max_mcast_qp: queue pairs attached to one
 * @sq_blocks: blocks of 64 octets that the requests of a send queue may take, rounded up to
 *	a power of two; 0 if only their number counts
 * @max_send_sge: pieces of a send request
 * @max_recv_sge: pieces of a receive request
 * @max_srq_sge: pieces of one in a shared receive queue
 * @pkeys: P_Keys in the port's table
 * @mtu_cap: largest MTU (enum ib_mtu)
 * @phys_mtu: longest packet that it says the port has, 0 if that is no more than its MTU
 * @vectors: completion vectors, at most SIB_VECTORS_MAX
 * @ack_min_ms: how long [ms] a connection waits for an acknowledgment at least, whatever its
 *	queue pair says
 * @handler: where completion handlers are called
 * @csum: IP checksums are made and checked (IB_DEVICE_UD_IP_CSUM)
 * @lso: long TCP segments are cut (IBK_UD_TSO)
 * @block_own: a queue pair can ask not to get its own packets to groups
 *	(IBK_BLOCK_MULTICAST_LOOPBACK)
 * @strict_groups: a queue pair in RESET cannot be attached to a group, and a group has one MLID
 * @opa: the port says that it is one of Omni-Path: with its codes of MTUs, and addresses of its
 *	type (RDMA_CORE_CAP_OPA_MAD, RDMA_CORE_CAP_OPA_AH)
 * @netdev: queues each way of the netdev that it offers drivers of IPoIB, 0 if it offers none
 * @cqe_pow2: a CQ has room for a power of two of completions, less one
 * @keep: completions of a queue pair that is destroyed or reset stay in its CQs
 * @silent: req_notify_cq never says that there are completions: it causes the event instead
 * @refuse: every so many calls of post_srq_recv, and of post_send and post_recv of the kernel's
 *	UD and RC queue pairs, take the first request of their list and refuse the others, or it
 *	if it is the only one; 0: none
 * @spurious: every so many calls of req_notify_cq cause an event with no completion, 0: none
 * @late_us: with a seed (choice.h), which calls are refused and which events caused is drawn, and
 *	completion handlers are called up to so many microseconds late; 0: there is nothing to draw
 */
struct sib_profile {
	const char *name;
	const char *source;
	u32 max_qp_wr;
	u32 max_cqe;
	u32 max_srq;
	u32 max_srq_wr;
	u32 max_mcast;
	u32 max_mcast_qp;
	u32 sq_blocks;
	u16 ack_min_ms;
	u16 pkeys;
	u16 phys_mtu;
	u8 max_send_sge;
	u8 max_recv_sge;
	u8 max_srq_sge;
	u8 mtu_cap;
	u8 vectors;
	u8 handler;
	u8 netdev;
	bool csum;
	bool lso;
	bool block_own;
	bool strict_groups;
	bool opa;
	bool cqe_pow2;
	bool keep;
	bool silent;
	u8 refuse;
	u8 spurious;
	u16 late_us;
};

const struct sib_profile *sib_profile_get(void);
const struct sib_profile *sib_profile_find(const char *name);
bool sib_profile_sends_fit(const struct sib_profile *profile, const struct ib_qp_cap *cap);

#endif /* SIB_PROFILE_H */
