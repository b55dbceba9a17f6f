// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.11: the tracepoint kfree_skb is given the receiving socket
#include <trace/events/skb.h>

void probe(struct sk_buff *skb)
{
#ifdef PROBE_NEW
	trace_kfree_skb(skb, NULL, SKB_DROP_REASON_NOT_SPECIFIED, NULL);
#else
	trace_kfree_skb(skb, NULL, SKB_DROP_REASON_NOT_SPECIFIED);
#endif
}
