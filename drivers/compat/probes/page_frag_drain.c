// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.9: page_frag_cache_drain() empties a page_frag_cache, whose members 6.13 hides
#include <linux/gfp.h>
#include <linux/skbuff.h>

#ifdef PROBE_NEW
void probe(struct page_frag_cache *cache)
{
	page_frag_cache_drain(cache);
}
#else
struct probe *page_frag_cache_drain;
void probe(struct page_frag_cache *cache)
{
	__page_frag_cache_drain(virt_to_page(cache->va), cache->pagecnt_bias);
}
#endif
