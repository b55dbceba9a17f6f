/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What is given to the operations of ib_device_ops. */
#ifndef OPENIPOIB_COMPAT_VERBS_H
#define OPENIPOIB_COMPAT_VERBS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "op.h"

#if COMPAT_CREATE_CQ_BUNDLE
#define COMPAT_CREATE_CQ(fn)
#else
#define COMPAT_CREATE_CQ(fn) \
static int compat_##fn(struct ib_cq *cq, const struct ib_cq_init_attr *attr, \
		       struct ib_udata *udata) \
{ \
	return fn(cq, attr, udata ? rdma_udata_to_uverbs_attr_bundle(udata) : NULL); \
}
#endif

#if COMPAT_RESIZE_USER_CQ
#define COMPAT_RESIZE_CQ(fn)
#else
#define resize_user_cq resize_cq
#define COMPAT_RESIZE_CQ(fn) \
static int compat_##fn(struct ib_cq *cq, int cqe, struct ib_udata *udata) \
{ \
	return cqe < 0 ? -EINVAL : fn(cq, cqe, udata); \
}
#endif

#if COMPAT_REG_USER_MR_DMAH
#define COMPAT_REG_USER_MR(fn)
#else
#define COMPAT_REG_USER_MR(fn) \
static struct ib_mr *compat_##fn(struct ib_pd *pd, u64 start, u64 length, u64 iova, \
				 int access, struct ib_udata *udata) \
{ \
	return fn(pd, start, length, iova, access, NULL, udata); \
}
#endif

#endif /* OPENIPOIB_COMPAT_VERBS_H */
