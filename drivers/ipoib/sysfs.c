// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Files in /sys/class/net/<interface>: pkey and mode. */
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
	return sysfs_emit(buf, "datagram\n");
}

static ssize_t mode_store(struct device *dev, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	if (sysfs_streq(buf, "datagram"))
		return count;
	if (!sysfs_streq(buf, "connected"))
		return -EINVAL;
	netdev_warn(to_net_dev(dev), "connected mode is not supported by this driver\n");
	return -EOPNOTSUPP;
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
