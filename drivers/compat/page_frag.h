/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A page that is shared out piece by piece, and given back. */
#ifndef OPENIPOIB_COMPAT_PAGE_FRAG_H
#define OPENIPOIB_COMPAT_PAGE_FRAG_H

#include <linux/gfp.h>
#include <linux/mm.h>

#if !COMPAT_PAGE_FRAG_DRAIN
static inline void page_frag_cache_drain(struct page_frag_cache *cache)
{
	if (!cache->va)
		return;
	__page_frag_cache_drain(virt_to_head_page(cache->va), cache->pagecnt_bias);
	cache->va = NULL;
}
#endif

#endif /* OPENIPOIB_COMPAT_PAGE_FRAG_H */
