/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Performance management agent of a port (IBA vol. 1, ch. 16): counters, and
 * Get/Set of ClassPortInfo, PortCounters and PortCountersExtended.
 */
#ifndef SIB_PMA_H
#define SIB_PMA_H

#include <rdma/ib_mad.h>

/* enum sib_counter - what is counted; data counts are in octets */
enum sib_counter {
	SIB_PC_SYMBOL_ERROR,		/* frames with a bad checksum */
	SIB_PC_LINK_RECOVERY,		/* retransmissions after silence */
	SIB_PC_LINK_DOWNED,
	SIB_PC_RCV_ERRORS,		/* malformed packets */
	SIB_PC_RCV_REMPHYS,
	SIB_PC_RCV_RELAY,
	SIB_PC_XMIT_DISCARDS,
	SIB_PC_XMIT_CONSTRAINT,
	SIB_PC_RCV_CONSTRAINT,		/* P_Key violations */
	SIB_PC_LOCAL_INTEGRITY,		/* link given up while the peer was alive */
	SIB_PC_BUFFER_OVERRUN,		/* frames dropped before the link saw them */
	SIB_PC_VL15_DROPPED,		/* SMPs without a receive buffer */
	SIB_PC_XMIT_WAIT,		/* times the window was closed */
	SIB_PC_XMIT_DATA,
	SIB_PC_RCV_DATA,
	SIB_PC_XMIT_PKTS,
	SIB_PC_RCV_PKTS,
	SIB_PC_UCAST_XMIT,
	SIB_PC_UCAST_RCV,
	SIB_PC_MCAST_XMIT,
	SIB_PC_MCAST_RCV,
	SIB_PC_NUM
};

/**
 * struct sib_pma - counters that never go back, and where Set has put zero
 * @count: events since creation; one writer, the port context
 * @base: subtracted from @count for PortCounters; written by the agent only
 * @base_ext: the same for PortCountersExtended
 */
struct sib_pma {
	u64 count[SIB_PC_NUM];
	u64 base[SIB_PC_NUM];
	u64 base_ext[SIB_PC_NUM];
};

static inline void sib_pma_add(struct sib_pma *pma, enum sib_counter c, u64 n)
{
	WRITE_ONCE(pma->count[c], pma->count[c] + n);
}

static inline void sib_pma_inc(struct sib_pma *pma, enum sib_counter c)
{
	sib_pma_add(pma, c, 1);
}

int sib_pma_process(struct sib_pma *pma, const struct ib_mad *in, struct ib_mad *out);

#endif /* SIB_PMA_H */
