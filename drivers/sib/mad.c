// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Management datagrams: ib_mad hands the HCA those that came to QP0 and QP1,
 * sma.c and pma.c answer them. Also what the management agent does to the rest
 * of the device.
 */
#include <linux/bitops.h>
#include <net/checksum.h>

#include "cover.h"
#include "sib.h"

static struct sib_port *sma_to_port(struct sib_sma *sma)
{
	return container_of(sma, struct sib_port, sma);
}

/*
 * ib_core flushes events while it unregisters a device, after the last
 * reference taken here is gone; one dispatched later would outlive the device.
 */
static void mad_event(struct sib_sma *sma, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &port_to_dev(sma_to_port(sma))->ibdev,
		.element.port_num = 1,
		.event = type,
	};

	if (!ib_device_try_get(event.device))
		return;
	ib_dispatch_event(&event);
	ib_device_put(event.device);
}

static void mad_phys(struct sib_sma *sma, enum sib_phys_state phys)
{
	sib_port_set_phys(sma_to_port(sma), phys);
}

static int gather_smp(const void *src, void *to, u32 len, __wsum *sum)
{
	*sum = csum_partial_copy_nocheck(src, to, len);
	return 0;
}

static int mad_send(struct sib_sma *sma, u16 dlid, u8 sl, const struct ib_smp *smp)
{
	struct sib_pkt pkt = {
		.vl = SIB_VL15,
		.sl = sl,
		.opcode = SIB_OP_UD_SEND,
		.slid = READ_ONCE(sma->lid),
		.dlid = dlid,
		.pkey = IB_DEFAULT_PKEY_FULL,
		.plen = sizeof(*smp),
	};
	int ret = sib_xmit(sma_to_port(sma), &pkt, gather_smp, smp, jiffies);

	return min(ret, 0);
}

const struct sib_sma_ops sib_mad_sma_ops = {
	.event = mad_event,
	.phys = mad_phys,
	.send = mad_send,
};

/**
 * sib_process_mad - ib_device_ops.process_mad
 * @ibdev: the device
 * @flags: IB_MAD_IGNORE_MKEY
 * @port_num: 1
 * @wc: completion of the receive request, for the source LID
 * @grh: unused
 * @in: request
 * @out: response
 * @out_size: unchanged, all MADs have 256 bytes
 * @out_pkey_index: unchanged
 *
 * A request that comes while the device is unregistered is not answered.
 *
 * Context: process. Return: IB_MAD_RESULT_*.
 */
int sib_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *wc,
		    const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index)
{
	struct sib_port *port = &to_sib(ibdev)->port;
	int ret;

	if (READ_ONCE(port->mad_stopped) && !ib_response_mad(&in->mad_hdr))
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	switch (in->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
		sib_cover_start();
		ret = sib_sma_process(&port->sma, !(flags & IB_MAD_IGNORE_MKEY),
				      wc ? wc->slid : 0, (const struct ib_smp *)in,
				      (struct ib_smp *)out, jiffies);
		sib_cover_stop();
		sib_port_kick(port);	/* a trap may have become due */
		return ret;
	case IB_MGMT_CLASS_PERF_MGMT:
		sib_cover_start();
		sib_port_pma_refresh(port);
		ret = sib_pma_process(&port->pma, in, out);
		sib_cover_stop();
		return ret;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}

static int client_add(struct ib_device *ibdev)
{
	if (ibdev->ops.process_mad != sib_process_mad)
		return -EOPNOTSUPP;
	WRITE_ONCE(to_sib(ibdev)->port.mad_stopped, false);
	return 0;
}

static void client_remove(struct ib_device *ibdev, void *data)
{
	struct sib_port *port = &to_sib(ibdev)->port;
	struct sib_qp *qp;
	int qpn;

	WRITE_ONCE(port->mad_stopped, true);
	for (qpn = 0; qpn <= 1; qpn++) {
		qp = xa_load(&port->qps, qpn);
		if (qp && qp->ibqp.recv_cq->comp_wq)
			flush_work(&qp->ibqp.recv_cq->work);
	}
}

/*
 * When a device goes, ib_mad takes away its agents and QPs, the last of all
 * clients, while its work item may be just about to answer a request with them: it
 * waits for that one only later. This client goes before it. Requests then end in
 * sib_process_mad(), and the last one that did not has been answered.
 */
struct ib_client sib_mad_client = {
	.name = KBUILD_MODNAME,
	.add = client_add,
	.remove = client_remove,
};
