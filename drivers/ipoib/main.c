// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The module: an ib_client that makes an interface of each port whose link
 * layer is InfiniBand.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "accel.h"
#include "ipoib.h"
#include "rdma_net.h"

#define NONSRQ_CONNECTIONS_MAX	4096
#define OWN_QUEUES_MAX		32

unsigned int ipoib_send_queue_size = IPOIB_TX_RING_DEFAULT;
unsigned int ipoib_recv_queue_size = IPOIB_RX_RING_DEFAULT;
struct ib_sa_client ipoib_sa_client;

/*
 * What is out of range is brought into it, as the kernel's own driver does: a line in
 * modprobe.d that it has taken must not leave a host without its network.
 */
static int param_clamped(const char *value, const struct kernel_param *param, int least, int most)
{
	int wanted, taken;
	int err = kstrtoint(value, 0, &wanted);

	if (err)
		return err;
	taken = clamp(wanted, least, most);
	if (taken != wanted)
		pr_warn("%s=%d: must be between %d and %d, taken as %d\n", param->name, wanted,
			least, most, taken);
	*(unsigned int *)param->arg = taken;
	return 0;
}

static int ring_size_set(const char *value, const struct kernel_param *param)
{
	unsigned int *size = param->arg;
	int err = param_clamped(value, param, IPOIB_RING_MIN, IPOIB_RING_MAX);

	*size = roundup_pow_of_two(*size);
	return err;
}

static const struct kernel_param_ops ring_size_ops = {
	.set = ring_size_set,
	.get = param_get_uint,
};

module_param_cb(send_queue_size, &ring_size_ops, &ipoib_send_queue_size, 0444);
MODULE_PARM_DESC(send_queue_size,
		 "packets in the transmit ring, a power of two from 64 to 8192 (512)");
module_param_cb(recv_queue_size, &ring_size_ops, &ipoib_recv_queue_size, 0444);
MODULE_PARM_DESC(recv_queue_size,
		 "packets in the receive ring, a power of two from 64 to 8192 (1024)");

unsigned int ipoib_nonsrq_connections = 128;

static int nonsrq_connections_set(const char *value, const struct kernel_param *param)
{
	return param_clamped(value, param, 0, NONSRQ_CONNECTIONS_MAX);
}

static const struct kernel_param_ops nonsrq_connections_ops = {
	.set = nonsrq_connections_set,
	.get = param_get_uint,
};

module_param_cb(max_nonsrq_conn_qp, &nonsrq_connections_ops, &ipoib_nonsrq_connections, 0444);
MODULE_PARM_DESC(max_nonsrq_conn_qp,
		 "incoming connections of an interface whose HCA has no shared receive queues, 0 to 4096 (128)");

static char *own_queues[OWN_QUEUES_MAX];
static unsigned int num_own_queues;
module_param_array(own_queues, charp, &num_own_queues, 0644);
MODULE_PARM_DESC(own_queues,
		 "HCAs, or ports as HCA/PORT, that are not to accelerate interfaces made from then on, which can have connected mode then; all: none is to (none of them)");

static struct ib_client ipoib_client;

/* Has somebody asked that the HCA does not accelerate what is made on this port? */
static bool wants_own_queues(const struct ib_device *ca, u32 port)
{
	char name[IB_DEVICE_NAME_MAX + sizeof("/4294967295")];
	bool found = false;
	unsigned int i;

	snprintf(name, sizeof(name), "%s/%u", dev_name(&ca->dev), port);
	kernel_param_lock(THIS_MODULE);
	for (i = 0; i < num_own_queues && !found; i++)
		found = sysfs_streq(own_queues[i], "all") ||
			sysfs_streq(own_queues[i], dev_name(&ca->dev)) ||
			sysfs_streq(own_queues[i], name);
	kernel_param_unlock(THIS_MODULE);
	return found;
}

static int intf_try(struct ipoib_hca *hca, u32 port, u16 pkey,
		    struct ipoib_intf *parent, const char *name,
		    bool accelerated)
{
	unsigned char assign_type = parent ? NET_NAME_PREDICTABLE :
					     NET_NAME_UNKNOWN;
	struct net_device *dev;
	int err;

	if (accelerated)
		dev = ipoib_accel_alloc_netdev(hca->ca, port, name, assign_type);
	else
		dev = alloc_netdev_mqs(sizeof(struct rdma_netdev), name,
				       assign_type, ipoib_intf_setup,
				       IPOIB_TXQ_MAX, 1);
	if (IS_ERR_OR_NULL(dev))
		return dev ? PTR_ERR(dev) : -ENOMEM;
	dev_net_set(dev, parent ? dev_net(parent->dev) : rdma_dev_net(hca->ca));
	err = ipoib_intf_register(dev, hca, port, pkey, parent, accelerated);
	if (err)
		free_netdev(dev);
	return err;
}

/**
 * ipoib_intf_create - an interface, accelerated by the HCA if it can do so and is to
 * @hca: HCA
 * @port: InfiniBand port of it, from 1
 * @pkey: P_Key of the partition, with the bit of full membership
 * @parent: interface that it is a child of and, if the HCA can, like; or NULL
 * @name: of the netdev
 *
 * Context: process, rtnl.
 * Return: 0 or a negative error.
 */
int ipoib_intf_create(struct ipoib_hca *hca, u32 port, u16 pkey,
		      struct ipoib_intf *parent, const char *name)
{
	int err = -EOPNOTSUPP;

	ASSERT_RTNL();
	if (parent ? !!parent->accel : !wants_own_queues(hca->ca, port))
		err = intf_try(hca, port, pkey, parent, name, true);
	if (!ipoib_accel_declined(hca->ca, port, pkey, err))
		return err;
	return intf_try(hca, port, pkey, parent, name, false);
}

/* An interface for the default partition of a port. */
static int ipoib_add_port(struct ipoib_hca *hca, u32 port)
{
	u16 pkey;
	int err;

	err = ib_query_pkey(hca->ca, port, 0, &pkey);
	if (err)
		return err;
	rtnl_lock();
	err = ipoib_intf_create(hca, port, pkey | IPOIB_PKEY_FULL_MEMBER, NULL,
				"ib%d");
	rtnl_unlock();
	return err;
}

static void hca_free(struct ipoib_hca *hca)
{
	/* Somebody else may still be freeing a child that he has taken away. */
	if (!refcount_dec_and_test(&hca->users))
		wait_for_completion(&hca->unused);
	mutex_destroy(&hca->lock);
	kfree(hca->joins);
	kfree(hca);
}

static struct ipoib_hca *hca_alloc(struct ib_device *ca)
{
	struct ipoib_hca *hca = kzalloc(sizeof(*hca), GFP_KERNEL);
	u32 port;

	if (!hca)
		return NULL;
	hca->joins = kcalloc(rdma_end_port(ca) + 1, sizeof(*hca->joins), GFP_KERNEL);
	if (!hca->joins) {
		kfree(hca);
		return NULL;
	}
	rdma_for_each_port(ca, port)
		ipoib_port_joins_init(&hca->joins[port]);
	hca->ca = ca;
	mutex_init(&hca->lock);
	INIT_LIST_HEAD(&hca->intfs);
	refcount_set(&hca->users, 1);
	init_completion(&hca->unused);
	return hca;
}

static int ipoib_add_hca(struct ib_device *ca)
{
	struct ipoib_hca *hca = hca_alloc(ca);
	u32 port;
	int err;

	if (!hca)
		return -ENOMEM;
	rdma_for_each_port(ca, port) {
		if (!rdma_protocol_ib(ca, port))
			continue;
		err = ipoib_add_port(hca, port);
		if (err)
			pr_warn("%s port %u: no interface: error %d\n",
				dev_name(&ca->dev), port, err);
	}
	if (list_empty(&hca->intfs)) {
		hca_free(hca);
		return -EOPNOTSUPP;
	}
	ib_set_client_data(ca, &ipoib_client, hca);
	return 0;
}

static void ipoib_remove_hca(struct ib_device *ca, void *client_data)
{
	struct ipoib_hca *hca = client_data;
	struct ipoib_intf *intf;
	LIST_HEAD(doomed);

	rtnl_lock();
	hca->going = true;
	list_for_each_entry(intf, &hca->intfs, list)
		if (intf->parent)
			unregister_netdevice_queue(intf->dev, &doomed);
	list_for_each_entry(intf, &hca->intfs, list)
		if (!intf->parent)
			unregister_netdevice_queue(intf->dev, &doomed);
	unregister_netdevice_many(&doomed);
	/* Waits until nobody refers to them, and frees them. */
	rtnl_unlock();
	hca_free(hca);
}

/*
 * Who has the address of an RDMA CM request; or, if nobody has it, the only
 * interface on its port and partition.
 */
static struct net_device *
ipoib_get_net_dev_by_params(struct ib_device *ca, u32 port, u16 pkey,
			    const union ib_gid *gid,
			    const struct sockaddr *addr, void *client_data)
{
	struct ipoib_hca *hca = client_data;
	struct ipoib_intf *intf, *only = NULL;
	struct net_device *dev = NULL;
	unsigned int matches = 0;

	mutex_lock(&hca->lock);
	rcu_read_lock();
	list_for_each_entry(intf, &hca->intfs, list) {
		if (intf->port != port ||
		    !ipoib_match_partition(intf, pkey, gid))
			continue;
		matches++;
		only = intf;
		if (addr)
			dev = ipoib_match_address(intf, addr);
		if (dev)
			break;
	}
	if (!dev && matches == 1)
		dev = ipoib_match_master(only);
	rcu_read_unlock();
	mutex_unlock(&hca->lock);
	return dev;
}

static struct ib_client ipoib_client = {
	.name = "ipoib",
	.add = ipoib_add_hca,
	.remove = ipoib_remove_hca,
	.get_net_dev_by_params = ipoib_get_net_dev_by_params,
};

static int __init ipoib_init(void)
{
	int err;

	ipoib_rtnl_wq = alloc_workqueue("ipoib_rtnl", WQ_PERCPU, 0);
	if (!ipoib_rtnl_wq)
		return -ENOMEM;
	ipoib_debugfs_init();
	err = register_netdevice_notifier(&ipoib_netdev_notifier);
	if (err)
		goto err_destroy_wq;
	err = rtnl_link_register(&ipoib_link_ops);
	if (err)
		goto err_unregister_notifier;
	ib_sa_register_client(&ipoib_sa_client);
	err = ib_register_client(&ipoib_client);
	if (err)
		goto err_unregister_sa;
	return 0;

err_unregister_sa:
	ib_sa_unregister_client(&ipoib_sa_client);
	rtnl_link_unregister(&ipoib_link_ops);
err_unregister_notifier:
	unregister_netdevice_notifier(&ipoib_netdev_notifier);
err_destroy_wq:
	ipoib_debugfs_exit();
	destroy_workqueue(ipoib_rtnl_wq);
	return err;
}

static void __exit ipoib_exit(void)
{
	ib_unregister_client(&ipoib_client);
	ib_sa_unregister_client(&ipoib_sa_client);
	/* Waits for children that somebody else is still taking away. */
	rtnl_link_unregister(&ipoib_link_ops);
	unregister_netdevice_notifier(&ipoib_netdev_notifier);
	ipoib_debugfs_exit();
	destroy_workqueue(ipoib_rtnl_wq);
	ipoib_keep_free();
	/* Destinations are freed behind their readers. */
	rcu_barrier();
}

module_init(ipoib_init);
module_exit(ipoib_exit);

MODULE_ALIAS_RTNL_LINK("ipoib");
MODULE_DESCRIPTION("IP over InfiniBand (RFC 4391)");
MODULE_AUTHOR("The openipoib developers");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(OPENIPOIB_VERSION);
