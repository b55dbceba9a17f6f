/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A world of connections, for suites that include cm.c and cm_dest.c: links, ring and
 * receive side are fakes. ipoib_cm_tx_create(), ipoib_cm_push() and ipoib_tx_datagram()
 * are the suite's own.
 */
#ifndef IPOIB_CONN_WORLD_H
#define IPOIB_CONN_WORLD_H

#define CONFIG_OPENIPOIB_CM 1
#include "ipoib_world.h"

#include "cm_tx.h"

/* What the fakes count; @room is how many packets the ring still takes. */
static struct {
	u32 room;
	u32 links;
	u32 ended;
	u32 graceful;
	u32 pushed;
	u32 datagrams;
} conns;

unsigned int ipoib_nonsrq_connections = 128;

static struct ib_cq *fake_create_cq(const struct ib_cq_init_attr *attr)
{
	return kzalloc(sizeof(struct ib_cq), GFP_KERNEL);
}

#undef ib_create_cq
#define ib_create_cq(ca, handler, event, context, attr) fake_create_cq(attr)
#define ib_destroy_cq(cq) kfree(cq)

/* A link of a connection, or an error */
static struct ipoib_cm_tx *fake_link(struct ipoib_conn *conn)
{
	struct ipoib_cm_tx *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return ERR_PTR(-ENOMEM);
	link->conn = conn;
	conns.links++;
	return link;
}

void ipoib_cm_tx_end(struct ipoib_cm_tx *link, bool graceful)
{
	conns.ended++;
	conns.graceful += graceful;
	kfree(link);
}

bool ipoib_cm_tx_usable(const struct ipoib_cm_tx *link)
{
	return !link->broken;
}

bool ipoib_cm_has_room(const struct ipoib_intf *intf)
{
	return conns.room;
}

void ipoib_cm_doorbell(struct ipoib_txq *txq)
{
}

void ipoib_cm_tx_tick(struct ipoib_cm *cm)
{
}

int ipoib_cm_rx_start(struct ipoib_cm *cm)
{
	return 0;
}

void ipoib_cm_rx_stop(struct ipoib_cm *cm)
{
}

void ipoib_cm_rx_tick(struct ipoib_cm *cm)
{
}

int ipoib_cm_rxq_create(struct ipoib_cm *cm)
{
	return 0;
}

void ipoib_cm_rxq_destroy(struct ipoib_cm *cm)
{
}

u32 ipoib_cm_rxq_frame_max(const struct ipoib_cm_rxq *rxq)
{
	return IPOIB_CM_FRAME_MAX;
}

void ipoib_tx_comp_handler(struct ib_cq *cq, void *context)
{
}

void ipoib_intf_update_mtu(struct ipoib_intf *intf, bool connected)
{
}

#endif /* IPOIB_CONN_WORLD_H */
