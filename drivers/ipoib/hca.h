/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_HCA_H
#define IPOIB_HCA_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>

struct ib_device;
struct ipoib_port_joins;

/**
 * struct ipoib_hca - what the client keeps for a HCA
 * @ca: HCA; constant
 * @lock: held with rtnl to change @intfs, either to read it; inside rtnl
 * @intfs: registered interfaces, struct ipoib_intf by their list member
 * @joins: joins in flight at each port, by the port's number; constant
 * @going: the HCA is being removed; guarded by rtnl
 * @users: one for the HCA itself and one for each interface whose netdev is partly the
 *	HCA's, registered or still being freed
 * @unused: there are none any more
 */
struct ipoib_hca {
	struct ib_device *ca;
	struct mutex lock; /* guards what says so above */
	struct list_head intfs;
	struct ipoib_port_joins *joins;
	bool going;
	refcount_t users;
	struct completion unused;
};

#endif /* IPOIB_HCA_H */
