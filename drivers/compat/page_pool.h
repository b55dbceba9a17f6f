/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * <net/page_pool.h> was split in 6.6, and pools that share pages no longer have
 * to say so.
 */
#ifndef OPENIPOIB_COMPAT_PAGE_POOL_H
#define OPENIPOIB_COMPAT_PAGE_POOL_H

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#include <net/page_pool.h>
#define COMPAT_PP_FLAG_FRAG PP_FLAG_PAGE_FRAG
#else
#include <net/page_pool/helpers.h>
#define COMPAT_PP_FLAG_FRAG 0
#endif

#endif /* OPENIPOIB_COMPAT_PAGE_POOL_H */
