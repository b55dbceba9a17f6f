/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the cable carries: the link header and hello of docs/sib-link.md, and
 * the InfiniBand packet headers (IBA vol. 1: LRH 7.7, GRH 8.3, BTH 9.2,
 * extended headers 9.3). Pure functions over memory: no device, no lock, any
 * context.
 */
#ifndef SIB_WIRE_H
#define SIB_WIRE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#define SIB_ETHERTYPE		0x88B5
#define SIB_LINK_VERSION	1
#define SIB_LINK_HLEN		28
#define SIB_HELLO_LEN		20

#define SIB_LID_PERMISSIVE	0xFFFF
#define SIB_LID_MCAST_FIRST	0xC000
#define SIB_QPN_MCAST		0xFFFFFF
#define SIB_QPN_MASK		0xFFFFFF
#define SIB_PSN_MASK		0xFFFFFF
#define SIB_VL15		15

#define SIB_LRH_LEN		8
#define SIB_GRH_LEN		40
#define SIB_BTH_LEN		12
#define SIB_DETH_LEN		8
#define SIB_RETH_LEN		16
#define SIB_AETH_LEN		4
#define SIB_ATOMIC_LEN		28
#define SIB_ATOMIC_ACK_LEN	8
#define SIB_IMM_LEN		4
#define SIB_IETH_LEN		4
#define SIB_ICRC_LEN		4

/* LRH + GRH + BTH + the longest extension with payload (RETH 16 + ImmDt 4) */
#define SIB_MAX_HLEN		80
/* Bytes a frame needs beside an IB payload: link header, IB headers, ICRC. */
#define SIB_FRAME_OVERHEAD	(SIB_LINK_HLEN + SIB_MAX_HLEN + SIB_ICRC_LEN)

/* Header bytes of the packet with the most of them: GRH and an atomic request */
#define SIB_PKT_MAX_HLEN	(SIB_LRH_LEN + SIB_GRH_LEN + SIB_BTH_LEN + SIB_ATOMIC_LEN)

/* BTH opcodes: the transport service, and what it does (IBA vol. 1, table 38) */
#define SIB_OP_SERVICE(op)	((op) & 0xE0)
#define SIB_OP_RC		0x00
#define SIB_OP_UC		0x20
#define SIB_OP_UD		0x60

enum sib_op {
	SIB_OP_SEND_FIRST = 0x00,
	SIB_OP_SEND_MIDDLE = 0x01,
	SIB_OP_SEND_LAST = 0x02,
	SIB_OP_SEND_LAST_IMM = 0x03,
	SIB_OP_SEND_ONLY = 0x04,
	SIB_OP_SEND_ONLY_IMM = 0x05,
	SIB_OP_WRITE_FIRST = 0x06,
	SIB_OP_WRITE_MIDDLE = 0x07,
	SIB_OP_WRITE_LAST = 0x08,
	SIB_OP_WRITE_LAST_IMM = 0x09,
	SIB_OP_WRITE_ONLY = 0x0A,
	SIB_OP_WRITE_ONLY_IMM = 0x0B,
	SIB_OP_READ_REQUEST = 0x0C,
	SIB_OP_READ_FIRST = 0x0D,	/* responses from here... */
	SIB_OP_READ_MIDDLE = 0x0E,
	SIB_OP_READ_LAST = 0x0F,
	SIB_OP_READ_ONLY = 0x10,
	SIB_OP_ACK = 0x11,
	SIB_OP_ATOMIC_ACK = 0x12,	/* ...to here */
	SIB_OP_CMP_SWAP = 0x13,
	SIB_OP_FETCH_ADD = 0x14,
	SIB_OP_SEND_LAST_INV = 0x16,
	SIB_OP_SEND_ONLY_INV = 0x17,
};

#define SIB_OP_UD_SEND		(SIB_OP_UD | SIB_OP_SEND_ONLY)
#define SIB_OP_UD_SEND_IMM	(SIB_OP_UD | SIB_OP_SEND_ONLY_IMM)

/* What an opcode brings, sib_op_parts() */
#define SIB_PART_KNOWN		0x0001
#define SIB_PART_RETH		0x0002
#define SIB_PART_AETH		0x0004
#define SIB_PART_ATOMIC		0x0008
#define SIB_PART_ATOMIC_ACK	0x0010
#define SIB_PART_IMM		0x0020
#define SIB_PART_IETH		0x0040
#define SIB_PART_DETH		0x0080
#define SIB_PART_PAYLOAD	0x0100	/* may have a payload */
#define SIB_PART_FIRST		0x0200	/* first packet of a message */
#define SIB_PART_LAST		0x0400	/* last packet of a message */

/* AETH syndrome: kind, and a value of 5 bits (IBA vol. 1, 9.7.5.2) */
#define SIB_AETH_KIND(syndrome)	((syndrome) & 0xE0)
#define SIB_AETH_VALUE(syndrome) ((syndrome) & 0x1F)
#define SIB_AETH_ACK		0x00	/* with the credit code */
#define SIB_AETH_RNR		0x20	/* with the timer code */
#define SIB_AETH_NAK		0x60	/* with one of SIB_NAK_* */
#define SIB_CREDIT_UNLIMITED	31
#define SIB_NAK_SEQUENCE	0
#define SIB_NAK_INV_REQ		1
#define SIB_NAK_REM_ACCESS	2
#define SIB_NAK_REM_OP		3

/* enum sib_frame_type - field type of the link header */
enum sib_frame_type {
	SIB_FRAME_HELLO = 1,
	SIB_FRAME_DATA = 2,
	SIB_FRAME_ACK = 3,
};

#define SIB_LINK_F_ACK_REQ	0x01

/**
 * struct sib_link_hdr - link header, first in every frame; big endian
 * @version: SIB_LINK_VERSION
 * @type: enum sib_frame_type
 * @length: bytes from @version to the end of the payload (frames may be padded)
 * @check: Internet checksum (RFC 1071) over @length bytes, this field zero
 * @flags: SIB_LINK_F_*
 * @count: IB packets in a DATA frame, 0 in others
 * @session: sender's session number
 * @peer: session number of the receiver as the sender knows it, 0 if unknown
 * @seq: DATA: number of this frame; others: number of the next DATA frame
 * @ack: number of the next DATA frame the sender of this header expects
 * @gap: ACK: how many frames from @ack on are missing, 0 if none is known to be
 * @window: DATA frames the sender of this header takes from @ack on
 */
struct sib_link_hdr {
	u8 version;
	u8 type;
	__be16 length;
	__be16 check;
	u8 flags;
	u8 count;
	__be32 session;
	__be32 peer;
	__be32 seq;
	__be32 ack;
	__be16 gap;
	__be16 window;
} __packed __aligned(4);

/* enum sib_hello_state - field state of the hello */
enum sib_hello_state {
	SIB_HELLO_LISTEN = 0,
	SIB_HELLO_HEARD = 1,
	SIB_HELLO_UP = 2,
};

/**
 * struct sib_hello - payload of a HELLO frame; big endian
 * @state: enum sib_hello_state of the sender
 * @port: sender's port number (1 for an HCA)
 * @timeout: ms of silence after which the sender gives the link up
 * @max_frame: longest frame (link header and payload) the sender takes
 * @guid: sender's port GUID, for people and logs
 * @reserved: sent as 0, ignored when received
 */
struct sib_hello {
	u8 state;
	u8 port;
	__be16 timeout;
	__be32 max_frame;
	__be64 guid;
	__be32 reserved;
} __packed __aligned(4);

/**
 * struct sib_pkt - an IB packet's headers in host order
 * @vl: virtual lane
 * @sl: service level
 * @grh: a GRH is present
 * @solicited: BTH solicited event bit
 * @ackreq: BTH acknowledge request bit
 * @opcode: BTH opcode; which of the fields from @qkey on are valid follows
 *	from it
 * @pad: pad bytes after the payload (0 to 3)
 * @slid: source LID
 * @dlid: destination LID
 * @pkey: BTH P_Key
 * @len: bytes from the LRH to the end of the ICRC
 * @hlen: bytes before the payload
 * @plen: payload bytes, pad not included
 * @dqpn: destination QP
 * @psn: packet sequence number
 * @qkey: DETH Q_Key
 * @sqpn: DETH source QP
 * @imm: ImmDt
 * @inv_rkey: IETH, the R_Key to invalidate
 * @syndrome: AETH syndrome
 * @msn: AETH message sequence number
 * @rkey: RETH or AtomicETH
 * @rlen: RETH DMA length
 * @va: RETH or AtomicETH
 * @swap_add: AtomicETH
 * @compare: AtomicETH
 * @orig: AtomicAckETH
 * @ghdr: the GRH as it is on the wire, valid with @grh
 */
struct sib_pkt {
	u8 vl;
	u8 sl;
	bool grh;
	bool solicited;
	bool ackreq;
	u8 opcode;
	u8 pad;
	u16 slid;
	u16 dlid;
	u16 pkey;
	u32 len;
	u32 hlen;
	u32 plen;
	u32 dqpn;
	u32 psn;
	u32 qkey;
	u32 sqpn;
	__be32 imm;
	u32 inv_rkey;
	u8 syndrome;
	u32 msn;
	u32 rkey;
	u32 rlen;
	u64 va;
	u64 swap_add;
	u64 compare;
	u64 orig;
	struct ib_grh ghdr;
};

/* enum sib_pkt_err - why a packet was refused by sib_pkt_parse() */
enum sib_pkt_err {
	SIB_PKT_OK = 0,
	SIB_PKT_SHORT,		/* shorter than its headers or its LRH length */
	SIB_PKT_LVER,		/* unknown LRH or BTH version */
	SIB_PKT_LNH,		/* raw or IPv6 packet, not IBA transport */
	SIB_PKT_GRH,		/* GRH fields contradict the packet */
	SIB_PKT_OPCODE,		/* transport or operation this HCA does not speak */
	SIB_PKT_LID,		/* source or destination LID not allowed */
	SIB_PKT_LENGTH,		/* a payload where there can be none */
};

static inline bool sib_lid_is_mcast(u16 lid)
{
	return lid >= SIB_LID_MCAST_FIRST && lid != SIB_LID_PERMISSIVE;
}

static inline bool sib_lid_is_ucast(u16 lid)
{
	return lid && lid < SIB_LID_MCAST_FIRST;
}

/**
 * sib_psn_diff - distance of two packet or message sequence numbers
 * @a: 24 bits
 * @b: 24 bits
 *
 * Return: @a - @b modulo 2^24, from -2^23 to 2^23 - 1: negative if @a comes
 * before @b.
 */
static inline s32 sib_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

static inline u32 sib_psn_add(u32 psn, u32 n)
{
	return (psn + n) & SIB_PSN_MASK;
}

u32 sib_op_parts(u8 opcode);
u32 sib_pkt_lrh_len(const u8 *lrh);
enum sib_pkt_err sib_pkt_parse(const u8 *hdr, u32 avail, u32 len, struct sib_pkt *pkt);
u32 sib_pkt_build(u8 *hdr, const struct sib_pkt *pkt);
u32 sib_pkt_hlen(const struct sib_pkt *pkt);
u32 sib_pkt_icrc(const u8 *pkt, u32 len);

#endif /* SIB_WIRE_H */
