// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Files in /sys/class/net/<interface>: pkey and mode. */
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/sysfs.h>

#include "ipoib.h"

static struct ipoib_intf *intf_of(struct device *dev)
{
	return netdev_priv(to_net_dev(dev));
}

static ssize_t pkey_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "0x%04x\n", intf_of(dev)->pkey);
}
static DEVICE_ATTR_RO(pkey);

static ssize_t mode_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n", READ_ONCE(intf_of(dev)->connected) ?
			  "connected" : "datagram");
}

static ssize_t mode_store(struct device *dev, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	bool connected = sysfs_streq(buf, "connected");
	int err;

	if (!connected && !sysfs_streq(buf, "datagram"))
		return -EINVAL;
	/* Who removes this file may hold rtnl and wait for us. */
	if (!rtnl_trylock())
		return restart_syscall();
	err = ipoib_cm_set_mode(intf_of(dev), connected);
	rtnl_unlock();
	return err ?: count;
}
static DEVICE_ATTR_RW(mode);

static struct attribute *ipoib_attrs[] = {
	&dev_attr_pkey.attr,
	&dev_attr_mode.attr,
	NULL
};

static const struct attribute_group ipoib_group = {
	.attrs = ipoib_attrs,
};

const struct attribute_group *ipoib_sysfs_groups[] = {
	&ipoib_group,
	NULL
};
