// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Netdevs with room for what a HCA that accelerates them needs (accel.c), and what becomes of
 * those that it does not accelerate after all: they get queue pairs of this driver.
 */
#include "accel.h"
#include "ipoib.h"
#include "netdev_lock.h"

/* All transmit locks are taken at once, and a processor counts no more than 255. */
#define ACCEL_TXQ_MAX	192

/**
 * ipoib_accel_alloc_netdev - a netdev with room for what the HCA needs
 * @ca: HCA
 * @port: InfiniBand port of it, from 1
 * @name: of the netdev
 * @name_assign_type: who has chosen it
 *
 * As rdma_alloc_netdev(), but with no more queues than can be locked, and enough of them for
 * an interface that is not accelerated after all. See ipoib_accel_hca().
 *
 * Context: process.
 * Return: the netdev, an error pointer of -EOPNOTSUPP if the HCA does not accelerate, or
 *	of another error.
 */
struct net_device *ipoib_accel_alloc_netdev(struct ib_device *ca, u32 port,
					    const char *name,
					    unsigned char name_assign_type)
{
	struct rdma_netdev_alloc_params params = {};
	struct net_device *dev;
	unsigned int txqs;
	int err;

	if (!ca->ops.rdma_netdev_get_params)
		return ERR_PTR(-EOPNOTSUPP);
	err = ca->ops.rdma_netdev_get_params(ca, port, RDMA_NETDEV_IPOIB,
					     &params);
	if (err)
		return ERR_PTR(err);
	txqs = clamp_t(size_t, params.txqs, 1, ACCEL_TXQ_MAX);
	dev = alloc_netdev_mqs(params.sizeof_priv, name, name_assign_type, ipoib_intf_setup,
			       max_t(unsigned int, txqs, IPOIB_TXQ_MAX), params.rxqs);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	netif_set_real_num_tx_queues(dev, txqs);
	((struct rdma_netdev *)netdev_priv(dev))->hca = ca;
	return dev;
}

/**
 * ipoib_accel_hca - the HCA for which a netdev was made by ipoib_accel_alloc_netdev()
 * @dev: netdev for an interface, not registered yet
 *
 * Return: the HCA, or NULL if the netdev was made in another way.
 */
struct ib_device *ipoib_accel_hca(const struct net_device *dev)
{
	return ((const struct rdma_netdev *)netdev_priv(dev))->hca;
}

/**
 * ipoib_accel_declined - can an interface do without the HCA that has not accelerated it
 * @ca: HCA
 * @port: InfiniBand port of it, from 1
 * @pkey: P_Key of the interface
 * @err: what came of registering it
 *
 * Says in the log why it has to, unless the HCA accelerates nothing.
 *
 * Return: true if it can; false if nothing has failed, or the name is taken.
 */
bool ipoib_accel_declined(struct ib_device *ca, u32 port, u16 pkey, int err)
{
	struct rdma_netdev_alloc_params params = {};

	if (!err || err == -EEXIST)
		return false;
	if (err == -EOPNOTSUPP)
		return true;
	pr_warn("%s port %u: P_Key 0x%04x has queue pairs of this driver: the HCA does not accelerate it, error %d\n",
		dev_name(&ca->dev), port, pkey, err);
	/* Many do with fewer than they ask for. */
	if (!ca->ops.rdma_netdev_get_params(ca, port, RDMA_NETDEV_IPOIB, &params) &&
	    params.txqs > ACCEL_TXQ_MAX)
		pr_warn("%s port %u: the HCA asks for %u transmit queues and was given %u\n",
			dev_name(&ca->dev), port, params.txqs, ACCEL_TXQ_MAX);
	return true;
}

/**
 * ipoib_accel_undo - have a netdev as if the HCA had not initialised it
 * @dev: not registered. One that is not from ipoib_accel_alloc_netdev() stays as it is.
 *
 * What rtnetlink has set stays.
 *
 * Context: process, rtnl.
 */
void ipoib_accel_undo(struct net_device *dev)
{
	unsigned int tx_queue_len = dev->tx_queue_len;

	if (!ipoib_accel_hca(dev))
		return;
	memset(netdev_priv(dev), 0, sizeof(struct rdma_netdev));
	dev->priv_destructor = NULL;
	compat_forget_ops_lock(dev);
	ipoib_intf_setup(dev);
	dev->tx_queue_len = tx_queue_len;
	netif_set_real_num_rx_queues(dev, 1);
}
