// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * InfiniBand packet headers to and from host order. Layouts are in IBA vol. 1:
 * LRH 7.7, GRH 8.3, BTH 9.2, DETH 9.3.3, ICRC 7.8.1.
 */
#include <linux/crc32.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "wire.h"

#define LNH_IBA_LOCAL	2
#define LNH_IBA_GLOBAL	3
#define GRH_NEXT_IBA	0x1B
#define GRH_VERSION	6

static bool has_imm(u8 opcode)
{
	return opcode == SIB_OP_UD_SEND_IMM;
}

/**
 * sib_pkt_lrh_len - length of an IB packet by its LRH
 * @lrh: at least SIB_LRH_LEN bytes
 *
 * Return: bytes from the LRH to the end of the ICRC.
 */
u32 sib_pkt_lrh_len(const u8 *lrh)
{
	return (get_unaligned_be16(lrh + 4) & 0x7FF) * 4;
}

/**
 * sib_pkt_hlen - header bytes sib_pkt_build() writes
 * @pkt: packet with @grh and @opcode set
 *
 * Return: bytes from the LRH up to the payload.
 */
u32 sib_pkt_hlen(const struct sib_pkt *pkt)
{
	return SIB_LRH_LEN + (pkt->grh ? SIB_GRH_LEN : 0) + SIB_BTH_LEN + SIB_DETH_LEN +
	       (has_imm(pkt->opcode) ? SIB_IMM_LEN : 0);
}

static enum sib_pkt_err parse_grh(const u8 *g, struct sib_pkt *pkt)
{
	memcpy(&pkt->ghdr, g, SIB_GRH_LEN);
	if (g[0] >> 4 != GRH_VERSION || pkt->ghdr.next_hdr != GRH_NEXT_IBA)
		return SIB_PKT_GRH;
	if (be16_to_cpu(pkt->ghdr.paylen) != pkt->len - SIB_LRH_LEN - SIB_GRH_LEN)
		return SIB_PKT_GRH;
	return SIB_PKT_OK;
}

static enum sib_pkt_err check_lids(const struct sib_pkt *pkt)
{
	if (pkt->slid != SIB_LID_PERMISSIVE && sib_lid_is_mcast(pkt->slid))
		return SIB_PKT_LID;
	if (!pkt->dlid || (pkt->dlid == SIB_LID_PERMISSIVE && pkt->vl != SIB_VL15))
		return SIB_PKT_LID;
	if (sib_lid_is_mcast(pkt->dlid) && pkt->vl == SIB_VL15)
		return SIB_PKT_LID;
	return SIB_PKT_OK;
}

/**
 * sib_pkt_parse - read and check the headers of a UD packet
 * @hdr: the packet from its LRH on
 * @avail: readable bytes at @hdr: @len or SIB_UD_MAX_HLEN, whichever is less
 * @len: bytes of the packet that arrived
 * @pkt: filled in; contents are undefined unless SIB_PKT_OK is returned
 *
 * Return: SIB_PKT_OK, or what is wrong. Never reads beyond @avail.
 */
enum sib_pkt_err sib_pkt_parse(const u8 *hdr, u32 avail, u32 len, struct sib_pkt *pkt)
{
	const u8 *p = hdr + SIB_LRH_LEN;
	enum sib_pkt_err err;
	u8 lnh;

	if (avail < SIB_LRH_LEN)
		return SIB_PKT_SHORT;
	pkt->vl = hdr[0] >> 4;
	pkt->sl = hdr[1] >> 4;
	lnh = hdr[1] & 3;
	pkt->dlid = get_unaligned_be16(hdr + 2);
	pkt->len = sib_pkt_lrh_len(hdr);
	pkt->slid = get_unaligned_be16(hdr + 6);
	if (hdr[0] & 0xF)
		return SIB_PKT_LVER;
	if (lnh != LNH_IBA_LOCAL && lnh != LNH_IBA_GLOBAL)
		return SIB_PKT_LNH;
	pkt->grh = lnh == LNH_IBA_GLOBAL;
	pkt->hlen = SIB_LRH_LEN + (pkt->grh ? SIB_GRH_LEN : 0) + SIB_BTH_LEN;
	if (pkt->len != len || pkt->hlen + SIB_ICRC_LEN > len || pkt->hlen > avail)
		return SIB_PKT_SHORT;
	if (pkt->grh) {
		err = parse_grh(p, pkt);
		if (err)
			return err;
		p += SIB_GRH_LEN;
	}
	pkt->opcode = p[0];
	pkt->solicited = p[1] >> 7;
	pkt->pad = p[1] >> 4 & 3;
	pkt->pkey = get_unaligned_be16(p + 2);
	pkt->dqpn = get_unaligned_be32(p + 4) & SIB_QPN_MASK;
	pkt->psn = get_unaligned_be32(p + 8) & 0xFFFFFF;
	if (p[1] & 0xF)
		return SIB_PKT_LVER;
	if (pkt->opcode != SIB_OP_UD_SEND && pkt->opcode != SIB_OP_UD_SEND_IMM)
		return SIB_PKT_OPCODE;
	p += SIB_BTH_LEN;
	pkt->hlen = sib_pkt_hlen(pkt);
	if (pkt->hlen + pkt->pad + SIB_ICRC_LEN > len || pkt->hlen > avail)
		return SIB_PKT_SHORT;
	pkt->qkey = get_unaligned_be32(p);
	pkt->sqpn = get_unaligned_be32(p + 4) & SIB_QPN_MASK;
	pkt->imm = 0;
	if (has_imm(pkt->opcode))
		memcpy(&pkt->imm, p + SIB_DETH_LEN, SIB_IMM_LEN);
	pkt->plen = len - pkt->hlen - pkt->pad - SIB_ICRC_LEN;
	return check_lids(pkt);
}

/**
 * sib_pkt_build - write the headers of a UD packet
 * @hdr: room for sib_pkt_hlen() bytes
 * @pkt: what to write; @len, @hlen and @pad are computed from @plen by the
 *	caller; of @ghdr only the traffic class, flow label, hop limit and GIDs
 *	are taken
 *
 * Return: bytes written.
 */
u32 sib_pkt_build(u8 *hdr, const struct sib_pkt *pkt)
{
	u8 *p = hdr;

	p[0] = pkt->vl << 4;
	p[1] = pkt->sl << 4 | (pkt->grh ? LNH_IBA_GLOBAL : LNH_IBA_LOCAL);
	put_unaligned_be16(pkt->dlid, p + 2);
	put_unaligned_be16(pkt->len / 4, p + 4);
	put_unaligned_be16(pkt->slid, p + 6);
	p += SIB_LRH_LEN;
	if (pkt->grh) {
		memcpy(p, &pkt->ghdr, SIB_GRH_LEN);
		p[0] = GRH_VERSION << 4 | (p[0] & 0xF);
		put_unaligned_be16(pkt->len - SIB_LRH_LEN - SIB_GRH_LEN, p + 4);
		p[6] = GRH_NEXT_IBA;
		p += SIB_GRH_LEN;
	}
	p[0] = pkt->opcode;
	p[1] = pkt->solicited << 7 | pkt->pad << 4;
	put_unaligned_be16(pkt->pkey, p + 2);
	put_unaligned_be32(pkt->dqpn, p + 4);
	put_unaligned_be32(pkt->psn & 0xFFFFFF, p + 8);
	p += SIB_BTH_LEN;
	put_unaligned_be32(pkt->qkey, p);
	put_unaligned_be32(pkt->sqpn, p + 4);
	p += SIB_DETH_LEN;
	if (has_imm(pkt->opcode)) {
		memcpy(p, &pkt->imm, SIB_IMM_LEN);
		p += SIB_IMM_LEN;
	}
	return p - hdr;
}

/**
 * sib_pkt_icrc - invariant CRC of a packet (IBA vol. 1, 7.8.1)
 * @pkt: the packet from its LRH on
 * @len: bytes up to, but not including, the ICRC
 *
 * Fields that change on the way (LRH VL, GRH traffic class, flow label and hop
 * limit, BTH resv8a) count as ones; a packet without a GRH has its whole LRH
 * virtual lane field masked and nothing else.
 *
 * Return: the CRC as it is stored, little endian, after the payload; 0 if @len
 * is too short to hold the headers.
 */
u32 sib_pkt_icrc(const u8 *pkt, u32 len)
{
	bool grh = len >= SIB_LRH_LEN && (pkt[1] & 3) == LNH_IBA_GLOBAL;
	u32 hlen = SIB_LRH_LEN + (grh ? SIB_GRH_LEN : 0) + SIB_BTH_LEN;
	u8 hdr[SIB_LRH_LEN + SIB_GRH_LEN + SIB_BTH_LEN];
	u32 crc;

	if (len < hlen)
		return 0;
	memcpy(hdr, pkt, hlen);
	if (grh) {
		memset(hdr, 0xFF, SIB_LRH_LEN);
		hdr[8] |= 0x0F;
		hdr[9] = 0xFF;
		hdr[10] = 0xFF;
		hdr[11] = 0xFF;
		hdr[15] = 0xFF;
	} else {
		hdr[0] |= 0xF0;
	}
	hdr[hlen - SIB_BTH_LEN + 4] = 0xFF;
	crc = crc32_le(~0, hdr, hlen);
	return ~crc32_le(crc, pkt + hlen, len - hlen);
}
