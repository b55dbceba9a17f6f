/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_VF_H
#define IPOIB_VF_H

#include <linux/types.h>

struct ifla_vf_guid;
struct ifla_vf_info;
struct ifla_vf_stats;
struct net_device;

int ipoib_vf_set_link_state(struct net_device *dev, int vf, int state);
int ipoib_vf_get_config(struct net_device *dev, int vf, struct ifla_vf_info *info);
int ipoib_vf_get_stats(struct net_device *dev, int vf, struct ifla_vf_stats *stats);
int ipoib_vf_get_guid(struct net_device *dev, int vf, struct ifla_vf_guid *node,
		      struct ifla_vf_guid *port);
int ipoib_vf_set_guid(struct net_device *dev, int vf, u64 guid, int type);

#endif /* IPOIB_VF_H */
