// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * InfiniBand packet headers: what is built is parsed back, what is malformed is
 * refused, and nothing is read beyond what arrived (buffers have exactly the
 * length that is claimed, so KASAN sees a single byte too many).
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/prandom.h>

#include "wire.c"

struct shape {
	const char *name;
	bool grh;
	u8 opcode;
	u32 plen;
};

static const struct shape shapes[] = {
	{ "bare", false, SIB_OP_UD_SEND, 0 },
	{ "one byte", false, SIB_OP_UD_SEND, 1 },
	{ "two bytes", false, SIB_OP_UD_SEND, 2 },
	{ "three bytes", false, SIB_OP_UD_SEND, 3 },
	{ "MAD", false, SIB_OP_UD_SEND, 256 },
	{ "full MTU", false, SIB_OP_UD_SEND, 4096 },
	{ "immediate", false, SIB_OP_UD_SEND_IMM, 7 },
	{ "GRH", true, SIB_OP_UD_SEND, 100 },
	{ "GRH and immediate", true, SIB_OP_UD_SEND_IMM, 2045 },
	{ "GRH, full MTU", true, SIB_OP_UD_SEND_IMM, 4096 },
};

static void shape_desc(const struct shape *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(shapes, shapes, shape_desc);

static void fill(struct sib_pkt *pkt, const struct shape *s)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->sl = 5;
	pkt->grh = s->grh;
	pkt->solicited = true;
	pkt->opcode = s->opcode;
	pkt->slid = 0xBFFF;
	pkt->dlid = s->grh ? 0xC001 : 1;
	pkt->pkey = 0x8123;
	pkt->dqpn = 0xABCDEF;
	pkt->psn = 0xFFFFFF;
	pkt->qkey = 0x80010000;
	pkt->sqpn = 0x123456;
	pkt->imm = s->opcode == SIB_OP_UD_SEND_IMM ? cpu_to_be32(0xDEADBEEF) : 0;
	pkt->ghdr.version_tclass_flow = cpu_to_be32(0x6A512345);
	pkt->ghdr.hop_limit = 64;
	memset(pkt->ghdr.sgid.raw, 0x11, 16);
	memset(pkt->ghdr.dgid.raw, 0xFF, 16);
	pkt->plen = s->plen;
	pkt->pad = -s->plen & 3;
	pkt->hlen = sib_pkt_hlen(pkt);
	pkt->len = pkt->hlen + pkt->plen + pkt->pad + SIB_ICRC_LEN;
}

/* A whole packet in memory of exactly its length. */
static u8 *packet(struct kunit *test, struct sib_pkt *pkt, const struct shape *s)
{
	u8 *buf;

	fill(pkt, s);
	buf = kunit_kzalloc(test, pkt->len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_ASSERT_EQ(test, sib_pkt_build(buf, pkt), pkt->hlen);
	return buf;
}

static void round_trip(struct kunit *test)
{
	const struct shape *s = test->param_value;
	struct sib_pkt in, out;
	u8 *buf = packet(test, &in, s);

	KUNIT_EXPECT_EQ(test, sib_pkt_lrh_len(buf), in.len);
	KUNIT_ASSERT_EQ(test, (int)sib_pkt_parse(buf, in.len, in.len, &out), (int)SIB_PKT_OK);
	KUNIT_EXPECT_EQ(test, out.vl, in.vl);
	KUNIT_EXPECT_EQ(test, out.sl, in.sl);
	KUNIT_EXPECT_EQ(test, out.grh, in.grh);
	KUNIT_EXPECT_EQ(test, out.solicited, in.solicited);
	KUNIT_EXPECT_EQ(test, out.opcode, in.opcode);
	KUNIT_EXPECT_EQ(test, out.pad, in.pad);
	KUNIT_EXPECT_EQ(test, out.slid, in.slid);
	KUNIT_EXPECT_EQ(test, out.dlid, in.dlid);
	KUNIT_EXPECT_EQ(test, out.pkey, in.pkey);
	KUNIT_EXPECT_EQ(test, out.len, in.len);
	KUNIT_EXPECT_EQ(test, out.hlen, in.hlen);
	KUNIT_EXPECT_EQ(test, out.plen, in.plen);
	KUNIT_EXPECT_EQ(test, out.dqpn, in.dqpn);
	KUNIT_EXPECT_EQ(test, out.psn, in.psn);
	KUNIT_EXPECT_EQ(test, out.qkey, in.qkey);
	KUNIT_EXPECT_EQ(test, out.sqpn, in.sqpn);
	KUNIT_EXPECT_EQ(test, out.imm, in.imm);
	if (!in.grh)
		return;
	KUNIT_EXPECT_EQ(test, be32_to_cpu(out.ghdr.version_tclass_flow), 0x6A512345U);
	KUNIT_EXPECT_EQ(test, out.ghdr.hop_limit, 64);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(out.ghdr.paylen), in.len - 48);
	KUNIT_EXPECT_EQ(test, memcmp(&out.ghdr.dgid, &in.ghdr.dgid, 16), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&out.ghdr.sgid, &in.ghdr.sgid, 16), 0);
}

/* The layout against the tables of the specification, octet by octet */
static void layout(struct kunit *test)
{
	static const u8 want[] = {
		0x00, 0x52, 0x00, 0x01, 0x00, 0x08, 0xBF, 0xFF,		/* LRH */
		0x64, 0xB0, 0x81, 0x23, 0x00, 0xAB, 0xCD, 0xEF,		/* BTH */
		0x00, 0xFF, 0xFF, 0xFF,
		0x80, 0x01, 0x00, 0x00, 0x00, 0x12, 0x34, 0x56,		/* DETH */
		0, 0, 0, 0, 0, 0, 0, 0,
	};
	struct sib_pkt pkt;
	u8 *buf = packet(test, &pkt, &shapes[1]);

	/* one octet of payload, three of pad, and the ICRC: 36 octets, 9 words */
	KUNIT_EXPECT_EQ(test, pkt.len, 36U);
	KUNIT_EXPECT_EQ(test, buf[5], 9);
	buf[5] = 8;
	KUNIT_EXPECT_EQ(test, memcmp(buf, want, sizeof(want)), 0);
}

static void every_truncation(struct kunit *test)
{
	const struct shape *s = test->param_value;
	struct sib_pkt pkt, out;
	u8 *whole = packet(test, &pkt, s), *part;
	u32 len;

	for (len = 0; len < min(pkt.len, 200U); len++) {
		part = kmalloc(max(len, 1U), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, part);
		memcpy(part, whole, len);
		/* the LRH still tells the true length */
		KUNIT_EXPECT_NE(test, (int)sib_pkt_parse(part, len, len, &out), (int)SIB_PKT_OK);
		if (len >= SIB_LRH_LEN) {
			/* and here it tells the short one */
			put_unaligned_be16(len / 4, part + 4);
			if (sib_pkt_parse(part, len, len, &out) == SIB_PKT_OK)
				KUNIT_EXPECT_EQ(test, out.hlen + out.plen + out.pad + SIB_ICRC_LEN,
						len);
		}
		kfree(part);
	}
}

/* Only the headers are at hand, as in a fragmented frame. */
static void headers_only(struct kunit *test)
{
	const struct shape *s = test->param_value;
	struct sib_pkt pkt, out;
	u8 *whole = packet(test, &pkt, s), *head;
	u32 avail;

	for (avail = 0; avail <= pkt.hlen; avail++) {
		head = kmemdup(whole, max(avail, 1U), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, head);
		KUNIT_EXPECT_EQ_MSG(test, (int)sib_pkt_parse(head, avail, pkt.len, &out),
				    avail < pkt.hlen ? (int)SIB_PKT_SHORT : (int)SIB_PKT_OK,
				    "%u of %u header octets", avail, pkt.hlen);
		kfree(head);
	}
}

struct wrong {
	const char *name;
	bool grh;
	u16 offset;
	u8 value;
	enum sib_pkt_err err;
};

static const struct wrong wrongs[] = {
	{ "LRH version", false, 0, 0x01, SIB_PKT_LVER },
	{ "raw packet", false, 1, 0x00, SIB_PKT_LNH },
	{ "IPv6 packet", false, 1, 0x01, SIB_PKT_LNH },
	{ "DLID 0", false, 3, 0x00, SIB_PKT_LID },
	{ "longer than it is", false, 5, 0xFF, SIB_PKT_SHORT },
	{ "shorter than it is", false, 5, 0x08, SIB_PKT_SHORT },
	{ "length 0", false, 5, 0x00, SIB_PKT_SHORT },
	{ "multicast SLID", false, 6, 0xC0, SIB_PKT_LID },
	{ "opcode RD SEND", false, 8, 0x44, SIB_PKT_OPCODE },
	{ "opcode RC 0x15", false, 8, 0x15, SIB_PKT_OPCODE },
	{ "opcode UC READ", false, 8, 0x2C, SIB_PKT_OPCODE },
	{ "opcode 0xFF", false, 8, 0xFF, SIB_PKT_OPCODE },
	{ "BTH version", false, 9, 0x01, SIB_PKT_LVER },
	{ "VL15 to a group", true, 0, 0xF0, SIB_PKT_LID },
	{ "GRH version 4", true, 8, 0x40, SIB_PKT_GRH },
	{ "GRH payload length", true, 13, 0x01, SIB_PKT_GRH },
	{ "GRH next header", true, 14, 0x11, SIB_PKT_GRH },
};

static void wrong_desc(const struct wrong *w, char *desc)
{
	strscpy(desc, w->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(wrongs, wrongs, wrong_desc);

static void malformed(struct kunit *test)
{
	static const struct shape bare = { "", false, SIB_OP_UD_SEND, 1 };
	static const struct shape global = { "", true, SIB_OP_UD_SEND, 1 };
	const struct wrong *w = test->param_value;
	struct sib_pkt pkt, out;
	u8 *buf = packet(test, &pkt, w->grh ? &global : &bare);

	KUNIT_ASSERT_EQ(test, (int)sib_pkt_parse(buf, pkt.len, pkt.len, &out), (int)SIB_PKT_OK);
	buf[w->offset] = w->value;
	KUNIT_EXPECT_EQ(test, (int)sib_pkt_parse(buf, pkt.len, pkt.len, &out), (int)w->err);
}

/* The permissive LID is for SMPs alone; pad may not exceed the payload. */
static void special_lids(struct kunit *test)
{
	struct sib_pkt pkt, out;
	u8 *buf = packet(test, &pkt, &shapes[4]);

	put_unaligned_be16(SIB_LID_PERMISSIVE, buf + 2);
	KUNIT_EXPECT_EQ(test, (int)sib_pkt_parse(buf, pkt.len, pkt.len, &out), (int)SIB_PKT_LID);
	buf[0] = SIB_VL15 << 4;
	KUNIT_EXPECT_EQ(test, (int)sib_pkt_parse(buf, pkt.len, pkt.len, &out), (int)SIB_PKT_OK);
	put_unaligned_be16(SIB_LID_PERMISSIVE, buf + 6);
	KUNIT_EXPECT_EQ(test, (int)sib_pkt_parse(buf, pkt.len, pkt.len, &out), (int)SIB_PKT_OK);
	buf = packet(test, &pkt, &shapes[0]);
	buf[9] |= 1 << 4;
	KUNIT_EXPECT_EQ(test, (int)sib_pkt_parse(buf, pkt.len, pkt.len, &out), (int)SIB_PKT_SHORT);
	KUNIT_EXPECT_FALSE(test, sib_lid_is_ucast(0));
	KUNIT_EXPECT_TRUE(test, sib_lid_is_ucast(0xBFFF));
	KUNIT_EXPECT_FALSE(test, sib_lid_is_ucast(0xC000));
	KUNIT_EXPECT_TRUE(test, sib_lid_is_mcast(0xC000));
	KUNIT_EXPECT_TRUE(test, sib_lid_is_mcast(0xFFFE));
	KUNIT_EXPECT_FALSE(test, sib_lid_is_mcast(0xFFFF));
}

/* Whatever arrives, an accepted packet's parts add up to its length. */
static void random_packets(struct kunit *test)
{
	struct rnd_state rnd;
	struct sib_pkt out;
	u32 i, len, accepted = 0;
	u8 *buf;

	prandom_seed_state(&rnd, 20070425);
	for (i = 0; i < 100000; i++) {
		len = prandom_u32_state(&rnd) % 160;
		buf = kmalloc(max(len, 1U), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		prandom_bytes_state(&rnd, buf, len);
		if (len >= 10) {	/* close to the truth, or nothing gets far */
			buf[0] &= 0xF0;
			buf[1] |= 2;
			put_unaligned_be16(len / 4, buf + 4);
			if (i & 1)
				buf[8] &= 0x1F;
			buf[9] &= 0xF0;
		}
		if (!sib_pkt_parse(buf, min_t(u32, len, SIB_PKT_MAX_HLEN), len, &out)) {
			accepted++;
			KUNIT_EXPECT_EQ(test, out.hlen + out.plen + out.pad + SIB_ICRC_LEN, len);
		}
		kfree(buf);
	}
	KUNIT_EXPECT_GT(test, accepted, 100U);
}

/* The length of all headers, by the tables of the specification */
static u32 ext_by_hand(u8 opcode)
{
	switch (opcode) {
	case 0x00: case 0x01: case 0x02: case 0x04:	/* RC SEND */
	case 0x07: case 0x08:				/* RC WRITE, not the first */
	case 0x0E:					/* READ response middle */
	case 0x20: case 0x21: case 0x22: case 0x24:
	case 0x27: case 0x28:
		return 0;
	case 0x03: case 0x05: case 0x09:		/* ImmDt */
	case 0x23: case 0x25: case 0x29:
	case 0x0D: case 0x0F: case 0x10: case 0x11:	/* AETH */
	case 0x16: case 0x17:				/* IETH */
		return 4;
	case 0x12:					/* AETH, AtomicAckETH */
		return 12;
	case 0x06: case 0x0A: case 0x0C:		/* RETH */
	case 0x26: case 0x2A:
		return 16;
	case 0x0B: case 0x2B:				/* RETH, ImmDt */
		return 20;
	case 0x13: case 0x14:				/* AtomicETH */
		return 28;
	case 0x64:					/* DETH */
		return 8;
	case 0x65:
		return 12;
	default:
		return 999;
	}
}

static bool without_payload(u8 opcode)
{
	return opcode == 0x0C || (opcode >= 0x11 && opcode <= 0x14);
}

/* Every opcode with every length */
static void opcodes_and_lengths(struct kunit *test)
{
	struct sib_pkt out;
	u32 op, len, ext;
	u8 *buf;

	for (op = 0; op < 256; op++) {
		ext = ext_by_hand(op);
		for (len = 20; len < 128; len += 4) {
			enum sib_pkt_err want = SIB_PKT_OK, got;

			buf = kzalloc(len, GFP_KERNEL);
			KUNIT_ASSERT_NOT_NULL(test, buf);
			buf[1] = 2;
			buf[3] = 1;
			buf[7] = 2;
			put_unaligned_be16(len / 4, buf + 4);
			buf[8] = op;
			if (len < 24)
				want = SIB_PKT_SHORT;
			else if (ext == 999)
				want = SIB_PKT_OPCODE;
			else if (len < 24 + ext)
				want = SIB_PKT_SHORT;
			else if (len > 24 + ext && without_payload(op))
				want = SIB_PKT_LENGTH;
			got = sib_pkt_parse(buf, min_t(u32, len, SIB_PKT_MAX_HLEN), len, &out);
			KUNIT_EXPECT_EQ_MSG(test, (int)got, (int)want, "opcode %x, %u", op, len);
			if (got == SIB_PKT_OK)
				KUNIT_EXPECT_EQ(test, out.plen, len - 24 - ext);
			kfree(buf);
		}
	}
}

/* What the extended headers say, there and back */
static void extended_headers(struct kunit *test)
{
	struct sib_pkt in = {
		.ackreq = true, .slid = 1, .dlid = 2, .pkey = 0x8001, .dqpn = 7, .psn = 0x800001,
		.qkey = 1, .sqpn = 3, .imm = cpu_to_be32(0x01020304), .inv_rkey = 0xA0B0C0D0,
		.syndrome = 0x6F, .msn = 0xFEDCBA, .rkey = 0x99887766, .rlen = 0x80000000,
		.va = 0x8122334455667788, .swap_add = 0xF0E0D0C0B0A09080,
		.compare = 0x0807060504030201, .orig = 0xC1C2C3C4C5C6C7C8,
	}, out;
	u8 buf[SIB_PKT_MAX_HLEN + SIB_ICRC_LEN];
	u32 op, parts;

	for (op = 0; op < 256; op++) {
		parts = sib_op_parts(op);
		if (!parts)
			continue;
		in.opcode = op;
		in.hlen = sib_pkt_hlen(&in);
		KUNIT_ASSERT_LE(test, in.hlen + SIB_GRH_LEN, (u32)SIB_PKT_MAX_HLEN);
		in.len = in.hlen + SIB_ICRC_LEN;
		memset(&out, 0xEE, sizeof(out));
		KUNIT_ASSERT_EQ(test, sib_pkt_build(buf, &in), in.hlen);
		KUNIT_ASSERT_EQ(test, (int)sib_pkt_parse(buf, in.hlen, in.len, &out), SIB_PKT_OK);
		KUNIT_EXPECT_TRUE(test, out.ackreq);
		KUNIT_EXPECT_EQ(test, out.psn, in.psn);
		if (parts & (SIB_PART_RETH | SIB_PART_ATOMIC)) {
			KUNIT_EXPECT_EQ(test, out.va, in.va);
			KUNIT_EXPECT_EQ(test, out.rkey, in.rkey);
		}
		if (parts & SIB_PART_RETH)
			KUNIT_EXPECT_EQ(test, out.rlen, in.rlen);
		if (parts & SIB_PART_ATOMIC) {
			KUNIT_EXPECT_EQ(test, out.swap_add, in.swap_add);
			KUNIT_EXPECT_EQ(test, out.compare, in.compare);
		}
		if (parts & SIB_PART_AETH) {
			KUNIT_EXPECT_EQ(test, out.syndrome, in.syndrome);
			KUNIT_EXPECT_EQ(test, out.msn, in.msn);
		}
		if (parts & SIB_PART_ATOMIC_ACK)
			KUNIT_EXPECT_EQ(test, out.orig, in.orig);
		if (parts & SIB_PART_IMM)
			KUNIT_EXPECT_EQ(test, out.imm, in.imm);
		if (parts & SIB_PART_IETH)
			KUNIT_EXPECT_EQ(test, out.inv_rkey, in.inv_rkey);
	}
}

/* An atomic request and its answer, octet by octet */
static void atomic_layout(struct kunit *test)
{
	static const u8 want[] = {
		0x13, 0x00, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x05, 0x80, 0x00, 0x00, 0x09, /* BTH */
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,		/* VA */
		0x11, 0x12, 0x13, 0x14,					/* R_Key */
		0, 0, 0, 0, 0, 0, 0, 0x21,				/* swap */
		0, 0, 0, 0, 0, 0, 0, 0x22,				/* compare */
	};
	static const u8 answer[] = {
		0x12, 0x00, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x09,
		0x1F, 0x00, 0x00, 0x07,					/* AETH */
		0, 0, 0, 0, 0, 0, 0, 0x23,				/* AtomicAckETH */
	};
	struct sib_pkt pkt = {
		.opcode = SIB_OP_CMP_SWAP, .pkey = 0xFFFF, .dqpn = 5, .psn = 9, .ackreq = true,
		.va = 0x0102030405060708, .rkey = 0x11121314, .swap_add = 0x21, .compare = 0x22,
		.syndrome = 0x1F, .msn = 7, .orig = 0x23,
	};
	u8 buf[SIB_PKT_MAX_HLEN];

	KUNIT_EXPECT_EQ(test, sib_pkt_build(buf, &pkt), SIB_LRH_LEN + (u32)sizeof(want));
	KUNIT_EXPECT_EQ(test, memcmp(buf + SIB_LRH_LEN, want, sizeof(want)), 0);
	pkt.opcode = SIB_OP_ATOMIC_ACK;
	pkt.ackreq = false;
	KUNIT_EXPECT_EQ(test, sib_pkt_build(buf, &pkt), SIB_LRH_LEN + (u32)sizeof(answer));
	KUNIT_EXPECT_EQ(test, memcmp(buf + SIB_LRH_LEN, answer, sizeof(answer)), 0);
}

/* 24 bits, a sign in the middle, and a wrap at the end */
static void psn_arithmetic(struct kunit *test)
{
	u32 base;

	for (base = 0; base <= SIB_PSN_MASK; base += 0x10001) {
		KUNIT_EXPECT_EQ(test, sib_psn_diff(base, base), 0);
		KUNIT_EXPECT_EQ(test, sib_psn_diff(sib_psn_add(base, 1), base), 1);
		KUNIT_EXPECT_EQ(test, sib_psn_diff(base, sib_psn_add(base, 1)), -1);
		KUNIT_EXPECT_EQ(test, sib_psn_diff(sib_psn_add(base, 0x7FFFFF), base), 0x7FFFFF);
		KUNIT_EXPECT_EQ(test, sib_psn_diff(sib_psn_add(base, 0x800000), base), -0x800000);
		KUNIT_EXPECT_EQ(test, sib_psn_diff(sib_psn_add(base, 0x800001), base), -0x7FFFFF);
	}
	KUNIT_EXPECT_EQ(test, sib_psn_add(0xFFFFFF, 1), 0U);
	KUNIT_EXPECT_EQ(test, sib_psn_add(0, SIB_PSN_MASK), 0xFFFFFFU);
	KUNIT_EXPECT_EQ(test, sib_psn_diff(0, 0xFFFFFF), 1);
	KUNIT_EXPECT_EQ(test, sib_psn_diff(0xFFFFFF, 0), -1);
}

/* CRC-32 a bit at a time, the definition and nothing else */
static u32 crc_by_hand(const u8 *p, u32 len)
{
	u32 crc = ~0, i;

	for (; len--; p++)
		for (crc ^= *p, i = 0; i < 8; i++)
			crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
	return ~crc;
}

static void icrc_of_a_local_packet(struct kunit *test)
{
	struct sib_pkt pkt;
	u8 *buf = packet(test, &pkt, &shapes[4]), *masked;
	u32 len = pkt.len - SIB_ICRC_LEN, crc = sib_pkt_icrc(buf, len), i;

	masked = kunit_kmalloc(test, len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, masked);
	memcpy(masked, buf, len);
	masked[0] |= 0xF0;		/* LRH:VL */
	masked[12] = 0xFF;		/* BTH:Resv8a */
	KUNIT_EXPECT_EQ(test, crc, crc_by_hand(masked, len));
	buf[0] ^= 0xF0;
	buf[12] ^= 0x5A;
	KUNIT_EXPECT_EQ(test, sib_pkt_icrc(buf, len), crc);
	for (i = 2; i < len; i++) {
		if (i == 12)
			continue;
		buf[i] ^= 1;
		KUNIT_EXPECT_NE_MSG(test, sib_pkt_icrc(buf, len), crc, "octet %u", i);
		buf[i] ^= 1;
	}
	KUNIT_EXPECT_EQ(test, sib_pkt_icrc(buf, 19), 0U);
}

static void icrc_of_a_global_packet(struct kunit *test)
{
	struct sib_pkt pkt;
	u8 *buf = packet(test, &pkt, &shapes[7]);
	u32 len = pkt.len - SIB_ICRC_LEN, crc = sib_pkt_icrc(buf, len), i;

	for (i = 16; i < len; i++) {
		bool variant = i == 52;		/* BTH:Resv8a */

		buf[i] ^= 1;
		KUNIT_EXPECT_EQ_MSG(test, sib_pkt_icrc(buf, len) == crc, variant, "octet %u", i);
		buf[i] ^= 1;
	}
	buf[8] ^= 0x0F;		/* traffic class */
	buf[9] ^= 0xFF;
	buf[10] ^= 0xFF;	/* flow label */
	buf[11] ^= 0xFF;
	buf[15] ^= 0xFF;	/* hop limit */
	KUNIT_EXPECT_EQ(test, sib_pkt_icrc(buf, len), crc);
	KUNIT_EXPECT_EQ(test, sib_pkt_icrc(buf, 59), 0U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(round_trip, shapes_gen_params),
	KUNIT_CASE(layout),
	KUNIT_CASE_PARAM(every_truncation, shapes_gen_params),
	KUNIT_CASE_PARAM(headers_only, shapes_gen_params),
	KUNIT_CASE_PARAM(malformed, wrongs_gen_params),
	KUNIT_CASE(special_lids),
	KUNIT_CASE(opcodes_and_lengths),
	KUNIT_CASE(extended_headers),
	KUNIT_CASE(atomic_layout),
	KUNIT_CASE(psn_arithmetic),
	KUNIT_CASE(random_packets),
	KUNIT_CASE(icrc_of_a_local_packet),
	KUNIT_CASE(icrc_of_a_global_packet),
	{}
};

static struct kunit_suite suite = {
	.name = "sib_wire",
	.test_cases = cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("KUnit: InfiniBand packet headers");
