/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_GID_H
#define IPOIB_GID_H

#include <rdma/ib_verbs.h>

struct ipoib_intf;

int ipoib_gid_query(const struct ipoib_intf *intf, union ib_gid *gid);
union ib_gid ipoib_gid_now(const struct ipoib_intf *intf);
int ipoib_gid_choose(struct net_device *dev, void *addr);

#endif /* IPOIB_GID_H */
