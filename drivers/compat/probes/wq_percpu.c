// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.17: WQ_PERCPU says that a workqueue is bound to processors
#include <linux/workqueue.h>

#ifdef PROBE_NEW
int probe = WQ_PERCPU;
#else
struct probe *WQ_PERCPU;
#endif
