// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Faults of an HCA, to test with: see fault.h.
 *
 * An HCA that has failed takes no work any more: posting returns -EIO. What was posted is
 * flushed by its driver, as mlx4 and mlx5 do: but nothing of shared receive queues, and no
 * event says that their last request has been taken. Commands fail, but for those that take
 * things away: what its driver cannot ask the HCA for any more, it says has been done.
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
}
