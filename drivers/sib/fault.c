// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Faults of an HCA, to test with: see fault.h.
 *
 * An HCA that has failed takes no work any more: posting returns -EIO. What was posted is
 * flushed by its driver, as mlx4 and mlx5 do: but nothing of shared receive queues, and no
 * event says that their last request has been taken. Commands fail, but for those that take
 * things away: what its driver cannot ask the HCA for any more, it says has been done.
 *
 * A request that fails takes its queue pair with it, as HCAs do: a send request of UD to SQE, any
 * other to ERR.
 */
#include <linux/debugfs.h>

#include "sib.h"

static void fail_qps(struct sib_port *port)
{
	struct sib_qp *qp;
	unsigned long qpn;

	spin_lock_bh(&port->lock);
	xa_for_each(&port->qps, qpn, qp) {
		/* Before a process has set it up, its number is reserved. */
		if (!qp || qp->attr.qp_state == IB_QPS_RESET)
			continue;
		qp->last_wqe = true;
		sib_qp_error(port, qp, -1);
	}
	spin_unlock_bh(&port->lock);
}

static int fatal_get(void *data, u64 *value)
{
	struct sib_dev *dev = data;

	*value = sib_fault_is_fatal(&dev->fault);
	return 0;
}

/* There is no way back but to remove the HCA and to make it again. */
static int fatal_set(void *data, u64 value)
{
	struct sib_dev *dev = data;
	struct ib_event event = { .device = &dev->ibdev, .event = IB_EVENT_DEVICE_FATAL };

	if (value != 1)
		return -EINVAL;
	if (sib_fault_is_fatal(&dev->fault))
		return 0;
	if (!ib_device_try_get(&dev->ibdev))
		return -ENODEV;
	WRITE_ONCE(dev->fault.fatal, true);
	fail_qps(&dev->port);
	/* Of the whole HCA: mlx4 says port 0 */
	ib_dispatch_event(&event);
	ib_device_put(&dev->ibdev);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(fatal_fops, fatal_get, fatal_set, "%llu\n");

/* A queue pair that a fault may be given to: none of ib_mad, and one that is in use; or NULL */
static struct sib_qp *find_qp(struct sib_port *port, u64 qpn)
{
	struct sib_qp *qp = qpn > 1 && qpn <= SIB_QPN_LAST ? xa_load(&port->qps, qpn) : NULL;

	lockdep_assert_held(&port->lock);
	if (!qp || qp->attr.qp_state < IB_QPS_RTR || qp->attr.qp_state == IB_QPS_ERR)
		return NULL;
	return qp;
}

/* What befalls the queue pair @qpn: with @cq, the CQ that it receives to is in error as well. */
static int qp_fails(struct sib_dev *dev, u64 qpn, bool cq)
{
	struct sib_port *port = &dev->port;
	struct sib_qp *qp;

	if (!ib_device_try_get(&dev->ibdev))
		return -ENODEV;
	spin_lock_bh(&port->lock);
	qp = find_qp(port, qpn);
	if (qp && cq)
		sib_cq_error(to_scq(qp->ibqp.recv_cq));
	if (qp)
		sib_qp_fatal(port, qp, IB_EVENT_QP_FATAL);
	spin_unlock_bh(&port->lock);
	sib_port_kick(port);
	ib_device_put(&dev->ibdev);
	return qp ? 0 : -ENOENT;
}

static int fail_qp_set(void *data, u64 value)
{
	return qp_fails(data, value, false);
}

DEFINE_DEBUGFS_ATTRIBUTE(fail_qp_fops, NULL, fail_qp_set, "%llu\n");

static int fail_cq_set(void *data, u64 value)
{
	return qp_fails(data, value, true);
}

DEFINE_DEBUGFS_ATTRIBUTE(fail_cq_fops, NULL, fail_cq_set, "%llu\n");

static int swap_pkeys_set(void *data, u64 value)
{
	struct sib_dev *dev = data;
	int err;

	if (!ib_device_try_get(&dev->ibdev))
		return -ENODEV;
	err = sib_sma_swap_pkeys(&dev->port.sma, value);
	ib_device_put(&dev->ibdev);
	return err;
}

DEFINE_DEBUGFS_ATTRIBUTE(swap_pkeys_fops, NULL, swap_pkeys_set, "%llu\n");

static int gid_prefix_get(void *data, u64 *value)
{
	struct sib_dev *dev = data;

	*value = be64_to_cpu(READ_ONCE(dev->port.sma.gid_prefix));
	return 0;
}

static int gid_prefix_set(void *data, u64 value)
{
	struct sib_dev *dev = data;

	if (!ib_device_try_get(&dev->ibdev))
		return -ENODEV;
	sib_sma_set_gid_prefix(&dev->port.sma, cpu_to_be64(value));
	ib_device_put(&dev->ibdev);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(gid_prefix_fops, gid_prefix_get, gid_prefix_set, "0x%016llx\n");

static void show_wc(struct sib_fault_wc *wc, struct dentry *dir, const char *left,
		    const char *status)
{
	wc->status = IB_WC_GENERAL_ERR;
	debugfs_create_u32(left, 0600, dir, &wc->left);
	debugfs_create_u32(status, 0600, dir, &wc->status);
}

/**
 * sib_fault_show - make the faults of an HCA accessible
 * @dev: the HCA
 * @dir: folder of debugfs for the files
 *
 * Context: process.
 */
void sib_fault_show(struct sib_dev *dev, struct dentry *dir)
{
	debugfs_create_file_unsafe("fatal", 0600, dir, dev, &fatal_fops);
	debugfs_create_u32("command_ms", 0600, dir, &dev->fault.command_ms);
	debugfs_create_u32("fail_commands", 0600, dir, &dev->fault.fail_commands);
	debugfs_create_u32("event_us", 0600, dir, &dev->fault.event_us);
	show_wc(&dev->fault.sends, dir, "fail_sends", "send_status");
	show_wc(&dev->fault.recvs, dir, "fail_receives", "receive_status");
	debugfs_create_file_unsafe("fail_qp", 0200, dir, dev, &fail_qp_fops);
	debugfs_create_file_unsafe("fail_cq", 0200, dir, dev, &fail_cq_fops);
	debugfs_create_file_unsafe("swap_pkeys", 0200, dir, dev, &swap_pkeys_fops);
	debugfs_create_file_unsafe("gid_prefix", 0600, dir, dev, &gid_prefix_fops);
}
