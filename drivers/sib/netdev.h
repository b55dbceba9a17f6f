/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A netdev of the HCA's own for IPoIB (struct rdma_netdev): see netdev.c. The functions here are
 * for the files of the netdev alone.
 */
#ifndef SIB_NETDEV_H
#define SIB_NETDEV_H

#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

#define NETDEV_SENDS	128	/* of a transmit queue */
#define NETDEV_RECVS	256

/**
 * struct netdev_send - a send
 * @cqe: what its completion calls
 * @skb: packet
 * @wr: work request
 * @sge: where the packet is
 */
struct netdev_send {
	struct ib_cqe cqe;
	struct sk_buff *skb;
	struct ib_ud_wr wr;
	struct ib_sge sge;
};

/**
 * struct netdev_txq - a transmit queue
 * @head: sends filled; guarded by the transmit lock, as the next
 * @posted: sends that the HCA has been told of
 * @tail: sends completed; written by completions
 * @ring: the sends
 */
struct netdev_txq {
	u32 head;
	u32 posted;
	u32 tail;
	struct netdev_send ring[NETDEV_SENDS];
};

/**
 * struct netdev_recv - a receive
 * @cqe: what its completion calls
 * @skb: packet to be
 * @dma: its address
 */
struct netdev_recv {
	struct ib_cqe cqe;
	struct sk_buff *skb;
	u64 dma;
};

/**
 * struct sib_netdev - private part of the netdev
 * @rn: what the driver of IPoIB sees; first
 * @dev: the netdev
 * @list: link in the list of all, from ndo_init to ndo_uninit as the next six; rtnl
 * @root: whose receive queues it has: its parent, or itself if it has none
 * @pd: protection domain
 * @send_cq: completions of sends
 * @recv_cq: completions of receives
 * @qp: queue pair, whose number is in the hardware address
 * @txq: transmit queues, as many as the netdev really has
 * @pkey_index: to use when it is opened
 * @qkey: of the broadcast group
 * @open: from ndo_open to ndo_stop; written with rtnl
 * @sends: requests that have not completed
 * @recvs: likewise
 * @idle: woken when there is none of either any more
 * @recv: the receives
 */
struct sib_netdev {
	struct rdma_netdev rn;
	struct net_device *dev;
	struct list_head list;
	struct sib_netdev *root;
	struct ib_pd *pd;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	struct ib_qp *qp;
	struct netdev_txq *txq;
	u16 pkey_index;
	u32 qkey;
	bool open;
	atomic_t sends;
	atomic_t recvs;
	wait_queue_head_t idle;
	struct netdev_recv recv[NETDEV_RECVS];
};

int sib_netdev_send(struct net_device *dev, struct sk_buff *skb, struct ib_ah *ah, u32 qpn);
void sib_netdev_free_sends(struct sib_netdev *nd);
int sib_netdev_fill(struct sib_netdev *nd);
void sib_netdev_free_recvs(struct sib_netdev *nd);

#endif /* SIB_NETDEV_H */
