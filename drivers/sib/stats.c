// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * hw_counters: /sys/class/infiniband/DEV/ports/1/hw_counters and `rdma
 * statistic`. Every counter is a u64 in one of the structures of a port; the
 * table says where.
 */
#include "sib.h"

#define LINK(field) { { .name = "link_" #field }, offsetof(struct sib_port, link.stats.field) }
#define RC(field) { { .name = "rc_" #field }, offsetof(struct sib_port, rc_stats.field) }
#define PORT(field) { { .name = #field }, offsetof(struct sib_port, stats.field) }

static const struct {
	struct rdma_stat_desc desc;
	size_t offset;
} counters[] = {
	LINK(tx_data), LINK(rx_data), LINK(tx_ack), LINK(rx_ack), LINK(tx_hello),
	LINK(rx_hello), LINK(retransmit), LINK(rto), LINK(gap_sent), LINK(gap_rcvd),
	LINK(rx_dup), LINK(rx_reorder), LINK(rx_window), LINK(rx_version), LINK(rx_type),
	LINK(rx_length), LINK(rx_check), LINK(rx_session), LINK(rx_foreign), LINK(rx_loop),
	LINK(window_full), LINK(alloc_fail), LINK(up), LINK(down), LINK(timeout),
	LINK(restart), LINK(stall),
	PORT(rx_malformed), PORT(rx_opcode), PORT(rx_lid), PORT(rx_gid), PORT(rx_state),
	PORT(rx_vl), PORT(rx_no_qp), PORT(rx_no_mcast), PORT(rx_pkey), PORT(rx_qkey),
	PORT(rx_no_wqe), PORT(rx_too_long), PORT(rx_mtu), PORT(rx_mcast_limit),
	PORT(rx_queue_full), PORT(rx_lost), PORT(tx_discard), PORT(tx_loop), PORT(tx_loop_full),
	PORT(cq_overflow), PORT(cq_stale), PORT(alloc_fail),
	RC(rx_dup), RC(rx_gap), RC(rx_ghost), RC(rx_refused), RC(tx_ack), RC(tx_nak),
	RC(tx_rnr), RC(rx_nak), RC(rx_rnr), RC(timeout), RC(retry),
};

static struct rdma_stat_desc descs[ARRAY_SIZE(counters)];

/**
 * sib_stats_init - prepare the table ib_core wants; once, at module load
 */
void sib_stats_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		descs[i] = counters[i].desc;
}

/**
 * sib_alloc_hw_port_stats - ib_device_ops.alloc_hw_port_stats
 * @ibdev: the device
 * @port_num: 1
 *
 * Return: the structure, or NULL.
 */
struct rdma_hw_stats *sib_alloc_hw_port_stats(struct ib_device *ibdev, u32 port_num)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs), 0);
}

/**
 * sib_get_hw_stats - ib_device_ops.get_hw_stats
 * @ibdev: the device
 * @stats: filled in
 * @port_num: 1, or 0 for the device, which has none
 * @index: ignored, all counters are filled in
 *
 * Return: how many.
 */
int sib_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port_num,
		     int index)
{
	struct sib_port *port = &to_sib(ibdev)->port;
	unsigned int i;

	if (port_num != 1)
		return 0;
	spin_lock_bh(&port->lock);
	port->stats.rx_queue_full = atomic_long_read(&port->rx_overrun);
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		stats->value[i] = *(u64 *)((u8 *)port + counters[i].offset);
	spin_unlock_bh(&port->lock);
	return ARRAY_SIZE(counters);
}
