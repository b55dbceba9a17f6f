// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.4: there is dev_kfree_skb_any_reason()
#include <linux/netdevice.h>

#ifdef PROBE_NEW
void (*probe)(struct sk_buff *skb, enum skb_drop_reason reason);

void probe_set(void)
{
	probe = dev_kfree_skb_any_reason;
}
#else
struct probe *dev_kfree_skb_any_reason;
#endif
