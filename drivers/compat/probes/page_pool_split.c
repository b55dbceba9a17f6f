// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.6: <net/page_pool.h> became <net/page_pool/helpers.h> and types.h
#ifdef PROBE_NEW
#include <net/page_pool/helpers.h>
#elif __has_include("net/page_pool/helpers.h")
#error "there is <net/page_pool/helpers.h>"
#else
#include <net/page_pool.h>
#endif

struct page *probe(struct page_pool *pool, unsigned int *offset)
{
	return page_pool_dev_alloc_frag(pool, offset, 1);
}
