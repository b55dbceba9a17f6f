// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.15: rtnl_link_ops.newlink() is given attributes and namespaces in one structure
#include <net/rtnetlink.h>

#ifdef PROBE_NEW
static int probe(struct net_device *dev, struct rtnl_newlink_params *params,
		 struct netlink_ext_ack *extack)
#else
static int probe(struct net *src_net, struct net_device *dev, struct nlattr *tb[],
		 struct nlattr *data[], struct netlink_ext_ack *extack)
#endif
{
	return 0;
}

struct rtnl_link_ops probe_ops = { .newlink = probe };
