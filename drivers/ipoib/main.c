// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include <linux/module.h>

MODULE_DESCRIPTION("openipoib");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION(OPENIPOIB_VERSION);
