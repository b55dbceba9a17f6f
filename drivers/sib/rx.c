// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Receiving: IB packets out of a frame, checked and given to their QPs. Runs
 * in the port context; whatever does not make sense is counted and dropped.
 *
 * The memory of a frame may change while it is read (see &struct sib_link_cb): headers
 * are copied, and only the copies are looked at.
 */
#include <linux/random.h>

#include "sib.h"

static void malformed(struct sib_port *port, enum sib_pkt_err err)
{
	switch (err) {
	case SIB_PKT_OPCODE:
	case SIB_PKT_LNH:
		port->stats.rx_opcode++;
		break;
	case SIB_PKT_LID:
		port->stats.rx_lid++;
		break;
	default:
		port->stats.rx_malformed++;
	}
	sib_pma_inc(&port->pma, SIB_PC_RCV_ERRORS);
}

static bool dlid_ok(struct sib_port *port, const struct sib_pkt *pkt)
{
	u16 lid = READ_ONCE(port->sma.lid);
	u8 lmc = READ_ONCE(port->sma.lmc);

	if (pkt->dlid == SIB_LID_PERMISSIVE || sib_lid_is_mcast(pkt->dlid))
		return true;
	return lid && pkt->dlid >> lmc == lid >> lmc;
}

static bool dgid_ok(struct sib_port *port, const struct sib_pkt *pkt)
{
	const union ib_gid *gid = &pkt->ghdr.dgid;
	int i;

	if (!pkt->grh || sib_lid_is_mcast(pkt->dlid))
		return true;
	if (gid->global.subnet_prefix != READ_ONCE(port->sma.gid_prefix) &&
	    gid->global.subnet_prefix != cpu_to_be64(0xFE80ULL << 48))
		return false;
	for (i = 0; i < SIB_NUM_GUIDS; i++)
		if (gid->global.interface_id &&
		    gid->global.interface_id == READ_ONCE(port->sma.guids[i]))
			return true;
	return false;
}

/* Whether the port may take the packet in its state. */
static bool admit(struct sib_port *port, const struct sib_pkt *pkt)
{
	u8 state = READ_ONCE(port->sma.state);

	if (pkt->vl != SIB_VL15 && state != IB_PORT_ACTIVE && state != IB_PORT_ARMED) {
		port->stats.rx_state++;
		return false;
	}
	if (pkt->vl != SIB_VL15 && !sib_sma_has_lane(&port->sma, pkt->vl)) {
		port->stats.rx_vl++;
		sib_pma_inc(&port->pma, SIB_PC_RCV_ERRORS);
		return false;
	}
	if (!dlid_ok(port, pkt)) {
		port->stats.rx_lid++;
		return false;
	}
	if (!dgid_ok(port, pkt)) {
		port->stats.rx_gid++;
		return false;
	}
	if (pkt->plen > ib_mtu_enum_to_int(READ_ONCE(port->sma.mtu))) {
		port->stats.rx_mtu++;
		return false;
	}
	return true;
}

static bool is_lost(struct sib_port *port, const struct sib_pkt *pkt)
{
	if (likely(!READ_ONCE(port->loss.drop_ppm)) ||
	    !sib_loss_drops(&port->loss, pkt, get_random_u32()))
		return false;
	port->stats.rx_lost++;
	return true;
}

static void dispatch(struct sib_port *port, const struct sib_pkt *pkt, struct sk_buff *skb,
		     unsigned int off)
{
	struct sib_qp *qp;

	if (pkt->dqpn == SIB_QPN_MCAST) {
		if (!pkt->grh || !sib_lid_is_mcast(pkt->dlid) ||
		    SIB_OP_SERVICE(pkt->opcode) != SIB_OP_UD)
			malformed(port, SIB_PKT_LID);
		else if (!sib_mcast_recv(port, pkt, skb, off))
			port->stats.rx_no_mcast++;
		return;
	}
	if (sib_lid_is_mcast(pkt->dlid)) {
		malformed(port, SIB_PKT_LID);
		return;
	}
	qp = xa_load(&port->qps, pkt->dqpn);
	if (!qp)
		port->stats.rx_no_qp++;
	else if (qp->rc)
		sib_rc_recv(port, qp, pkt, skb, off);
	else if (SIB_OP_SERVICE(pkt->opcode) == SIB_OP_UD)
		sib_ud_recv(port, qp, pkt, skb, off);
	else
		port->stats.rx_opcode++;
}

/* The bytes themselves, if they are in one piece: what a port sent is, on a veth. */
static const u8 *piece(const struct sk_buff *skb, unsigned int off, unsigned int len)
{
	unsigned int size = skb_headlen(skb);
	const skb_frag_t *frag;
	struct page *page;
	int i;

	if (off < size)
		return len <= size - off ? skb->data + off : NULL;
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		off -= size;
		frag = &skb_shinfo(skb)->frags[i];
		size = skb_frag_size(frag);
		if (off >= size)
			continue;
		page = skb_frag_page(frag);
		if (len > size - off || !page || PageHighMem(page))
			return NULL;
		return skb_frag_address(frag) + off;
	}
	return NULL;
}

/* Copy some bytes. Returns false if they are not there. */
static bool copy(const struct sk_buff *skb, unsigned int off, unsigned int len, u8 *to)
{
	const u8 *from = piece(skb, off, len);

	if (!from)
		return !skb_copy_bits(skb, off, to, len);
	memcpy(to, from, len);
	return true;
}

/**
 * sib_rx_packet - one IB packet arrived
 * @port: the port, locked
 * @skb: where it is; only read
 * @off: at which offset its LRH begins
 * @len: its length by the LRH
 */
void sib_rx_packet(struct sib_port *port, struct sk_buff *skb, unsigned int off,
		   unsigned int len)
{
	unsigned int avail = min_t(unsigned int, len, SIB_PKT_MAX_HLEN);
	u8 hdr[SIB_PKT_MAX_HLEN] __uninitialized;
	enum sib_pkt_err err = SIB_PKT_SHORT;
	struct sib_pkt pkt;

	lockdep_assert_held(&port->lock);
	if (copy(skb, off, avail, hdr))
		err = sib_pkt_parse(hdr, avail, len, &pkt);
	if (err) {
		malformed(port, err);
		return;
	}
	if (!is_lost(port, &pkt) && admit(port, &pkt))
		dispatch(port, &pkt, skb, off + pkt.hlen);
}

static void count_rcv(struct sib_port *port, const u8 *lrh, unsigned int len)
{
	bool mcast = sib_lid_is_mcast(get_unaligned_be16(lrh + 2));

	sib_pma_inc(&port->pma, SIB_PC_RCV_PKTS);
	sib_pma_add(&port->pma, SIB_PC_RCV_DATA, len);
	sib_pma_inc(&port->pma, mcast ? SIB_PC_MCAST_RCV : SIB_PC_UCAST_RCV);
}

/**
 * sib_rx_packets - a frame of whole IB packets arrived
 * @port: the port, locked
 * @skb: the frame; only read
 * @off: where the first LRH begins
 * @len: bytes of all packets; what is beyond the end of @skb is not there
 * @count: how many packets there should be
 *
 * A packet whose length cannot be right ends the frame.
 */
void sib_rx_packets(struct sib_port *port, struct sk_buff *skb, unsigned int off,
		    unsigned int len, unsigned int count)
{
	u8 lrh[SIB_LRH_LEN];
	u32 plen;

	if (off > skb->len || len > skb->len - off)
		len = 0;
	for (; count && len; count--) {
		plen = len >= SIB_LRH_LEN && copy(skb, off, SIB_LRH_LEN, lrh) ?
		       sib_pkt_lrh_len(lrh) : 0;
		if (plen < SIB_LRH_LEN + SIB_BTH_LEN + SIB_ICRC_LEN || plen > len)
			break;
		count_rcv(port, lrh, plen);
		sib_rx_packet(port, skb, off, plen);
		off += plen;
		len -= plen;
	}
	if (count || len)
		malformed(port, SIB_PKT_SHORT);
}
