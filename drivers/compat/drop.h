/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * dev_kfree_skb_any_reason() is known since 6.4, the reasons before. A probe of the tracepoint
 * kfree_skb is told of the receiving socket since 6.11.
 */
#ifndef OPENIPOIB_COMPAT_DROP_H
#define OPENIPOIB_COMPAT_DROP_H

#include <linux/netdevice.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
static inline void dev_kfree_skb_any_reason(struct sk_buff *skb,
					    enum skb_drop_reason reason)
{
	if (in_hardirq() || irqs_disabled())
		dev_kfree_skb_irq(skb);
	else
		kfree_skb_reason(skb, reason);
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define compat_drop_probe(name) \
	name(void *data, struct sk_buff *skb, void *location, enum skb_drop_reason reason)
#else
#define compat_drop_probe(name) \
	name(void *data, struct sk_buff *skb, void *location, enum skb_drop_reason reason, \
	     struct sock *rx_sk)
#endif

#endif /* OPENIPOIB_COMPAT_DROP_H */
