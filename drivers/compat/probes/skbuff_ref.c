// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.10: references of fragments are taken and dropped by <linux/skbuff_ref.h>
#include <linux/skbuff.h>

#ifdef PROBE_NEW
#include <linux/skbuff_ref.h>
#elif __has_include("linux/skbuff_ref.h")
#error "there is <linux/skbuff_ref.h>"
#endif

void probe(struct sk_buff *skb)
{
	skb_frag_ref(skb, 0);
}
