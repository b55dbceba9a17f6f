/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What takes and drops references of an skb's fragments. */
#ifndef OPENIPOIB_COMPAT_FRAG_REF_H
#define OPENIPOIB_COMPAT_FRAG_REF_H

#include <linux/skbuff.h>
#if COMPAT_SKBUFF_REF
#include <linux/skbuff_ref.h>
#endif

#endif /* OPENIPOIB_COMPAT_FRAG_REF_H */
