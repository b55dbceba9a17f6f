// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The module: `rdma link add NAME type sib netdev DEV`, the list of devices,
 * and what happens to the lower devices.
 *
 * Each device has an entry in sib_entries from before its registration until
 * after the last call of the driver's code for it. ib_core may be asked to
 * unregister a device by `rdma link del`, by a lower device that goes away and
 * by rmmod at the same time; the entry's reference keeps the ib_device's memory
 * while they sort themselves out, and a work item, which passes through
 * ib_core's unregistration lock once more before it frees the entry, makes sure
 * that no dealloc_driver is still running when the module goes.
 */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rdma/rdma_netlink.h>

#include "dma.h"
#include "sib.h"

static unsigned int hello_timeout = 1000;
module_param(hello_timeout, uint, 0644);
MODULE_PARM_DESC(hello_timeout,
		 "ms of silence after which the peer is given up, 20 to 60000, for new links (default 1000)");

#define MAX_GUIDS	16
static char *guids[MAX_GUIDS];
static unsigned int num_guids;
module_param_array_named(guid, guids, charp, &num_guids, 0644);
MODULE_PARM_DESC(guid,
		 "node GUIDs of new HCAs by lower device, as DEV=HEX,... (default: from the device's address)");

/**
 * struct sib_entry - a device as the module sees it
 * @list: link in sib_entries
 * @dev: the device; the entry holds a reference on its struct device
 * @parent: the virtual device it is on, as an HCA is on a PCI device: below it
 *	programs look for the net devices that belong to the HCA. If memory has to be
 *	mapped, it is mapped for this device
 * @dma: what is mapped, NULL if nothing has to be
 * @debugfs: its folder, named as the device was when it was made; NULL before
 *	@registered
 * @registered: ib_register_device() has succeeded
 * @doomed: the lower device is gone, so the device must go
 * @gone: dealloc_driver has been called
 * @unreg: unregisters the device
 * @reap: gives back what the entry has
 * @users: the device itself, until @reap, and sib_newlink(); frees the entry
 *
 * All but @dev, @parent, @dma and @users are guarded by sib_entries_lock.
 */
struct sib_entry {
	struct list_head list;
	struct sib_dev *dev;
	struct platform_device *parent;
	struct sib_dma *dma;
	struct dentry *debugfs;
	bool registered;
	bool doomed;
	bool gone;
	struct work_struct unreg;
	struct work_struct reap;
	refcount_t users;
};

static LIST_HEAD(sib_entries);
static DEFINE_MUTEX(sib_entries_lock);	/* within rtnl */
static struct workqueue_struct *sib_wq;
static struct dentry *sib_debugfs;

static void entry_unreg(struct work_struct *work)
{
	struct sib_entry *entry = container_of(work, struct sib_entry, unreg);

	ib_unregister_device(&entry->dev->ibdev);
}

static void entry_put(struct sib_entry *entry)
{
	if (refcount_dec_and_test(&entry->users))
		kfree(entry);
}

static void entry_reap(struct work_struct *work)
{
	struct sib_entry *entry = container_of(work, struct sib_entry, reap);
	struct ib_device *ibdev = &entry->dev->ibdev;

	ib_unregister_device(ibdev);	/* wait for whoever called dealloc_driver */
	mutex_lock(&sib_entries_lock);
	list_del(&entry->list);
	mutex_unlock(&sib_entries_lock);
	cancel_work_sync(&entry->unreg);
	debugfs_remove_recursive(entry->debugfs);
	sib_dma_close(entry->dma);
	platform_device_unregister(entry->parent);
	put_device(&ibdev->dev);
	entry_put(entry);
}

/**
 * sib_entry_gone - ib_core is done with a device
 * @entry: its entry; freed soon after
 *
 * Context: process, from dealloc_driver.
 */
void sib_entry_gone(struct sib_entry *entry)
{
	mutex_lock(&sib_entries_lock);
	entry->gone = true;
	queue_work(sib_wq, &entry->reap);
	mutex_unlock(&sib_entries_lock);
}

static __be64 guid_of_mac(const u8 *mac)
{
	u8 eui[8] = { mac[0] ^ 2, mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5] };
	__be64 guid;

	memcpy(&guid, eui, sizeof(guid));
	return guid;
}

/* The GUID given for a lower device, or 0 */
static u64 given_guid(const char *name)
{
	size_t len = strlen(name);
	unsigned int i;
	u64 guid = 0;

	kernel_param_lock(THIS_MODULE);
	for (i = 0; i < num_guids; i++) {
		if (strncmp(guids[i], name, len) || guids[i][len] != '=')
			continue;
		if (kstrtou64(guids[i] + len + 1, 16, &guid))
			pr_warn("guid=%s: not a hexadecimal number, ignored\n", guids[i]);
		break;
	}
	kernel_param_unlock(THIS_MODULE);
	return guid;
}

static __be64 choose_guid(const struct net_device *lower)
{
	u64 given = given_guid(lower->name);

	return given ? cpu_to_be64(given) : guid_of_mac(lower->dev_addr);
}

static struct sib_entry *entry_of_lower(struct net_device *lower)
{
	struct sib_entry *entry;

	ASSERT_RTNL();
	lockdep_assert_held(&sib_entries_lock);
	list_for_each_entry(entry, &sib_entries, list)
		if (rtnl_dereference(entry->dev->port.lower) == lower)
			return entry;
	return NULL;
}

static int lower_check(struct net_device *lower)
{
	if (lower->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	if (lower->type != ARPHRD_ETHER || lower->flags & IFF_LOOPBACK)
		return -EOPNOTSUPP;
	if (!sib_port_mtu_cap(READ_ONCE(lower->mtu)))
		return -EMSGSIZE;
	if (entry_of_lower(lower))
		return -EBUSY;
	return 0;
}

static struct sib_entry *entry_new(const char *name, __be64 guid)
{
	struct sib_entry *entry;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return NULL;
	entry->parent = platform_device_register_simple(KBUILD_MODNAME, PLATFORM_DEVID_AUTO,
							NULL, 0);
	if (IS_ERR(entry->parent))
		goto err_parent;
	entry->dma = sib_dma_open(&entry->parent->dev, name);
	if (IS_ERR(entry->dma))
		goto err_dma;
	entry->dev = ib_alloc_device(sib_dev, ibdev);
	if (!entry->dev)
		goto err_dev;
	INIT_WORK(&entry->unreg, entry_unreg);
	INIT_WORK(&entry->reap, entry_reap);
	refcount_set(&entry->users, 1);
	entry->dev->entry = entry;
	entry->dev->ibdev.dev.parent = &entry->parent->dev;
	get_device(&entry->dev->ibdev.dev);
	sib_device_init(entry->dev, name, guid);
	entry->dev->mem.dma = entry->dma;
	entry->dev->port.link.cfg.timeout = clamp(READ_ONCE(hello_timeout), 20U, 60000U);
	return entry;

err_dev:
	sib_dma_close(entry->dma);
err_dma:
	platform_device_unregister(entry->parent);
err_parent:
	kfree(entry);
	return NULL;
}

/* Tie an entry to its lower device, if that may have one. */
static int entry_attach(struct sib_entry *entry, struct net_device *lower)
{
	int err;

	rtnl_lock();
	mutex_lock(&sib_entries_lock);
	err = lower_check(lower);
	if (!err)
		sib_port_attach(&entry->dev->port, lower);
	list_add_tail(&entry->list, &sib_entries);
	mutex_unlock(&sib_entries_lock);
	rtnl_unlock();
	return err;
}

static void entry_registered(struct sib_entry *entry)
{
	rtnl_lock();
	mutex_lock(&sib_entries_lock);
	if (!entry->gone) {
		entry->registered = true;
		entry->debugfs = debugfs_create_dir(dev_name(&entry->dev->ibdev.dev), sib_debugfs);
		sib_loss_show(&entry->dev->port.loss, entry->debugfs);
		sib_fault_show(entry->dev, entry->debugfs);
		sib_dma_show(entry->dma, dev_name(&entry->dev->ibdev.dev), entry->debugfs);
		if (entry->doomed)
			queue_work(sib_wq, &entry->unreg);
		else if (rtnl_dereference(entry->dev->port.lower))	/* not on its way out */
			sib_port_lower_changed(&entry->dev->port);
	}
	mutex_unlock(&sib_entries_lock);
	rtnl_unlock();
}

/* rdma_link_ops.newlink; the caller holds a reference on @lower */
static int sib_newlink(const char *name, struct net_device *lower)
{
	struct sib_entry *entry;
	struct ib_device *ibdev;
	int err;

	entry = entry_new(name, choose_guid(lower));
	if (!entry)
		return -ENOMEM;
	/* As soon as it is registered, anybody may delete it: then it is reaped meanwhile. */
	refcount_inc(&entry->users);
	ibdev = &entry->dev->ibdev;
	get_device(&ibdev->dev);
	err = entry_attach(entry, lower);
	if (err)
		goto err_dealloc;
	/*
	 * ib_core is not told of the cable: what it calls a port's netdev is the interface that
	 * has the port's IP addresses, which no HCA of InfiniBand names.
	 */
	err = ib_register_device(ibdev, name, entry->dma ? &entry->parent->dev : NULL);
	if (err)
		goto err_dealloc;
	entry_registered(entry);
	dev_info(&ibdev->dev, "the cable of port 1 is %s\n", lower->name);
	if (entry->dev->chooser.seed)
		dev_info(&ibdev->dev, "hostile, to be met again with seed=%u\n",
			 entry->dev->chooser.seed);
	goto out;

err_dealloc:
	ib_dealloc_device(ibdev);
out:
	put_device(&ibdev->dev);
	entry_put(entry);
	return err;
}

static void lower_gone(struct sib_entry *entry)
{
	sib_port_detach(&entry->dev->port);
	entry->doomed = true;
	if (entry->registered && !entry->gone)
		queue_work(sib_wq, &entry->unreg);
}

static int sib_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *lower = netdev_notifier_info_to_dev(ptr);
	int ret = NOTIFY_DONE;
	struct sib_entry *entry;

	mutex_lock(&sib_entries_lock);
	entry = entry_of_lower(lower);
	if (!entry)
		goto unlock;
	switch (event) {
	case NETDEV_PRE_TYPE_CHANGE:
		/* frames would get headers of another kind */
		ret = notifier_from_errno(-EBUSY);
		break;
	case NETDEV_UNREGISTER:
		/* A device that only moves to another namespace stays registered. */
		if (lower->reg_state == NETREG_UNREGISTERING)
			lower_gone(entry);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:
	case NETDEV_FEAT_CHANGE:
	case NETDEV_CHANGEADDR:
	case NETDEV_REGISTER:
		sib_port_lower_changed(&entry->dev->port);
		break;
	}
unlock:
	mutex_unlock(&sib_entries_lock);
	return ret;
}

static struct notifier_block sib_netdev_nb = {
	.notifier_call = sib_netdev_event,
};

static struct rdma_link_ops sib_link_ops = {
	.type = "sib",
	.newlink = sib_newlink,
};

/* A device ib_core is not done with yet, with a reference, or NULL */
static struct ib_device *pick_live(void)
{
	struct ib_device *ibdev = NULL;
	struct sib_entry *entry;

	mutex_lock(&sib_entries_lock);
	list_for_each_entry(entry, &sib_entries, list) {
		if (entry->gone)
			continue;
		ibdev = &entry->dev->ibdev;
		get_device(&ibdev->dev);
		break;
	}
	mutex_unlock(&sib_entries_lock);
	return ibdev;
}

static int __init sib_init(void)
{
	int err;

	sib_stats_init();
	sib_wq = alloc_workqueue("sib", WQ_UNBOUND, 0);
	if (!sib_wq)
		return -ENOMEM;
	err = sib_vectors_start();
	if (err)
		goto err_vectors;
	err = ib_register_client(&sib_mad_client);
	if (err)
		goto err_client;
	err = register_netdevice_notifier(&sib_netdev_nb);
	if (err)
		goto err_notifier;
	sib_debugfs = debugfs_create_dir(KBUILD_MODNAME, NULL);
	rdma_link_register(&sib_link_ops);
	return 0;

err_notifier:
	ib_unregister_client(&sib_mad_client);
err_client:
	sib_vectors_stop();
err_vectors:
	destroy_workqueue(sib_wq);
	return err;
}

static void __exit sib_exit(void)
{
	struct ib_device *ibdev;

	rdma_link_unregister(&sib_link_ops);
	while ((ibdev = pick_live())) {
		ib_unregister_device(ibdev);
		put_device(&ibdev->dev);
	}
	/* Until here a lower device must be let go when it wants to. */
	unregister_netdevice_notifier(&sib_netdev_nb);
	ib_unregister_client(&sib_mad_client);
	destroy_workqueue(sib_wq);
	sib_vectors_stop();
	sib_dma_exit();
	debugfs_remove_recursive(sib_debugfs);
}

module_init(sib_init);
module_exit(sib_exit);

MODULE_DESCRIPTION("Software InfiniBand HCA over any Ethernet-like net device");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(OPENIPOIB_VERSION);
MODULE_ALIAS_RDMA_LINK("sib");
