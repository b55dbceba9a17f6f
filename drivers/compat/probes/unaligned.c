// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.12: <asm/unaligned.h> became <linux/unaligned.h>
#include <linux/types.h>

#ifdef PROBE_NEW
#include <linux/unaligned.h>
#elif __has_include("linux/unaligned.h")
#error "there is <linux/unaligned.h>"
#else
#include <asm/unaligned.h>
#endif

static inline u32 probe(const void *p)
{
	return get_unaligned_be32(p);
}
