/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What takes and drops references of an skb's fragments has a header of its own since 6.10. */
#ifndef OPENIPOIB_COMPAT_FRAG_REF_H
#define OPENIPOIB_COMPAT_FRAG_REF_H

#include <linux/skbuff.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#include <linux/skbuff_ref.h>
#endif

#endif /* OPENIPOIB_COMPAT_FRAG_REF_H */
