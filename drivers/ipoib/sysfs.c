// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Files in /sys/class/net/<interface>: pkey, mode and umcast; create_child and
 * delete_child of what can be a parent; parent of a child.
 *
 * Who removes these files may hold rtnl and wait for us: rtnl is only tried, and the
 * system call starts again without it.
 */
#include <linux/rtnetlink.h>
#include <linux/sched/signal.h>
#include <linux/sysfs.h>

#include "ipoib.h"
#include "mcast.h"

static struct ipoib_intf *intf_of(struct device *dev)
{
	return ipoib_priv(to_net_dev(dev));
}

static ssize_t pkey_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "0x%04x\n", READ_ONCE(intf_of(dev)->pkey));
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
	if (!rtnl_trylock())
		return restart_syscall();
	err = ipoib_cm_set_mode(intf_of(dev), connected);
	rtnl_unlock();
	return err ?: count;
}
static DEVICE_ATTR_RW(mode);

static ssize_t umcast_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(intf_of(dev)->umcast));
}

static ssize_t umcast_store(struct device *dev, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	unsigned long value;
	int err = kstrtoul(buf, 0, &value);

	if (err)
		return err;
	if (!rtnl_trylock())
		return restart_syscall();
	ipoib_mcast_set_umcast(intf_of(dev), value);
	rtnl_unlock();
	return count;
}
static DEVICE_ATTR_RW(umcast);

static ssize_t parent_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%s\n", intf_of(dev)->parent->dev->name);
}
static DEVICE_ATTR_RO(parent);

/* Do something about the child with the P_Key that was written. */
static ssize_t child_store(struct device *dev, const char *buf, size_t count,
			   int (*act)(struct ipoib_intf *parent, u16 pkey))
{
	u16 pkey;
	int err = kstrtou16(buf, 0, &pkey);

	if (err)
		return err;
	if (!rtnl_trylock())
		return restart_syscall();
	err = act(intf_of(dev), pkey);
	rtnl_unlock();
	return err ?: count;
}

static ssize_t create_child_store(struct device *dev,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return child_store(dev, buf, count, ipoib_child_create);
}
static DEVICE_ATTR_WO(create_child);

static ssize_t delete_child_store(struct device *dev,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return child_store(dev, buf, count, ipoib_child_delete);
}
static DEVICE_ATTR_WO(delete_child);

static struct attribute *ipoib_attrs[] = {
	&dev_attr_pkey.attr,
	&dev_attr_mode.attr,
	&dev_attr_umcast.attr,
	&dev_attr_parent.attr,
	&dev_attr_create_child.attr,
	&dev_attr_delete_child.attr,
	NULL
};

static umode_t ipoib_attr_visible(struct kobject *kobj, struct attribute *attr,
				  int n)
{
	bool child = intf_of(kobj_to_dev(kobj))->parent;

	if (attr == &dev_attr_parent.attr)
		return child ? attr->mode : 0;
	if (attr == &dev_attr_create_child.attr ||
	    attr == &dev_attr_delete_child.attr)
		return child ? 0 : attr->mode;
	return attr->mode;
}

static const struct attribute_group ipoib_group = {
	.attrs = ipoib_attrs,
	.is_visible = ipoib_attr_visible,
};

const struct attribute_group *ipoib_sysfs_groups[] = {
	&ipoib_group,
	NULL
};
