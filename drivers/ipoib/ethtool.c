// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* ethtool: driver, link, rings, queues and the counters that ip does not show. */
#include <linux/ethtool.h>
#include <linux/log2.h>

#include "ipoib.h"
#include "netdev_lock.h"

enum {
	STAT_TX_STALLS,
	STAT_PATH_QUERIES,
	STAT_PATHS_ASKED,
	STAT_PATHS_FRESH,
	STAT_PATHS_WRONG,
	STAT_PATHS_ODD,
	STAT_JOINS,
	STAT_JOINS_WRONG,
	STAT_JOINS_ODD,
	STAT_FLUSH_LIGHT,
	STAT_FLUSH_NORMAL,
	STAT_FLUSH_HEAVY,
	STAT_FLUSH_RESTART,
	STAT_PENDING_BYTES,
	STAT_DESTINATIONS,
	STAT_DESTINATIONS_REFUSED,
	STAT_TX_TOO_LONG,
	STAT_TX_LSO,
	STAT_SENDS_REFUSED,
	STAT_RECEIVES_REFUSED,
	STAT_CM_CONNECTS,
	STAT_CM_ACCEPTS,
	STAT_CM_REFUSED,
	STAT_CM_REJECTS,
	STAT_CM_OUT_FULL,
	STAT_CM_IN_FULL,
	STAT_CM_LOST,
	STAT_CM_PARTIAL,
	STAT_CM_OUT,
	STAT_CM_IN,
	STAT_CM_SETUPS,
	STAT_COUNT,
};

static const char stat_names[STAT_COUNT][ETH_GSTRING_LEN] = {
	[STAT_TX_STALLS] = "tx_stalls",
	[STAT_PATH_QUERIES] = "path_queries",
	[STAT_PATHS_ASKED] = "path_queries_under_way",
	[STAT_PATHS_FRESH] = "paths_unknown",
	[STAT_PATHS_WRONG] = "path_answers_wrong",
	[STAT_PATHS_ODD] = "path_answers_odd",
	[STAT_JOINS] = "multicast_joins",
	[STAT_JOINS_WRONG] = "multicast_answers_wrong",
	[STAT_JOINS_ODD] = "multicast_answers_odd",
	[STAT_FLUSH_LIGHT] = "flush_light",
	[STAT_FLUSH_NORMAL] = "flush_normal",
	[STAT_FLUSH_HEAVY] = "flush_heavy",
	[STAT_FLUSH_RESTART] = "flush_restart",
	[STAT_PENDING_BYTES] = "pending_bytes",
	[STAT_DESTINATIONS] = "destinations",
	[STAT_DESTINATIONS_REFUSED] = "destinations_refused",
	[STAT_TX_TOO_LONG] = "tx_too_long",
	[STAT_TX_LSO] = "tx_lso",
	[STAT_SENDS_REFUSED] = "sends_refused",
	[STAT_RECEIVES_REFUSED] = "receives_refused",
	[STAT_CM_CONNECTS] = "cm_connects",
	[STAT_CM_ACCEPTS] = "cm_accepts",
	[STAT_CM_REFUSED] = "cm_refused",
	[STAT_CM_REJECTS] = "cm_rejects",
	[STAT_CM_OUT_FULL] = "cm_tx_full",
	[STAT_CM_IN_FULL] = "cm_rx_full",
	[STAT_CM_LOST] = "cm_lost",
	[STAT_CM_PARTIAL] = "cm_tx_partial",
	[STAT_CM_OUT] = "cm_tx_connections",
	[STAT_CM_IN] = "cm_rx_connections",
	[STAT_CM_SETUPS] = "cm_connects_under_way",
};

/* Of each transmit queue, behind those of the interface: packets, bytes, stalls. */
#define QUEUE_STATS	3

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	ib_get_device_fw_str(intf->ca, info->fw_version);
	strscpy(info->driver, KBUILD_MODNAME, sizeof(info->driver));
	strscpy(info->version, OPENIPOIB_VERSION, sizeof(info->version));
	strscpy(info->bus_info, dev_name(intf->ca->dev.parent ?: &intf->ca->dev),
		sizeof(info->bus_info));
}

/* Signalling rate of one lane [Mbit/s] (IBA 14.2.5.6). */
static int lane_rate(u16 speed)
{
	switch (speed) {
	case IB_SPEED_SDR:
		return SPEED_2500;
	case IB_SPEED_DDR:
		return SPEED_5000;
	case IB_SPEED_QDR:
	case IB_SPEED_FDR10:
		return SPEED_10000;
	case IB_SPEED_FDR:
		return SPEED_14000;
	case IB_SPEED_EDR:
		return SPEED_25000;
	case IB_SPEED_HDR:
		return SPEED_50000;
	case IB_SPEED_NDR:
		return SPEED_100000;
	case IB_SPEED_XDR:
		return SPEED_200000;
	default:
		return SPEED_UNKNOWN;
	}
}

static int get_link_ksettings(struct net_device *dev,
			      struct ethtool_link_ksettings *settings)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	struct ib_port_attr attr;
	int lanes, rate;

	settings->base.autoneg = AUTONEG_DISABLE;
	settings->base.port = PORT_OTHER;
	settings->base.duplex = DUPLEX_UNKNOWN;
	settings->base.speed = SPEED_UNKNOWN;
	if (!netif_carrier_ok(dev) ||
	    ib_query_port(intf->ca, intf->port, &attr))
		return 0;
	lanes = ib_width_enum_to_int(attr.active_width);
	rate = lane_rate(attr.active_speed);
	if (lanes > 0 && rate != SPEED_UNKNOWN) {
		settings->base.speed = lanes * rate;
		settings->base.duplex = DUPLEX_FULL;
	}
	return 0;
}

#define HCAS_QUEUES	"the HCA accelerates the interface: its queues are not to be set here"

#define RINGS_REFUSED \
	"rings take " __stringify(IPOIB_RING_MIN) " packets or more"

static void get_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			  struct kernel_ethtool_ringparam *kernel_ring,
			  struct netlink_ext_ack *extack)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	if (intf->accel)
		return;
	ring->rx_max_pending = ipoib_qp_ring_max(intf->ca);
	ring->tx_max_pending = ipoib_qp_ring_max(intf->ca);
	ring->rx_pending = intf->rxq.size;
	ring->tx_pending = intf->txq[0].size;
}

/* The stack refuses what is more than the maximum. */
static int set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *kernel_ring,
			 struct netlink_ext_ack *extack)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	u32 most = ipoib_qp_ring_max(intf->ca);
	u32 tx, rx;
	int err;

	if (ring->tx_pending < IPOIB_RING_MIN || ring->rx_pending < IPOIB_RING_MIN) {
		NL_SET_ERR_MSG(extack, RINGS_REFUSED);
		return -ERANGE;
	}
	/* The bond has the hardware address, and would not hear of another. */
	if (netif_is_bond_slave(dev)) {
		NL_SET_ERR_MSG(extack, "not while the interface is in a bond");
		return -EBUSY;
	}
	tx = min_t(u32, roundup_pow_of_two(ring->tx_pending), most);
	rx = min_t(u32, roundup_pow_of_two(ring->rx_pending), most);
	if (tx == intf->txq[0].size && rx == intf->rxq.size)
		return 0;
	err = ipoib_resize(intf, tx, rx);
	if (err)
		NL_SET_ERR_MSG(extack, "no memory, or the HCA does not have such rings");
	return err;
}

static int get_coalesce(struct net_device *dev, struct ethtool_coalesce *coal,
			struct kernel_ethtool_coalesce *kernel_coal,
			struct netlink_ext_ack *extack)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	coal->tx_coalesce_usecs = intf->queues.tx_usecs;
	coal->tx_max_coalesced_frames = intf->queues.tx_frames;
	coal->rx_coalesce_usecs = intf->queues.rx_usecs;
	coal->rx_max_coalesced_frames = intf->queues.rx_frames;
	coal->use_adaptive_rx_coalesce = intf->queues.rx_adaptive;
	return 0;
}

/* Completions that nothing follows would never be told of without a time. */
static bool coalesce_valid(u32 usecs, u32 frames)
{
	return usecs <= U16_MAX && frames <= U16_MAX && (usecs || frames <= 1);
}

static int set_coalesce(struct net_device *dev, struct ethtool_coalesce *coal,
			struct kernel_ethtool_coalesce *kernel_coal,
			struct netlink_ext_ack *extack)
{
	struct ipoib_queue_settings wanted = {
		.tx_usecs = coal->tx_coalesce_usecs,
		.tx_frames = coal->tx_max_coalesced_frames,
		.rx_usecs = coal->rx_coalesce_usecs,
		.rx_frames = coal->rx_max_coalesced_frames,
		.rx_adaptive = coal->use_adaptive_rx_coalesce,
	};
	struct ipoib_intf *intf = ipoib_priv(dev);
	int err;

	if (intf->accel) {
		NL_SET_ERR_MSG(extack, HCAS_QUEUES);
		return -EOPNOTSUPP;
	}
	if (!coalesce_valid(coal->tx_coalesce_usecs, coal->tx_max_coalesced_frames) ||
	    !coalesce_valid(coal->rx_coalesce_usecs, coal->rx_max_coalesced_frames)) {
		NL_SET_ERR_MSG(extack, "usecs and frames are at most 65535, and frames need usecs");
		return -ERANGE;
	}
	err = ipoib_moderate(intf, &wanted);
	if (err == -EOPNOTSUPP)
		NL_SET_ERR_MSG(extack, "the HCA cannot moderate completions");
	else if (err)
		NL_SET_ERR_MSG(extack, "the HCA refuses to moderate completions so");
	return err;
}

static void get_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	if (intf->accel) {
		channels->max_rx = dev->real_num_rx_queues;
		channels->rx_count = dev->real_num_rx_queues;
		channels->max_tx = dev->real_num_tx_queues;
		channels->tx_count = dev->real_num_tx_queues;
		return;
	}
	channels->max_rx = 1;
	channels->rx_count = 1;
	channels->max_tx = IPOIB_TXQ_MAX;
	channels->tx_count = intf->tx_queues;
}

/* The stack refuses what is more than the maximum, or nothing. */
static int set_channels(struct net_device *dev, struct ethtool_channels *channels)
{
	struct ipoib_intf *intf = ipoib_priv(dev);

	if (intf->accel) {
		netdev_warn(dev, HCAS_QUEUES "\n");
		return -EOPNOTSUPP;
	}
	return ipoib_set_tx_queues(intf, channels->tx_count);
}

static int get_sset_count(struct net_device *dev, int sset)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);

	if (sset != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return STAT_COUNT + intf->tx_queues * QUEUE_STATS;
}

static void get_strings(struct net_device *dev, u32 sset, u8 *data)
{
	const struct ipoib_intf *intf = ipoib_priv(dev);
	u32 i;

	if (sset != ETH_SS_STATS)
		return;
	memcpy(data, stat_names, sizeof(stat_names));
	data += sizeof(stat_names);
	for (i = 0; i < intf->tx_queues; i++) {
		ethtool_sprintf(&data, "tx%u_packets", i);
		ethtool_sprintf(&data, "tx%u_bytes", i);
		ethtool_sprintf(&data, "tx%u_stalls", i);
	}
}

static u64 *get_queue_stats(const struct ipoib_txq *txq, u64 *data)
{
	const struct ipoib_counters *done = &txq->done;
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&done->sync);
		data[0] = u64_stats_read(&done->packets);
		data[1] = u64_stats_read(&done->bytes);
	} while (u64_stats_fetch_retry(&done->sync, start));
	data[2] = READ_ONCE(txq->stalls);
	return data + QUEUE_STATS;
}

static void get_tx_stats(const struct ipoib_intf *intf, u64 *data)
{
	int i;

	/* Queues that have gone count as well. */
	for (i = 0; i < IPOIB_TXQ_MAX; i++) {
		data[STAT_TX_STALLS] += READ_ONCE(intf->txq[i].stalls);
		data[STAT_TX_TOO_LONG] += READ_ONCE(intf->txq[i].too_long);
		data[STAT_TX_LSO] += READ_ONCE(intf->txq[i].lso);
	}
}

static void get_stats(struct net_device *dev, struct ethtool_stats *stats,
		      u64 *data)
{
	struct ipoib_intf *intf = ipoib_priv(dev);
	u64 *queue_data = data + STAT_COUNT;
	struct ipoib_cm_stats cm;
	u32 i;

	memset(data, 0, STAT_COUNT * sizeof(*data));
	get_tx_stats(intf, data);
	data[STAT_PATH_QUERIES] = READ_ONCE(intf->stat_path_queries);
	data[STAT_PATHS_ASKED] = READ_ONCE(intf->path.asked);
	data[STAT_PATHS_FRESH] = atomic_read(&intf->path.fresh);
	data[STAT_PATHS_WRONG] = READ_ONCE(intf->stat_paths_wrong);
	data[STAT_PATHS_ODD] = READ_ONCE(intf->stat_paths_odd);
	data[STAT_JOINS] = READ_ONCE(intf->stat_joins);
	data[STAT_JOINS_WRONG] = READ_ONCE(intf->stat_joins_wrong);
	data[STAT_JOINS_ODD] = READ_ONCE(intf->stat_joins_odd);
	for (i = 0; i < ARRAY_SIZE(intf->stat_flushes); i++)
		data[STAT_FLUSH_LIGHT + i] = READ_ONCE(intf->stat_flushes[i]);
	data[STAT_PENDING_BYTES] = atomic_read(&intf->pending_bytes);
	data[STAT_DESTINATIONS] = ipoib_dest_count(intf);
	data[STAT_DESTINATIONS_REFUSED] = READ_ONCE(intf->stat_dests_refused);
	data[STAT_SENDS_REFUSED] = atomic64_read(&intf->sends_refused);
	data[STAT_RECEIVES_REFUSED] = atomic64_read(&intf->receives_refused);
	for (i = 0; i < intf->tx_queues; i++)
		queue_data = get_queue_stats(&intf->txq[i], queue_data);
	if (!ipoib_cm_get_stats(intf, &cm))
		return;
	data[STAT_CM_CONNECTS] = cm.connects;
	data[STAT_CM_ACCEPTS] = cm.accepts;
	data[STAT_CM_REFUSED] = cm.refused;
	data[STAT_CM_REJECTS] = cm.rejects;
	data[STAT_CM_OUT_FULL] = cm.out_full;
	data[STAT_CM_IN_FULL] = cm.in_full;
	data[STAT_CM_LOST] = cm.lost;
	data[STAT_CM_PARTIAL] = cm.partial;
	data[STAT_CM_OUT] = cm.out;
	data[STAT_CM_IN] = cm.in;
	data[STAT_CM_SETUPS] = cm.setups;
}

/* An accelerated interface may have a lock: link and carrier are asked for with rtnl as well. */
static const struct ethtool_ops ipoib_ethtool_ops = {
	compat_op_needs_rtnl(ETHTOOL_OP_NEEDS_RTNL_GLINK)
	.get_drvinfo = get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = get_link_ksettings,
	.supported_coalesce_params = ETHTOOL_COALESCE_USECS |
				     ETHTOOL_COALESCE_MAX_FRAMES |
				     ETHTOOL_COALESCE_USE_ADAPTIVE_RX,
	.get_ringparam = get_ringparam,
	.set_ringparam = set_ringparam,
	.get_coalesce = get_coalesce,
	.set_coalesce = set_coalesce,
	.get_channels = get_channels,
	.set_channels = set_channels,
	.get_sset_count = get_sset_count,
	.get_strings = get_strings,
	.get_ethtool_stats = get_stats,
};

/**
 * ipoib_set_ethtool_ops - make an interface answer ethtool
 * @dev: interface
 */
void ipoib_set_ethtool_ops(struct net_device *dev)
{
	dev->ethtool_ops = &ipoib_ethtool_ops;
}
