// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * InfiniBand packet headers to and from host order. Layouts are in IBA vol. 1:
 * LRH 7.7, GRH 8.3, BTH 9.2, extended headers 9.3, ICRC 7.8.1.
 */
#include <linux/crc32.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "wire.h"

#define LNH_IBA_LOCAL	2
#define LNH_IBA_GLOBAL	3
#define GRH_NEXT_IBA	0x1B
#define GRH_VERSION	6

#define FIRST	(SIB_PART_KNOWN | SIB_PART_PAYLOAD | SIB_PART_FIRST)
#define MIDDLE	(SIB_PART_KNOWN | SIB_PART_PAYLOAD)
#define LAST	(SIB_PART_KNOWN | SIB_PART_PAYLOAD | SIB_PART_LAST)
#define ONLY	(FIRST | LAST)
#define SINGLE	(SIB_PART_KNOWN | SIB_PART_FIRST | SIB_PART_LAST)

/* Operations of the reliable connected service */
static const u16 rc_parts[] = {
	[SIB_OP_SEND_FIRST] = FIRST,
	[SIB_OP_SEND_MIDDLE] = MIDDLE,
	[SIB_OP_SEND_LAST] = LAST,
	[SIB_OP_SEND_LAST_IMM] = LAST | SIB_PART_IMM,
	[SIB_OP_SEND_ONLY] = ONLY,
	[SIB_OP_SEND_ONLY_IMM] = ONLY | SIB_PART_IMM,
	[SIB_OP_WRITE_FIRST] = FIRST | SIB_PART_RETH,
	[SIB_OP_WRITE_MIDDLE] = MIDDLE,
	[SIB_OP_WRITE_LAST] = LAST,
	[SIB_OP_WRITE_LAST_IMM] = LAST | SIB_PART_IMM,
	[SIB_OP_WRITE_ONLY] = ONLY | SIB_PART_RETH,
	[SIB_OP_WRITE_ONLY_IMM] = ONLY | SIB_PART_RETH | SIB_PART_IMM,
	[SIB_OP_READ_REQUEST] = SINGLE | SIB_PART_RETH,
	[SIB_OP_READ_FIRST] = FIRST | SIB_PART_AETH,
	[SIB_OP_READ_MIDDLE] = MIDDLE,
	[SIB_OP_READ_LAST] = LAST | SIB_PART_AETH,
	[SIB_OP_READ_ONLY] = ONLY | SIB_PART_AETH,
	[SIB_OP_ACK] = SINGLE | SIB_PART_AETH,
	[SIB_OP_ATOMIC_ACK] = SINGLE | SIB_PART_AETH | SIB_PART_ATOMIC_ACK,
	[SIB_OP_CMP_SWAP] = SINGLE | SIB_PART_ATOMIC,
	[SIB_OP_FETCH_ADD] = SINGLE | SIB_PART_ATOMIC,
	[SIB_OP_SEND_LAST_INV] = LAST | SIB_PART_IETH,
	[SIB_OP_SEND_ONLY_INV] = ONLY | SIB_PART_IETH,
};

/**
 * sib_op_parts - what packets of an opcode consist of
 * @opcode: BTH opcode
 *
 * Return: SIB_PART_*, 0 if this HCA does not speak it.
 */
u32 sib_op_parts(u8 opcode)
{
	u8 op = opcode & ~SIB_OP_SERVICE(0xFF);

	switch (SIB_OP_SERVICE(opcode)) {
	case SIB_OP_RC:
		return op < ARRAY_SIZE(rc_parts) ? rc_parts[op] : 0;
	case SIB_OP_UC:
		return op <= SIB_OP_WRITE_ONLY_IMM ? rc_parts[op] : 0;
	case SIB_OP_UD:
		if (op == SIB_OP_SEND_ONLY || op == SIB_OP_SEND_ONLY_IMM)
			return rc_parts[op] | SIB_PART_DETH;
		return 0;
	default:
		return 0;
	}
}

static u32 ext_len(u32 parts)
{
	return (parts & SIB_PART_DETH ? SIB_DETH_LEN : 0) +
	       (parts & SIB_PART_RETH ? SIB_RETH_LEN : 0) +
	       (parts & SIB_PART_AETH ? SIB_AETH_LEN : 0) +
	       (parts & SIB_PART_ATOMIC ? SIB_ATOMIC_LEN : 0) +
	       (parts & SIB_PART_ATOMIC_ACK ? SIB_ATOMIC_ACK_LEN : 0) +
	       (parts & SIB_PART_IMM ? SIB_IMM_LEN : 0) +
	       (parts & SIB_PART_IETH ? SIB_IETH_LEN : 0);
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
	return SIB_LRH_LEN + (pkt->grh ? SIB_GRH_LEN : 0) + SIB_BTH_LEN +
	       ext_len(sib_op_parts(pkt->opcode));
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

static void parse_ext(const u8 *p, u32 parts, struct sib_pkt *pkt)
{
	if (parts & SIB_PART_DETH) {
		pkt->qkey = get_unaligned_be32(p);
		pkt->sqpn = get_unaligned_be32(p + 4) & SIB_QPN_MASK;
		p += SIB_DETH_LEN;
	}
	if (parts & SIB_PART_RETH) {
		pkt->va = get_unaligned_be64(p);
		pkt->rkey = get_unaligned_be32(p + 8);
		pkt->rlen = get_unaligned_be32(p + 12);
		p += SIB_RETH_LEN;
	}
	if (parts & SIB_PART_AETH) {
		pkt->syndrome = p[0];
		pkt->msn = get_unaligned_be32(p) & SIB_PSN_MASK;
		p += SIB_AETH_LEN;
	}
	if (parts & SIB_PART_ATOMIC) {
		pkt->va = get_unaligned_be64(p);
		pkt->rkey = get_unaligned_be32(p + 8);
		pkt->swap_add = get_unaligned_be64(p + 12);
		pkt->compare = get_unaligned_be64(p + 20);
		p += SIB_ATOMIC_LEN;
	}
	if (parts & SIB_PART_ATOMIC_ACK)
		pkt->orig = get_unaligned_be64(p);
	pkt->imm = 0;
	if (parts & SIB_PART_IMM)
		memcpy(&pkt->imm, p, SIB_IMM_LEN);
	if (parts & SIB_PART_IETH)
		pkt->inv_rkey = get_unaligned_be32(p);
}

/**
 * sib_pkt_parse - read and check the headers of a packet
 * @hdr: the packet from its LRH on
 * @avail: readable bytes at @hdr: @len or SIB_PKT_MAX_HLEN, whichever is less
 * @len: bytes of the packet that arrived
 * @pkt: filled in; contents are undefined unless SIB_PKT_OK is returned
 *
 * Return: SIB_PKT_OK, or what is wrong. Never reads beyond @avail.
 */
enum sib_pkt_err sib_pkt_parse(const u8 *hdr, u32 avail, u32 len, struct sib_pkt *pkt)
{
	const u8 *p = hdr + SIB_LRH_LEN;
	enum sib_pkt_err err;
	u32 parts;
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
	pkt->ackreq = p[8] >> 7;
	pkt->psn = get_unaligned_be32(p + 8) & SIB_PSN_MASK;
	if (p[1] & 0xF)
		return SIB_PKT_LVER;
	parts = sib_op_parts(pkt->opcode);
	if (!parts)
		return SIB_PKT_OPCODE;
	pkt->hlen += ext_len(parts);
	if (pkt->hlen + pkt->pad + SIB_ICRC_LEN > len || pkt->hlen > avail)
		return SIB_PKT_SHORT;
	parse_ext(p + SIB_BTH_LEN, parts, pkt);
	pkt->plen = len - pkt->hlen - pkt->pad - SIB_ICRC_LEN;
	if (!(parts & SIB_PART_PAYLOAD) && (pkt->plen || pkt->pad))
		return SIB_PKT_LENGTH;
	return check_lids(pkt);
}

static u8 *build_ext(u8 *p, u32 parts, const struct sib_pkt *pkt)
{
	if (parts & SIB_PART_DETH) {
		put_unaligned_be32(pkt->qkey, p);
		put_unaligned_be32(pkt->sqpn, p + 4);
		p += SIB_DETH_LEN;
	}
	if (parts & SIB_PART_RETH) {
		put_unaligned_be64(pkt->va, p);
		put_unaligned_be32(pkt->rkey, p + 8);
		put_unaligned_be32(pkt->rlen, p + 12);
		p += SIB_RETH_LEN;
	}
	if (parts & SIB_PART_AETH) {
		put_unaligned_be32((u32)pkt->syndrome << 24 | pkt->msn, p);
		p += SIB_AETH_LEN;
	}
	if (parts & SIB_PART_ATOMIC) {
		put_unaligned_be64(pkt->va, p);
		put_unaligned_be32(pkt->rkey, p + 8);
		put_unaligned_be64(pkt->swap_add, p + 12);
		put_unaligned_be64(pkt->compare, p + 20);
		p += SIB_ATOMIC_LEN;
	}
	if (parts & SIB_PART_ATOMIC_ACK) {
		put_unaligned_be64(pkt->orig, p);
		p += SIB_ATOMIC_ACK_LEN;
	}
	if (parts & SIB_PART_IMM) {
		memcpy(p, &pkt->imm, SIB_IMM_LEN);
		p += SIB_IMM_LEN;
	}
	if (parts & SIB_PART_IETH) {
		put_unaligned_be32(pkt->inv_rkey, p);
		p += SIB_IETH_LEN;
	}
	return p;
}

/**
 * sib_pkt_build - write the headers of a packet
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
	put_unaligned_be32((u32)pkt->ackreq << 31 | (pkt->psn & SIB_PSN_MASK), p + 8);
	return build_ext(p + SIB_BTH_LEN, sib_op_parts(pkt->opcode), pkt) - hdr;
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
