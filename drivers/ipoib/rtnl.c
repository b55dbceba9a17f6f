// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The kind `ipoib` of rtnetlink: ip link add link ib0 name ib0.8001 type ipoib
 * pkey 0x8001 mode connected umcast 1. The interfaces of the ports are of this
 * kind as well; they can be changed so, but come and go with their HCA alone.
 */
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "accel.h"
#include "ipoib.h"
#include "mcast.h"
#include "newlink.h"

static const struct nla_policy link_policy[IFLA_IPOIB_MAX + 1] = {
	[IFLA_IPOIB_PKEY] = { .type = NLA_U16 },
	[IFLA_IPOIB_MODE] = NLA_POLICY_MAX(NLA_U16, IPOIB_MODE_CONNECTED),
	[IFLA_IPOIB_UMCAST] = NLA_POLICY_MAX(NLA_U16, 1),
};

static bool link_wants_connected(const struct nlattr *mode)
{
	return mode && nla_get_u16(mode) == IPOIB_MODE_CONNECTED;
}

static int link_check_mode(const struct ipoib_intf *intf,
			   const struct nlattr *mode,
			   struct netlink_ext_ack *extack)
{
	if (!link_wants_connected(mode) || intf->cm)
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, mode,
			    "no connected mode: driver or HCA do not have it");
	return -EOPNOTSUPP;
}

/* The mode first: that may fail, and nothing is set by halves. */
static int link_set(struct ipoib_intf *intf, struct nlattr *data[])
{
	int err = 0;

	if (data[IFLA_IPOIB_MODE])
		err = ipoib_cm_set_mode(intf,
					link_wants_connected(data[IFLA_IPOIB_MODE]));
	if (!err && data[IFLA_IPOIB_UMCAST])
		ipoib_mcast_set_umcast(intf,
				       nla_get_u16(data[IFLA_IPOIB_UMCAST]));
	return err;
}

/*
 * A hardware address is made of port and queue pair; one that is given is ignored,
 * for systemd-networkd makes one up for whatever it creates.
 */
static void link_ignore_address(struct net_device *dev, struct nlattr *tb[],
				struct netlink_ext_ack *extack)
{
	if (!tb[IFLA_ADDRESS])
		return;
	NL_SET_ERR_MSG_ATTR(extack, tb[IFLA_ADDRESS],
			    "ignored: the hardware address is that of port and queue pair");
	dev->addr_assign_type = NET_ADDR_PERM;
}

/* None have been chosen. */
static bool link_has_queues(unsigned int tx, unsigned int rx)
{
	return tx == IPOIB_TXQ_MAX && rx == 1;
}

/* What a new child cannot have; @parent stands for the HCA. */
static int link_check_new(const struct ipoib_intf *parent,
			  const struct net_device *dev, struct nlattr *tb[],
			  const struct nlattr *mode,
			  struct netlink_ext_ack *extack)
{
	int mtu_max = parent->ud_mtu_max;

	if (link_wants_connected(mode))
		mtu_max = max(mtu_max, ipoib_cm_mtu_max(parent));
	/* Else it has the queues of a HCA, which may turn out to be another one than @parent's. */
	if (!ipoib_accel_hca(dev) &&
	    !link_has_queues(dev->num_tx_queues, dev->num_rx_queues)) {
		NL_SET_ERR_MSG(extack, "queues cannot be chosen here, but by ethtool -L");
		return -EINVAL;
	}
	if (tb[IFLA_MTU] && nla_get_u32(tb[IFLA_MTU]) > mtu_max) {
		NL_SET_ERR_MSG_ATTR(extack, tb[IFLA_MTU],
				    "the MTU is more than the mode allows");
		return -EINVAL;
	}
	return link_check_mode(parent, mode, extack);
}

/* The parent, as far as the stack tells of it here: not in which namespace it is. */
static struct ipoib_intf *link_guess_parent(struct nlattr *tb[])
{
	struct net *net = current->nsproxy->net_ns;
	struct net_device *dev;

	ASSERT_RTNL();
	if (!tb[IFLA_LINK])
		return NULL;
	net = tb[IFLA_LINK_NETNSID] ?
	      get_net_ns_by_id(net, nla_get_s32(tb[IFLA_LINK_NETNSID])) : get_net(net);
	if (!net)
		return NULL;
	dev = __dev_get_by_index(net, nla_get_u32(tb[IFLA_LINK]));
	put_net(net);
	return dev ? ipoib_intf_of(dev) : NULL;
}

/*
 * The HCA of an accelerated parent says how much room it needs, and how many queues. What was
 * made without that, because the parent was not found here, is not accelerated.
 */
static struct net_device *link_alloc(struct nlattr *tb[], const char *name,
				     unsigned char name_assign_type,
				     unsigned int num_tx_queues, unsigned int num_rx_queues)
{
	struct ipoib_intf *parent = link_guess_parent(tb);

	if (parent && parent->accel && link_has_queues(num_tx_queues, num_rx_queues))
		return ipoib_accel_alloc_netdev(parent->ca, parent->port, name, name_assign_type);
	return alloc_netdev_mqs(sizeof(struct rdma_netdev), name, name_assign_type,
				ipoib_intf_setup, num_tx_queues, num_rx_queues) ?:
	       ERR_PTR(-ENOMEM);
}

static int link_new(struct net_device *dev, struct rtnl_newlink_params *params,
		    struct netlink_ext_ack *extack)
{
	struct nlattr *none[IFLA_IPOIB_MAX + 1] = {};
	struct nlattr **data = params->data ?: none;
	struct nlattr **tb = params->tb;
	struct net_device *parent_dev;
	struct ipoib_intf *parent;
	u16 pkey;
	int err;

	if (!tb[IFLA_LINK]) {
		NL_SET_ERR_MSG(extack, "the parent is missing: link IBx");
		return -EINVAL;
	}
	parent_dev = __dev_get_by_index(rtnl_newlink_link_net(params), nla_get_u32(tb[IFLA_LINK]));
	parent = parent_dev ? ipoib_intf_of(parent_dev) : NULL;
	if (!parent) {
		NL_SET_ERR_MSG_ATTR(extack, tb[IFLA_LINK],
				    "the parent is no interface of this driver");
		return -ENODEV;
	}
	err = link_check_new(parent, dev, tb, data[IFLA_IPOIB_MODE], extack);
	if (err)
		return err;
	link_ignore_address(dev, tb, extack);
	pkey = data[IFLA_IPOIB_PKEY] ? nla_get_u16(data[IFLA_IPOIB_PKEY]) :
				       parent->pkey;
	err = ipoib_child_register(dev, parent, pkey, extack);
	if (err)
		return err;
	err = link_set(ipoib_priv(dev), data);
	if (!err && tb[IFLA_MTU])
		err = dev_set_mtu(dev, nla_get_u32(tb[IFLA_MTU]));
	if (err)
		unregister_netdevice(dev);
	return err;
}

COMPAT_NEWLINK(link_new)

static int link_change(struct net_device *dev, struct nlattr *tb[],
		       struct nlattr *data[], struct netlink_ext_ack *extack)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	const struct nlattr *pkey;
	int err;

	if (!data)
		return 0;
	pkey = data[IFLA_IPOIB_PKEY];
	if (pkey && (nla_get_u16(pkey) | IPOIB_PKEY_FULL_MEMBER) != intf->pkey) {
		NL_SET_ERR_MSG_ATTR(extack, pkey,
				    "the P_Key of an interface cannot be changed");
		return -EINVAL;
	}
	err = link_check_mode(intf, data[IFLA_IPOIB_MODE], extack);
	return err ?: link_set(intf, data);
}

static void link_delete(struct net_device *dev, struct list_head *head)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	if (intf->parent)
		unregister_netdevice_queue(dev, head);
	else
		netdev_warn(dev, "not deleted: it goes with its HCA\n");
}

static size_t link_get_size(const struct net_device *dev)
{
	return 3 * nla_total_size(sizeof(u16));
}

static int link_fill(struct sk_buff *skb, const struct net_device *dev)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	if (nla_put_u16(skb, IFLA_IPOIB_PKEY, intf->pkey) ||
	    nla_put_u16(skb, IFLA_IPOIB_MODE, READ_ONCE(intf->connected) ?
			IPOIB_MODE_CONNECTED : IPOIB_MODE_DATAGRAM) ||
	    nla_put_u16(skb, IFLA_IPOIB_UMCAST, READ_ONCE(intf->umcast)))
		return -EMSGSIZE;
	return 0;
}

static unsigned int link_get_num_tx_queues(void)
{
	return IPOIB_TXQ_MAX;
}

static struct net *link_get_net(const struct net_device *dev)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	return dev_net(intf->parent ? intf->parent->dev : dev);
}

/* Interfaces of a namespace that goes are given back to the first one. */
struct rtnl_link_ops ipoib_link_ops = {
	.kind = "ipoib",
	.netns_refund = true,
	.alloc = link_alloc,
	.maxtype = IFLA_IPOIB_MAX,
	.policy = link_policy,
	.newlink = compat_op(NEWLINK_PARAMS, link_new),
	.changelink = link_change,
	.dellink = link_delete,
	.get_size = link_get_size,
	.fill_info = link_fill,
	.get_link_net = link_get_net,
	.get_num_tx_queues = link_get_num_tx_queues,
};
