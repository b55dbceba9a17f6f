// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The module: an ib_client that makes an interface of each port whose link
 * layer is InfiniBand.
 */
#include <linux/log2.h>
#include <linux/module.h>

#include "ipoib.h"

unsigned int ipoib_send_queue_size = IPOIB_TX_RING_DEFAULT;
unsigned int ipoib_recv_queue_size = IPOIB_RX_RING_DEFAULT;
struct ib_sa_client ipoib_sa_client;

static int ring_size_set(const char *value, const struct kernel_param *param)
{
	unsigned int size;
	int err = kstrtouint(value, 0, &size);

	if (err)
		return err;
	if (size < IPOIB_RING_MIN || size > IPOIB_RING_MAX) {
		pr_err("%s=%u: must be between %u and %u\n", param->name, size,
		       IPOIB_RING_MIN, IPOIB_RING_MAX);
		return -ERANGE;
	}
	*(unsigned int *)param->arg = roundup_pow_of_two(size);
	return 0;
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

/**
 * struct ipoib_hca - what the client keeps for a HCA
 * @lock: guards @intfs
 * @intfs: struct ipoib_intf by their list member
 */
struct ipoib_hca {
	struct mutex lock; /* guards intfs */
	struct list_head intfs;
};

static struct ib_client ipoib_client;

static int ipoib_add_hca(struct ib_device *ca)
{
	struct ipoib_hca *hca = kzalloc(sizeof(*hca), GFP_KERNEL);
	struct ipoib_intf *intf;
	u32 port;

	if (!hca)
		return -ENOMEM;
	mutex_init(&hca->lock);
	INIT_LIST_HEAD(&hca->intfs);
	rdma_for_each_port(ca, port) {
		if (!rdma_protocol_ib(ca, port))
			continue;
		intf = ipoib_intf_create(ca, port);
		if (IS_ERR(intf)) {
			pr_warn("%s port %u: no interface: error %ld\n",
				dev_name(&ca->dev), port, PTR_ERR(intf));
			continue;
		}
		mutex_lock(&hca->lock);
		list_add_tail(&intf->list, &hca->intfs);
		mutex_unlock(&hca->lock);
	}
	if (list_empty(&hca->intfs)) {
		mutex_destroy(&hca->lock);
		kfree(hca);
		return -EOPNOTSUPP;
	}
	ib_set_client_data(ca, &ipoib_client, hca);
	return 0;
}

static void ipoib_remove_hca(struct ib_device *ca, void *client_data)
{
	struct ipoib_hca *hca = client_data;
	struct ipoib_intf *intf, *next;
	LIST_HEAD(intfs);

	mutex_lock(&hca->lock);
	list_splice_init(&hca->intfs, &intfs);
	mutex_unlock(&hca->lock);
	list_for_each_entry_safe(intf, next, &intfs, list)
		ipoib_intf_destroy(intf);
	mutex_destroy(&hca->lock);
	kfree(hca);
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

	ib_sa_register_client(&ipoib_sa_client);
	err = ib_register_client(&ipoib_client);
	if (err)
		ib_sa_unregister_client(&ipoib_sa_client);
	return err;
}

static void __exit ipoib_exit(void)
{
	ib_unregister_client(&ipoib_client);
	ib_sa_unregister_client(&ipoib_sa_client);
	ipoib_keep_free();
	/* Destinations are freed behind their readers. */
	rcu_barrier();
}

module_init(ipoib_init);
module_exit(ipoib_exit);

MODULE_DESCRIPTION("IP over InfiniBand (RFC 4391)");
MODULE_AUTHOR("The openipoib developers");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(OPENIPOIB_VERSION);
