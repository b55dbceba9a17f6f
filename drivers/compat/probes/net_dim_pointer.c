// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.13: net_dim() is given a pointer to the sample
#include <linux/dim.h>

void probe(struct dim *dim, struct dim_sample *sample)
{
#ifdef PROBE_NEW
	net_dim(dim, sample);
#else
	net_dim(dim, *sample);
#endif
}
