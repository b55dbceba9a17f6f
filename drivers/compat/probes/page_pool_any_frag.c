// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.7: every page pool may share out pages, without PP_FLAG_PAGE_FRAG
#if __has_include("net/page_pool/helpers.h")
#include <net/page_pool/helpers.h>
#else
#include <net/page_pool.h>
#endif

#if defined(PROBE_NEW) == defined(PP_FLAG_PAGE_FRAG)
#error "PP_FLAG_PAGE_FRAG is there, or missing"
#endif
