// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.17: rdma_dev_net() is the network namespace of a device
#include <rdma/ib_verbs.h>

#ifdef PROBE_NEW
struct net *probe(struct ib_device *dev);
struct net *probe(struct ib_device *dev)
{
	return rdma_dev_net(dev);
}
#else
struct probe *rdma_dev_net;
#endif
