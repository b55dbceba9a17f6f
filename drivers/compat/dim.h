/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Moderation that adapts itself. */
#ifndef OPENIPOIB_COMPAT_DIM_H
#define OPENIPOIB_COMPAT_DIM_H

#include <linux/dim.h>

#if !COMPAT_NET_DIM_POINTER
#define net_dim(dim, sample) net_dim(dim, *(sample))
#endif

#endif /* OPENIPOIB_COMPAT_DIM_H */
