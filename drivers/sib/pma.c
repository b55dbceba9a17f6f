// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Performance management: IBA vol. 1, 16.1. Counters only ever grow; Set does
 * not touch them but remembers what to subtract, so that the data path needs no
 * lock and PortCounters saturates by arithmetic.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>

#include "pma.h"

#define PMA_DATA(mad)	((u8 *)(mad) + offsetof(struct ib_pma_mad, data))
#define STATUS_BAD_ATTR		cpu_to_be16(0x000C)
#define STATUS_BAD_METHOD	cpu_to_be16(0x0008)
#define STATUS_BAD_VERSION	cpu_to_be16(0x0004)
#define STATUS_BAD_FIELD	cpu_to_be16(0x001C)
#define ALL_PORTS		0xFF

/**
 * struct field - a counter of an attribute
 * @counter: which
 * @offset: byte in the attribute
 * @bits: width: 4 (low or, with @high, high half of the byte), 8, 16, 32, 64
 * @high: see @bits
 * @select: bit of CounterSelect; 16 and up are bits of CounterSelect2
 */
struct field {
	enum sib_counter counter;
	u8 offset;
	u8 bits;
	bool high;
	u8 select;
};

static const struct field fields[] = {
	{ SIB_PC_SYMBOL_ERROR, 4, 16, false, 0 },
	{ SIB_PC_LINK_RECOVERY, 6, 8, false, 1 },
	{ SIB_PC_LINK_DOWNED, 7, 8, false, 2 },
	{ SIB_PC_RCV_ERRORS, 8, 16, false, 3 },
	{ SIB_PC_RCV_REMPHYS, 10, 16, false, 4 },
	{ SIB_PC_RCV_RELAY, 12, 16, false, 5 },
	{ SIB_PC_XMIT_DISCARDS, 14, 16, false, 6 },
	{ SIB_PC_XMIT_CONSTRAINT, 16, 8, false, 7 },
	{ SIB_PC_RCV_CONSTRAINT, 17, 8, false, 8 },
	{ SIB_PC_LOCAL_INTEGRITY, 19, 4, true, 9 },
	{ SIB_PC_BUFFER_OVERRUN, 19, 4, false, 10 },
	{ SIB_PC_VL15_DROPPED, 22, 16, false, 11 },
	{ SIB_PC_XMIT_DATA, 24, 32, false, 12 },
	{ SIB_PC_RCV_DATA, 28, 32, false, 13 },
	{ SIB_PC_XMIT_PKTS, 32, 32, false, 14 },
	{ SIB_PC_RCV_PKTS, 36, 32, false, 15 },
	{ SIB_PC_XMIT_WAIT, 40, 32, false, 16 },
};

static const struct field fields_ext[] = {
	{ SIB_PC_XMIT_DATA, 8, 64, false, 0 },
	{ SIB_PC_RCV_DATA, 16, 64, false, 1 },
	{ SIB_PC_XMIT_PKTS, 24, 64, false, 2 },
	{ SIB_PC_RCV_PKTS, 32, 64, false, 3 },
	{ SIB_PC_UCAST_XMIT, 40, 64, false, 4 },
	{ SIB_PC_UCAST_RCV, 48, 64, false, 5 },
	{ SIB_PC_MCAST_XMIT, 56, 64, false, 6 },
	{ SIB_PC_MCAST_RCV, 64, 64, false, 7 },
};

/* Data counters are kept in octets and reported in units of four. */
static unsigned int unit(enum sib_counter c)
{
	return c == SIB_PC_XMIT_DATA || c == SIB_PC_RCV_DATA ? 4 : 1;
}

static u64 value(const struct sib_pma *pma, const u64 *base, const struct field *f)
{
	u64 v = (READ_ONCE(pma->count[f->counter]) - READ_ONCE(base[f->counter])) /
		unit(f->counter);

	return f->bits == 64 ? v : min_t(u64, v, BIT_ULL(f->bits) - 1);
}

static void put(u8 *data, const struct field *f, u64 v)
{
	u8 *p = data + f->offset;

	switch (f->bits) {
	case 4:
		*p |= f->high ? v << 4 : v;
		break;
	case 8:
		*p = v;
		break;
	case 16:
		put_unaligned_be16(v, p);
		break;
	case 32:
		put_unaligned_be32(v, p);
		break;
	case 64:
		put_unaligned_be64(v, p);
		break;
	}
}

static u64 take(const u8 *data, const struct field *f)
{
	const u8 *p = data + f->offset;

	switch (f->bits) {
	case 4:
		return f->high ? *p >> 4 : *p & 0xF;
	case 8:
		return *p;
	case 16:
		return get_unaligned_be16(p);
	case 32:
		return get_unaligned_be32(p);
	default:
		return get_unaligned_be64(p);
	}
}

/* CounterSelect, and for PortCounters CounterSelect2 above it */
static u32 selected(const u8 *data, bool ext)
{
	u32 sel = get_unaligned_be16(data + 2);

	return ext ? sel : sel | (u32)(data[18] & 1) << 16;
}

static void set_counters(struct sib_pma *pma, u64 *base, const struct field *f, size_t n,
			 const u8 *data, u32 sel)
{
	for (; n--; f++)
		if (sel & BIT(f->select))
			WRITE_ONCE(base[f->counter], READ_ONCE(pma->count[f->counter]) -
						     take(data, f) * unit(f->counter));
}

static void get_counters(const struct sib_pma *pma, const u64 *base, const struct field *f,
			 size_t n, u8 *data, u32 sel, bool ext)
{
	u8 select = data[1];

	memset(data, 0, sizeof_field(struct ib_pma_mad, data));
	data[1] = select;
	put_unaligned_be16(sel, data + 2);
	if (!ext)
		data[18] = sel >> 16;
	for (; n--; f++)
		put(data, f, value(pma, base, f));
}

static void class_port_info(u8 *data)
{
	struct ib_class_port_info *cpi = (struct ib_class_port_info *)data;

	memset(data, 0, sizeof_field(struct ib_pma_mad, data));
	cpi->base_version = IB_MGMT_BASE_VERSION;
	cpi->class_version = 1;
	cpi->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT | IB_PMA_CLASS_CAP_EXT_WIDTH |
			       IB_PMA_CLASS_CAP_XMIT_WAIT;
	ib_set_cpi_resp_time(cpi, 18);
}

static __be16 counters(struct sib_pma *pma, u8 *data, bool set, bool ext)
{
	const struct field *f = ext ? fields_ext : fields;
	size_t n = ext ? ARRAY_SIZE(fields_ext) : ARRAY_SIZE(fields);
	u64 *base = ext ? pma->base_ext : pma->base;
	u32 sel = selected(data, ext);

	if (data[1] != 1 && data[1] != ALL_PORTS)
		return STATUS_BAD_FIELD;
	if (set)
		set_counters(pma, base, f, n, data, sel);
	get_counters(pma, base, f, n, data, sel, ext);
	return 0;
}

static __be16 process(struct sib_pma *pma, const struct ib_mad *in, struct ib_mad *out)
{
	bool set = in->mad_hdr.method == IB_MGMT_METHOD_SET;

	if (in->mad_hdr.base_version != IB_MGMT_BASE_VERSION || in->mad_hdr.class_version != 1)
		return STATUS_BAD_VERSION;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		if (set)
			return STATUS_BAD_METHOD;
		class_port_info(PMA_DATA(out));
		return 0;
	case IB_PMA_PORT_COUNTERS:
		return counters(pma, PMA_DATA(out), set, false);
	case IB_PMA_PORT_COUNTERS_EXT:
		return counters(pma, PMA_DATA(out), set, true);
	default:
		return STATUS_BAD_ATTR;
	}
}

/**
 * sib_pma_process - answer a performance management MAD
 * @pma: the counters
 * @in: request
 * @out: response
 *
 * Context: any. Nothing is serialised: a request answered beside another one finds each
 * counter as it was before that, or as it is afterwards.
 * Return: IB_MAD_RESULT_*.
 */
int sib_pma_process(struct sib_pma *pma, const struct ib_mad *in, struct ib_mad *out)
{
	if (in->mad_hdr.method != IB_MGMT_METHOD_GET && in->mad_hdr.method != IB_MGMT_METHOD_SET)
		return IB_MAD_RESULT_SUCCESS;
	*out = *in;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = process(pma, in, out);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
