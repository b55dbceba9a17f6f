/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What is given to rtnl_link_ops.newlink. */
#ifndef OPENIPOIB_COMPAT_NEWLINK_H
#define OPENIPOIB_COMPAT_NEWLINK_H

#include <net/rtnetlink.h>

#include "op.h"

#if COMPAT_NEWLINK_PARAMS
#define COMPAT_NEWLINK(fn)
#else
struct rtnl_newlink_params {
	struct net *src_net;
	struct nlattr **tb;
	struct nlattr **data;
};

static inline struct net *rtnl_newlink_link_net(struct rtnl_newlink_params *params)
{
	return params->src_net;
}

#define COMPAT_NEWLINK(fn) \
static int compat_##fn(struct net *src_net, struct net_device *dev, struct nlattr *tb[], \
		       struct nlattr *data[], struct netlink_ext_ack *extack) \
{ \
	struct rtnl_newlink_params params = { .src_net = src_net, .tb = tb, .data = data }; \
\
	return fn(dev, &params, extack); \
}
#endif

#endif /* OPENIPOIB_COMPAT_NEWLINK_H */
