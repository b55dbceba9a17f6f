// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Unreliable datagram: a work request becomes one packet, a packet completes
 * one receive request. QP0 and QP1 are datagram QPs with their own rules for
 * VL, P_Key and Q_Key (IBA vol. 1, 3.5.3, 9.8.3, 10.2.4).
 */
#include <linux/bitops.h>
#include <net/checksum.h>

#include "sib.h"

/*
 * struct source - the payload of a packet: @hlen bytes of headers of a TCP segment,
 * then the data of the request after the first @skip
 */
struct source {
	const struct sib_qp *qp;
	const struct sib_swqe *wqe;
	const u8 *header;
	u32 hlen;
	u32 skip;
};

static void fill_checksums(u8 *payload, u32 len, __wsum *sum)
{
	struct sib_ip ip;

	if (!sib_offload_parse(payload, min_t(u32, len, SIB_OFFLOAD_HLEN), len, &ip))
		sib_offload_fill(payload, &ip, sum, ip.end == len);
}

static int gather(const void *src, void *to, u32 len, __wsum *sum)
{
	const struct source *s = src;
	__wsum part = 0;
	int err;

	err = sib_swqe_gather(s->qp, s->wqe, s->skip, to + s->hlen, len - s->hlen, &part);
	if (err)
		return err;
	*sum = csum_block_add(*sum, part, s->hlen);
	*sum = csum_add(*sum, csum_partial_copy_nocheck(s->header, to, s->hlen));
	if (s->hlen || (s->wqe->send_flags & IB_SEND_IP_CSUM && sib_qp_profile(s->qp)->csum))
		fill_checksums(to, len, sum);
	return 0;
}

static u16 send_pkey(struct sib_port *port, struct sib_qp *qp, const struct sib_swqe *wqe)
{
	switch (qp->ibqp.qp_type) {
	case IB_QPT_SMI:
		return IB_DEFAULT_PKEY_FULL;
	case IB_QPT_GSI:
		return READ_ONCE(port->sma.pkeys[wqe->pkey_index % SIB_NUM_PKEYS]);
	default:
		return READ_ONCE(port->sma.pkeys[qp->attr.pkey_index]);
	}
}

/* Send a packet of a request. Returns as sib_ud_send() does. */
static int send_packet(struct sib_port *port, struct sib_qp *qp, const struct sib_swqe *wqe,
		       const struct source *src, u32 len, unsigned long now)
{
	struct sib_pkt pkt = {
		.solicited = !!(wqe->send_flags & IB_SEND_SOLICITED),
		.opcode = wqe->opcode == IB_WR_SEND_WITH_IMM ? SIB_OP_UD_SEND_IMM :
							       SIB_OP_UD_SEND,
		.pkey = send_pkey(port, qp, wqe),
		.plen = len,
		.dqpn = sib_lid_is_mcast(wqe->av.dlid) ? SIB_QPN_MCAST : wqe->dqpn,
		.psn = qp->psn,
		.qkey = (s32)wqe->qkey < 0 ? qp->attr.qkey : wqe->qkey,
		.sqpn = qp->ibqp.qp_num,
		.imm = wqe->imm,
	};
	int err;

	if (qp->ibqp.qp_type == IB_QPT_SMI)
		pkt.vl = SIB_VL15;
	sib_xmit_path(port, &wqe->av, &pkt);
	if (len > ib_mtu_enum_to_int(READ_ONCE(port->sma.mtu)))
		return IB_WC_LOC_LEN_ERR;
	if (!pkt.grh && sib_lid_is_mcast(pkt.dlid))
		return IB_WC_LOC_QP_OP_ERR;	/* multicast needs a GRH */
	if (!(pkt.pkey & 0x7FFF)) {
		sib_xmit_discard(port);
		return IB_WC_SUCCESS;
	}
	err = sib_xmit(port, &pkt, gather, src, now);
	if (err == -EACCES)
		return IB_WC_LOC_PROT_ERR;
	if (err < 0)
		return err;
	qp->psn = (qp->psn + 1) & 0xFFFFFF;
	return IB_WC_SUCCESS;
}

/* Send a long TCP segment in parts, from where it was left. */
static int send_long(struct sib_port *port, struct sib_qp *qp, struct sib_swqe *wqe,
		     unsigned long now)
{
	const u8 *whole = sib_swqe_header(qp, wqe);
	u8 header[SIB_OFFLOAD_HLEN] __aligned(4);
	struct sib_segment part;
	struct sib_ip ip;
	int status;

	if (sib_offload_parse(whole, wqe->hlen, wqe->hlen + wqe->length, &ip) || !ip.tcp ||
	    ip.data != wqe->hlen)
		return IB_WC_LOC_QP_OP_ERR;
	do {
		struct source src = {
			.qp = qp, .wqe = wqe, .header = header, .hlen = wqe->hlen,
			.skip = wqe->lso_off,
		};

		part.off = wqe->lso_off;
		part.len = min(wqe->length - part.off, wqe->mss);
		part.index = part.off / wqe->mss;
		part.last = part.off + part.len == wqe->length;
		memcpy(header, whole, wqe->hlen);
		sib_offload_cut(header, &ip, &part);
		status = send_packet(port, qp, wqe, &src, wqe->hlen + part.len, now);
		if (status != IB_WC_SUCCESS)
			return status;
		wqe->lso_off += part.len;
	} while (!part.last);
	return IB_WC_SUCCESS;
}

/**
 * sib_ud_send - send one work request
 * @port: the port, locked
 * @qp: UD, SMI or GSI QP
 * @wqe: the request
 * @now: jiffies
 *
 * Return: enum ib_wc_status of the completion, or -EAGAIN, -EBUSY or -ENOMEM as
 * sib_xmit() if the request must be tried again later.
 */
int sib_ud_send(struct sib_port *port, struct sib_qp *qp, struct sib_swqe *wqe,
		unsigned long now)
{
	struct source src = { .qp = qp, .wqe = wqe };

	if (wqe->opcode == IB_WR_LSO)
		return send_long(port, qp, wqe, now);
	return send_packet(port, qp, wqe, &src, wqe->length, now);
}

static void violation(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt,
		      bool qkey)
{
	if (qkey)
		port->stats.rx_qkey++;
	else
		port->stats.rx_pkey++;
	sib_sma_violation(&port->sma, qkey, qkey ? pkt->qkey : pkt->pkey, pkt->sl, pkt->sqpn,
			  qp->ibqp.qp_num, pkt->slid, pkt->dlid, jiffies);
}

/* P_Key and Q_Key. Returns the P_Key index, or -1 if the packet is refused. */
static int check_keys(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt)
{
	bool gsi = qp->ibqp.qp_type == IB_QPT_GSI;
	int index;

	if (qp->ibqp.qp_type == IB_QPT_SMI)
		return 0;
	index = sib_sma_pkey_find(&port->sma, pkt->pkey, gsi ? -1 : qp->attr.pkey_index);
	if (index < 0) {
		violation(port, qp, pkt, false);
		sib_pma_inc(&port->pma, SIB_PC_RCV_CONSTRAINT);
		return -1;
	}
	if (pkt->qkey != (gsi ? IB_QP1_QKEY : qp->attr.qkey)) {
		violation(port, qp, pkt, true);
		return -1;
	}
	return index;
}

static void complete_recv(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt,
			  int pkey_index, int err, bool csum_good)
{
	enum ib_wc_status status;
	struct ib_wc wc = {
		.status = err ? IB_WC_LOC_PROT_ERR : IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = pkt->plen + SIB_GRH_LEN,
		.src_qp = pkt->sqpn,
		.slid = pkt->slid,
		.sl = pkt->sl,
		.pkey_index = pkey_index,
		.wc_flags = (pkt->grh ? IB_WC_GRH : 0) | (csum_good ? IB_WC_IP_CSUM_OK : 0),
	};

	if (sib_lid_is_ucast(pkt->dlid))
		wc.dlid_path_bits = pkt->dlid & ((1 << READ_ONCE(port->sma.lmc)) - 1);
	if (pkt->opcode == SIB_OP_UD_SEND_IMM) {
		wc.wc_flags |= IB_WC_WITH_IMM;
		wc.ex.imm_data = pkt->imm;
	}
	status = wc.status;
	wc.status = sib_fault_status(&port_to_dev(port)->fault.recvs, qp->ibqp.qp_num, status);
	sib_qp_recv_done(qp, &wc, pkt->solicited);
	if (unlikely(wc.status != status))
		sib_qp_fatal(port, qp, -1);
}

/*
 * Place the payload. For the kernel, which may be IPoIB, the checksums of what
 * looks like IP are verified on the way. Returns 0 or -EACCES.
 */
static int place(struct sib_qp *qp, const struct sib_rwqe *wqe, const struct sib_pkt *pkt,
		 struct sk_buff *skb, unsigned int off, bool *csum_good)
{
	u32 avail = min_t(u32, pkt->plen, SIB_OFFLOAD_HLEN);
	u8 header[SIB_OFFLOAD_HLEN] __aligned(4);
	struct sib_ip ip;
	__wsum sum = 0;
	int err;

	/* a copy: what is in the skb may change while it is looked at */
	if (!qp->mem.kernel || qp->ibqp.qp_type != IB_QPT_UD || !sib_qp_profile(qp)->csum ||
	    skb_copy_bits(skb, off, header, avail) ||
	    sib_offload_parse(header, avail, pkt->plen, &ip) || ip.end != pkt->plen)
		return sib_rwqe_scatter(qp, wqe, SIB_GRH_LEN, skb, off, pkt->plen, NULL);
	err = sib_rwqe_scatter(qp, wqe, SIB_GRH_LEN, skb, off, pkt->plen, &sum);
	*csum_good = !err && sib_offload_good(header, &ip, sum);
	return err;
}

static void no_buffer(struct sib_port *port, struct sib_qp *qp)
{
	port->stats.rx_no_wqe++;
	if (qp->ibqp.qp_type == IB_QPT_SMI)
		sib_pma_inc(&port->pma, SIB_PC_VL15_DROPPED);
}

/**
 * sib_ud_recv - give a packet to a QP
 * @port: the port, locked
 * @qp: UD, SMI or GSI QP
 * @pkt: headers
 * @skb: where the payload is
 * @off: at which offset
 *
 * What does not fit the QP is dropped and counted.
 *
 * Return: true if it was copied, or tried to be.
 */
bool sib_ud_recv(struct sib_port *port, struct sib_qp *qp, const struct sib_pkt *pkt,
		 struct sk_buff *skb, unsigned int off)
{
	bool smi = qp->ibqp.qp_type == IB_QPT_SMI;
	const struct sib_rwqe *wqe;
	bool csum_good = false;
	int index, err = 0;

	lockdep_assert_held(&port->lock);
	if (smi ? pkt->vl != SIB_VL15 : pkt->vl == SIB_VL15) {
		port->stats.rx_vl++;
		return false;
	}
	if (qp->attr.qp_state < IB_QPS_RTR || qp->attr.qp_state > IB_QPS_SQE) {
		port->stats.rx_no_qp++;
		return false;
	}
	index = check_keys(port, qp, pkt);
	if (index < 0)
		return false;
	wqe = sib_qp_recv_peek(qp);
	if (!wqe) {
		no_buffer(port, qp);
		return false;
	}
	if (wqe->length < pkt->plen + SIB_GRH_LEN) {
		port->stats.rx_too_long++;
		return false;
	}
	wqe = sib_qp_recv_hold(qp, wqe);
	if (pkt->grh)
		err = sib_rwqe_write(qp, wqe, 0, &pkt->ghdr, SIB_GRH_LEN);
	if (!err)
		err = place(qp, wqe, pkt, skb, off, &csum_good);
	complete_recv(port, qp, pkt, index, err, csum_good);
	return true;
}
