/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Packets that are dropped, with a reason. */
#ifndef OPENIPOIB_COMPAT_DROP_H
#define OPENIPOIB_COMPAT_DROP_H

#include <linux/netdevice.h>

#if !COMPAT_KFREE_SKB_ANY_REASON
static inline void dev_kfree_skb_any_reason(struct sk_buff *skb,
					    enum skb_drop_reason reason)
{
	if (in_hardirq() || irqs_disabled())
		dev_kfree_skb_irq(skb);
	else
		kfree_skb_reason(skb, reason);
}
#endif

/* The prototype of a probe of the tracepoint kfree_skb */
#if COMPAT_KFREE_SKB_CONST_SK
#define compat_drop_probe(name) \
	name(void *data, struct sk_buff *skb, void *location, enum skb_drop_reason reason, \
	     const struct sock *rx_sk)
#elif COMPAT_KFREE_SKB_RX_SK
#define compat_drop_probe(name) \
	name(void *data, struct sk_buff *skb, void *location, enum skb_drop_reason reason, \
	     struct sock *rx_sk)
#else
#define compat_drop_probe(name) \
	name(void *data, struct sk_buff *skb, void *location, enum skb_drop_reason reason)
#endif

#endif /* OPENIPOIB_COMPAT_DROP_H */
