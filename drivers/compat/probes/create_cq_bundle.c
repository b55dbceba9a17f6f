// SPDX-License-Identifier: GPL-2.0-only OR MIT
// 6.11: ib_device_ops.create_cq() is given all attributes of the call
#include <rdma/ib_verbs.h>

#ifdef PROBE_NEW
static int probe(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		 struct uverbs_attr_bundle *attrs)
#else
static int probe(struct ib_cq *cq, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
#endif
{
	return 0;
}

const struct ib_device_ops probe_ops = { .create_cq = probe };
