// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.5: the lengths of segments are told by <net/gso.h>
#include <linux/skbuff.h>

#ifdef PROBE_NEW
#include <net/gso.h>
#elif __has_include("net/gso.h")
#error "there is <net/gso.h>"
#endif

bool probe(const struct sk_buff *skb)
{
	return skb_gso_validate_network_len(skb, 2044);
}
