/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The network namespace of a RDMA device. */
#ifndef OPENIPOIB_COMPAT_RDMA_NET_H
#define OPENIPOIB_COMPAT_RDMA_NET_H

#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

/* Where older kernels make what belongs to one: in the first. */
#if !COMPAT_RDMA_DEV_NET
static inline struct net *rdma_dev_net(struct ib_device *device)
{
	return &init_net;
}
#endif

#endif /* OPENIPOIB_COMPAT_RDMA_NET_H */
