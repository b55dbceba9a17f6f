// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.7: the speed XDR is known
#include <rdma/ib_verbs.h>

#ifdef PROBE_NEW
int probe = IB_SPEED_XDR;
#else
struct probe *IB_SPEED_XDR;
#endif
