// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * SR-IOV: a HCA's virtual functions are set up through the interface of a port of
 * the physical one (ip link set ib0 vf N ...). Nothing here but handing it on: the
 * GUIDs and the link state of a virtual function are the HCA's business.
 *
 * Everything here runs with rtnl.
 */
#include <linux/if_link.h>

#include "ipoib.h"
#include "vf.h"

/**
 * ipoib_vf_set_link_state - ndo_set_vf_link_state
 * @dev: interface
 * @vf: number of the virtual function
 * @state: IFLA_VF_LINK_STATE_*
 *
 * Return: 0, -EOPNOTSUPP if the HCA has no virtual functions, or what else it says.
 */
int ipoib_vf_set_link_state(struct net_device *dev, int vf, int state)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	return ib_set_vf_link_state(intf->ca, vf, intf->port, state);
}

/**
 * ipoib_vf_get_config - ndo_get_vf_config
 * @dev: interface
 * @vf: number of the virtual function
 * @info: result
 *
 * Return: as ipoib_vf_set_link_state().
 */
int ipoib_vf_get_config(struct net_device *dev, int vf, struct ifla_vf_info *info)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);
	int err;

	err = ib_get_vf_config(intf->ca, vf, intf->port, info);
	if (err)
		return err;
	info->vf = vf;
	memcpy(info->mac, dev->dev_addr, dev->addr_len);
	return 0;
}

/**
 * ipoib_vf_get_stats - ndo_get_vf_stats
 * @dev: interface
 * @vf: number of the virtual function
 * @stats: result
 *
 * Return: as ipoib_vf_set_link_state().
 */
int ipoib_vf_get_stats(struct net_device *dev, int vf, struct ifla_vf_stats *stats)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	return ib_get_vf_stats(intf->ca, vf, intf->port, stats);
}

/**
 * ipoib_vf_get_guid - ndo_get_vf_guid
 * @dev: interface
 * @vf: number of the virtual function
 * @node: result: its node GUID
 * @port: result: its port GUID
 *
 * Return: as ipoib_vf_set_link_state().
 */
int ipoib_vf_get_guid(struct net_device *dev, int vf, struct ifla_vf_guid *node,
		      struct ifla_vf_guid *port)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	return ib_get_vf_guid(intf->ca, vf, intf->port, node, port);
}

/**
 * ipoib_vf_set_guid - ndo_set_vf_guid
 * @dev: interface
 * @vf: number of the virtual function
 * @guid: host byte order
 * @type: IFLA_VF_IB_NODE_GUID or IFLA_VF_IB_PORT_GUID
 *
 * Return: as ipoib_vf_set_link_state().
 */
int ipoib_vf_set_guid(struct net_device *dev, int vf, u64 guid, int type)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	return ib_set_vf_guid(intf->ca, vf, intf->port, guid, type);
}
