// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * One IB packet on its way out: where it goes, whether the port may send it, its
 * headers, and its payload, gathered from wherever it is straight into the
 * packet.
 */
#include <linux/bitops.h>
#include <net/checksum.h>

#include "sib.h"

static bool is_own_lid(struct sib_port *port, u16 dlid)
{
	u16 lid = READ_ONCE(port->sma.lid);

	return lid && (dlid >> READ_ONCE(port->sma.lmc)) == (lid >> READ_ONCE(port->sma.lmc));
}

static void count_xmit(struct sib_port *port, const struct sib_pkt *pkt)
{
	sib_pma_inc(&port->pma, SIB_PC_XMIT_PKTS);
	sib_pma_add(&port->pma, SIB_PC_XMIT_DATA, pkt->len);
	sib_pma_inc(&port->pma, sib_lid_is_mcast(pkt->dlid) ? SIB_PC_MCAST_XMIT :
							     SIB_PC_UCAST_XMIT);
}

/**
 * sib_xmit_discard - count a packet that is not sent
 * @port: the port, locked
 */
void sib_xmit_discard(struct sib_port *port)
{
	port->stats.tx_discard++;
	sib_pma_inc(&port->pma, SIB_PC_XMIT_DISCARDS);
}

/* Whether the port may put a packet on the cable, and on which VL. */
static bool may_send(struct sib_port *port, struct sib_pkt *pkt)
{
	if (port->link.state != SIB_LINK_UP ||
	    SIB_LINK_HLEN + pkt->len > sib_link_max_frame(&port->link))
		return false;
	if (pkt->vl == SIB_VL15)
		return true;
	pkt->vl = READ_ONCE(port->sma.sl2vl[pkt->sl]);
	return READ_ONCE(port->sma.state) == IB_PORT_ACTIVE &&
	       sib_sma_has_lane(&port->sma, pkt->vl);
}

/* Headers, payload, pad and ICRC. Returns 0 or -EACCES. */
static int build(u8 *va, const struct sib_pkt *pkt, sib_gather_fn gather, const void *src,
		 __wsum *sum)
{
	u32 tail = pkt->hlen + pkt->plen;
	__wsum payload = 0;
	int err = 0;

	sib_pkt_build(va, pkt);
	if (pkt->plen)
		err = gather(src, va + pkt->hlen, pkt->plen, &payload);
	if (err)
		return err;
	memset(va + tail, 0, pkt->len - tail);
	*sum = csum_partial(va, pkt->hlen, payload);
	return 0;
}

/**
 * sib_xmit_path - address a packet
 * @port: the port, locked
 * @av: where to
 * @pkt: its LRH fields but for the virtual lane, and the GRH, are filled in
 */
void sib_xmit_path(struct sib_port *port, const struct sib_av *av, struct sib_pkt *pkt)
{
	u16 lid = READ_ONCE(port->sma.lid);

	pkt->sl = av->sl;
	pkt->dlid = av->dlid;
	/*
	 * A directed-route SMP comes from the permissive LID (IBA 14.2.2.2): it is answered on the
	 * way that it came, also by a port that has been given the LID of this one.
	 */
	pkt->slid = !lid || av->dlid == SIB_LID_PERMISSIVE ? SIB_LID_PERMISSIVE :
		    lid | (av->path_bits & ((1 << READ_ONCE(port->sma.lmc)) - 1));
	pkt->grh = av->grh;
	if (!av->grh)
		return;
	pkt->ghdr = av->ghdr;
	pkt->ghdr.sgid.global.subnet_prefix = READ_ONCE(port->sma.gid_prefix);
	pkt->ghdr.sgid.global.interface_id = READ_ONCE(port->sma.guids[av->sgid_index]);
}

/**
 * sib_xmit - send a packet to the cable, to this port, or both
 * @port: the port, locked
 * @pkt: its header fields; the lengths but @plen, the pad and, except for
 *	VL15, the virtual lane are worked out here
 * @gather: writes the payload into the packet; not called if there is none
 * @src: for @gather
 * @now: jiffies
 *
 * A packet the port may not send in its state is discarded and counted.
 *
 * Context: the port context. Return: 1 if it is in the frame under construction, 0 if
 * it has gone to this port only, or nowhere; -EAGAIN if it must wait for the link's
 * window; -EBUSY if too many wait to be received by this port; -ENOMEM; the errno of
 * @gather.
 */
int sib_xmit(struct sib_port *port, struct sib_pkt *pkt, sib_gather_fn gather,
	     const void *src, unsigned long now)
{
	bool mcast = sib_lid_is_mcast(pkt->dlid);
	bool loop = mcast ? sib_mcast_any(port, &pkt->ghdr.dgid, pkt->dlid) :
			    is_own_lid(port, pkt->dlid);
	bool wire = mcast || !loop;
	struct sk_buff *skb = NULL;
	void *va, *room = NULL;
	__wsum sum;
	int err;

	pkt->hlen = sib_pkt_hlen(pkt);
	pkt->pad = -pkt->plen & 3;
	pkt->len = pkt->hlen + pkt->plen + pkt->pad + SIB_ICRC_LEN;
	if (loop && !sib_tx_loop_has_room(port))
		return -EBUSY;
	if (wire && !may_send(port, pkt)) {
		sib_xmit_discard(port);
		return 0;
	}
	if (wire) {
		err = sib_tx_reserve(port, pkt->len, now);
		if (err)
			return err;
	}
	if (loop) {
		skb = alloc_skb(0, GFP_ATOMIC | __GFP_NOWARN);
		if (!skb)
			return -ENOMEM;
	}
	if (!loop)
		room = sib_tx_room(port, pkt->len);
	va = room ?: sib_tx_alloc(port, pkt->len);
	if (!va) {
		kfree_skb(skb);
		return -ENOMEM;
	}
	err = build(va, pkt, gather, src, &sum);
	if (err) {
		if (!room)
			skb_free_frag(va);
		kfree_skb(skb);
		return err;
	}
	if (wire && loop)
		get_page(virt_to_head_page(va));
	if (wire) {
		sib_tx_wire(port, va, pkt->len, sum);
		count_xmit(port, pkt);
	}
	if (loop)
		sib_tx_loop(port, skb, va, pkt->len);
	return wire;
}
