/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef IPOIB_COUNTERS_H
#define IPOIB_COUNTERS_H

#include <linux/compiler.h>
#include <linux/u64_stats_sync.h>

/**
 * struct ipoib_counters - what a queue has done
 * @sync: consistency of 64-bit values on 32-bit machines
 * @packets: delivered or sent
 * @bytes: of those, without the encapsulation header
 * @errors: completions in error
 * @dropped: good packets thrown away for want of memory, room or an address
 * @multicast: of the packets received, those to a group but the broadcast group
 *
 * Written in the context of the queue alone.
 */
struct ipoib_counters {
	struct u64_stats_sync sync;
	u64_stats_t packets;
	u64_stats_t bytes;
	u64_stats_t errors;
	u64_stats_t dropped;
	u64_stats_t multicast;
};

/**
 * struct ipoib_cm_stats - what connected mode has done
 * @rx: received through connections
 * @connects: attempts to connect
 * @accepts: connections accepted
 * @refused: attempts that failed
 * @rejects: requests refused
 * @out_full: packets that went as datagrams, because there were too many connections
 * @in_full: requests refused, because there were too many
 * @lost: connections that broke
 * @partial: packets sent with the checksum left to the peer
 * @out: peers that are sent to in connected mode now, also those that refuse
 * @in: connections of peers now, also those that are being made or end
 * @setups: peers that are being connected to now
 */
struct ipoib_cm_stats {
	const struct ipoib_counters *rx;
	u64 connects;
	u64 accepts;
	u64 refused;
	u64 rejects;
	u64 out_full;
	u64 in_full;
	u64 lost;
	u64 partial;
	u32 out;
	u32 in;
	u32 setups;
};

static inline void ipoib_count_error(struct ipoib_counters *count)
{
	u64_stats_update_begin(&count->sync);
	u64_stats_inc(&count->errors);
	u64_stats_update_end(&count->sync);
}

static inline void ipoib_count_dropped(struct ipoib_counters *count)
{
	u64_stats_update_begin(&count->sync);
	u64_stats_inc(&count->dropped);
	u64_stats_update_end(&count->sync);
}

/**
 * ipoib_count - add to a counter of one writer that anybody may read
 * @counter: a u64
 * @n: how much
 *
 * On 32-bit machines a reader may see half of it.
 */
static inline void ipoib_count(u64 *counter, u64 n)
{
	WRITE_ONCE(*counter, *counter + n);
}

#endif /* IPOIB_COUNTERS_H */
