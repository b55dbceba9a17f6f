/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * How the datagrams of an interface are sent and received. What the stack gives to
 * send does not come through here: each way has its own ndo_start_xmit.
 */
#ifndef IPOIB_DATA_H
#define IPOIB_DATA_H

#include <linux/types.h>

struct ipoib_dest;
struct ipoib_intf;
union ib_gid;

/**
 * struct ipoib_data_ops - a way to send and receive datagrams
 * @create: make what lives as long as the netdev is registered, and say the queue pair
 *	number of the hardware address; 0 or a negative error, with nothing left behind;
 *	rtnl
 * @destroy: the reverse; rtnl, the interface is stopped
 * @start: begin to send and receive with the present P_Key index, or have that begin
 *	soon; 0 or a negative error, stopped then; control
 * @stop: complete or abandon all work, of a stopped one nothing; control
 * @set_qkey: use the Q_Key of the broadcast group, host byte order; control
 * @send_held: send what waits at a destination that has an address handle now; all
 *	transmit locks
 * @attach_mcast: receive a group; control
 * @detach_mcast: the reverse; control
 */
struct ipoib_data_ops {
	int (*create)(struct ipoib_intf *intf, u32 *qpn);
	void (*destroy)(struct ipoib_intf *intf);
	int (*start)(struct ipoib_intf *intf);
	void (*stop)(struct ipoib_intf *intf);
	int (*set_qkey)(struct ipoib_intf *intf, u32 qkey);
	void (*send_held)(struct ipoib_intf *intf, struct ipoib_dest *dest);
	int (*attach_mcast)(struct ipoib_intf *intf, union ib_gid *mgid,
			    u16 mlid);
	int (*detach_mcast)(struct ipoib_intf *intf, union ib_gid *mgid,
			    u16 mlid);
};

/* qp.c, accel.c */
extern const struct ipoib_data_ops ipoib_data_own;
extern const struct ipoib_data_ops ipoib_data_hca;

#endif /* IPOIB_DATA_H */
