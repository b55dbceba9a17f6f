// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 7.0: the tracepoint kfree_skb does not let a probe write to the receiving socket
#include <linux/build_bug.h>
#include <trace/events/skb.h>

#ifdef PROBE_NEW
#define WANTED 1
#else
#define WANTED 0
#endif

typedef void (*probe_fn)(void *data, struct sk_buff *skb, void *location,
			 enum skb_drop_reason reason, const struct sock *rx_sk);
static_assert(__builtin_types_compatible_p(typeof(register_trace_kfree_skb),
					   int (probe_fn, void *)) == WANTED);
