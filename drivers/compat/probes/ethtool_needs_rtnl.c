// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 7.2: ethtool_ops.op_needs_rtnl says what needs rtnl besides the netdev's lock
#include <linux/ethtool.h>

#ifdef PROBE_NEW
const struct ethtool_ops probe_ops = { .op_needs_rtnl = ETHTOOL_OP_NEEDS_RTNL_GLINK };
#else
/* Two members of one name would be an error. */
struct probe {
	const struct ethtool_ops;
	int op_needs_rtnl;
};
#endif
