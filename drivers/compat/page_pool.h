/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Page pools, and what one says of itself that shares out pages. */
#ifndef OPENIPOIB_COMPAT_PAGE_POOL_H
#define OPENIPOIB_COMPAT_PAGE_POOL_H

#if COMPAT_PAGE_POOL_SPLIT
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>
#endif

#if COMPAT_PAGE_POOL_ANY_FRAG
#define COMPAT_PP_FLAG_FRAG 0
#else
#define COMPAT_PP_FLAG_FRAG PP_FLAG_PAGE_FRAG
#endif

/* Does a page pool that is destroyed unmap what others still have of it? */
#if COMPAT_PAGE_POOL_DMA_MAPPED
#define COMPAT_PP_UNMAPS (PP_DMA_INDEX_BITS > 0)
#else
#define COMPAT_PP_UNMAPS 0
#endif

#endif /* OPENIPOIB_COMPAT_PAGE_POOL_H */
