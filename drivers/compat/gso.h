/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What cuts packets into segments, and says how long these will be. */
#ifndef OPENIPOIB_COMPAT_GSO_H
#define OPENIPOIB_COMPAT_GSO_H

#include <linux/skbuff.h>
#if COMPAT_GSO_HEADER
#include <net/gso.h>
#endif

#endif /* OPENIPOIB_COMPAT_GSO_H */
